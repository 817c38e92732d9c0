//! Debug files over the network, from the servers that `DEBUGINFOD_URLS` names; from none when it names none.

use std::time::Duration;

use whycrash_symbols::{Debuginfod, DebuginfodLimits};

use crate::config;

/// The servers that the environment names, and the folder for what they give. `DEBUGINFOD_MAXSIZE` (bytes of a file)
/// and `DEBUGINFOD_MAXTIME` (seconds for a file) mean what they mean to elfutils.
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
    whycrash_debuginfod::client(&servers, config::cache_folder()?.join("debuginfod"), limits)
}
