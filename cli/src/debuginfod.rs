//! Debug files over the network, from the servers that `DEBUGINFOD_URLS` names; from none when it names none.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use whycrash_symbols::{Debuginfod, DebuginfodLimits, Fetch, Fetched};

use crate::config;

/// Time to reach a server.
const CONNECT: Duration = Duration::from_secs(5);

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
    let folder = config::cache_folder()?.join("debuginfod");
    let http = reqwest::blocking::Client::builder()
        .connect_timeout(CONNECT)
        .build()
        .ok()?;
    Debuginfod::new(&servers, folder, Arc::new(Http(http)), limits)
}

/// Fetches with the client that the rest of this program uses.
#[derive(Debug)]
struct Http(reqwest::blocking::Client);

impl Fetch for Http {
    fn fetch(&self, url: &str, time: Duration, mut to: &mut dyn Write) -> io::Result<Fetched> {
        let answer = self.0.get(url).timeout(time).send().map_err(io::Error::other)?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(Fetched::Missing);
        }
        let mut answer = answer.error_for_status().map_err(io::Error::other)?;
        io::copy(&mut answer, &mut to)?;
        Ok(Fetched::Body)
    }
}
