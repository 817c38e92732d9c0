//! Grammars of single lines.

mod abort;
mod dataloader;
mod exit;
mod oom;

use regex::{Captures, Regex};

use super::rules::Rule;

/// Every grammar's rule.
pub(super) fn rules() -> impl Iterator<Item = Rule> {
    [
        oom::RULE,
        oom::HOST_RULE,
        dataloader::RULE,
        dataloader::SHARED_MEMORY_RULE,
        abort::RULE,
        exit::RULE,
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

    fn bytes(&self, name: &str) -> Option<u64> {
        bytes(self.0.name(name)?.as_str())
    }
}

/// Bytes of a size as torch prints it: `512 bytes`, `2.00 GiB`.
fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.trim().split_once(' ')?;
    let scale = match unit {
        "bytes" | "B" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        "TiB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    Some((number * scale).round() as u64)
}
