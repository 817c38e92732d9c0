//! Debug files over the network, from the servers that `DEBUGINFOD_URLS` names; from none when it names none.

use std::time::Duration;

use whycrash_symbols::{Debuginfod, DebuginfodLimits};

use crate::config;

/// The servers that the environment names, and the folder for what they give. `DEBUGINFOD_MAXSIZE` (bytes of a file),
/// `DEBUGINFOD_MAXTIME` (seconds for a file) and `DEBUGINFOD_HEADERS_FILE` (headers to send, such as that with the
/// token of a server of ours) mean what they mean to elfutils.
pub fn from_environment() -> Option<Debuginfod> {
    let servers = std::env::var("DEBUGINFOD_URLS").ok()?;
    let number = |name: &str| {
        std::env::var(name)
            .ok()?
            .trim()
            .parse::<u64>()
            .ok()
            .filter(|number| *number > 0)
    };
    let mut limits = DebuginfodLimits::default();
    limits.file_bytes = number("DEBUGINFOD_MAXSIZE").unwrap_or(limits.file_bytes);
    limits.file_time = number("DEBUGINFOD_MAXTIME").map_or(limits.file_time, Duration::from_secs);
    let headers = std::env::var_os("DEBUGINFOD_HEADERS_FILE").filter(|path| !path.is_empty());
    let headers = headers.map_or_else(String::new, |path| {
        std::fs::read_to_string(&path).unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), %error, "can not read the headers for debuginfod servers");
            String::new()
        })
    });
    let folder = config::cache_folder()?.join("debuginfod");
    whycrash_debuginfod::client(&servers, folder, limits, &headers)
}
