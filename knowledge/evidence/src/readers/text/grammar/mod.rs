//! Grammars of single lines.

mod abort;
mod autograd;
mod cuda;
pub mod cuda_codes;
mod cuda_log;
mod dataloader;
mod debug_server;
mod distributed;
pub mod divergence;
pub mod exit;
mod kernel;
mod microdump;
mod nccl;
mod oom;
mod transport;

use regex::{Captures, Regex};

use super::rules::Rule;
use crate::Hex;

/// Every grammar's rule.
pub(super) fn rules() -> impl Iterator<Item = Rule> {
    [
        oom::RULE,
        oom::HOST_RULE,
        dataloader::RULE,
        dataloader::SHARED_MEMORY_RULE,
        abort::RULE,
        exit::RULE,
        cuda::RULE,
        cuda::ASSERT_RULE,
        cuda_log::RULE,
        nccl::RULE,
        transport::RULE,
        distributed::RULE,
        distributed::MISMATCH_RULE,
        distributed::RENDEZVOUS_RULE,
        autograd::RULE,
        debug_server::RULE,
        kernel::XID_RULE,
        kernel::RULE,
        microdump::RULE,
        divergence::RULE,
    ]
    .into_iter()
}

/// The named parts of a match, converted.
struct Parts<'t>(Captures<'t>);

impl<'t> Parts<'t> {
    fn of(pattern: &Regex, text: &'t str) -> Option<Self> {
        pattern.captures(text).map(Self)
    }

    fn text(&self, name: &str) -> Option<String> {
        self.0.name(name).map(|part| part.as_str().to_owned())
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.0.name(name)?.as_str().parse().ok()
    }

    fn hex(&self, name: &str) -> Option<Hex> {
        self.0.name(name)?.as_str().parse().ok()
    }

    /// `12,0,3`.
    fn triple(&self, name: &str) -> Option<[u32; 3]> {
        triple(self.0.name(name)?.as_str())
    }

    fn bytes(&self, name: &str) -> Option<u64> {
        bytes(self.0.name(name)?.as_str())
    }
}

/// Three indices, as in `12,0,3`.
pub(super) fn triple(text: &str) -> Option<[u32; 3]> {
    let mut parts = text.split(',').map(|part| part.trim().parse());
    Some([parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?])
}

/// Bytes of a size as torch prints it: `512 bytes`, `2.00 GiB`; for Metal `2.00 GB`, which is the same.
fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.trim().split_once(' ')?;
    let scale = match unit {
        "bytes" | "B" => 1.0,
        "KiB" | "KB" => 1024.0,
        "MiB" | "MB" => 1024.0 * 1024.0,
        "GiB" | "GB" => 1024.0 * 1024.0 * 1024.0,
        "TiB" | "TB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    Some((number * scale).round() as u64)
}
