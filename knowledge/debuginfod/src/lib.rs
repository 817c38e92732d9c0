//! Fetches binaries and debug files from debuginfod servers over HTTP.
//!
//! The symbols crate decides what to ask for and keeps what comes; this one makes the connection, for programs that let
//! it: the command line where `DEBUGINFOD_URLS` is set, the server where its settings name servers.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::blocking::Client;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use whycrash_symbols::{Debuginfod, DebuginfodLimits, Fetch, Fetched};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// The servers of a list separated by spaces; nothing when the list is empty. Files are kept in `folder`. Every request
/// has these headers, one `Name: value` a line; lines that are none are left out.
pub fn client(servers: &str, folder: PathBuf, limits: DebuginfodLimits, headers: &str) -> Option<Debuginfod> {
    let http = Http {
        headers: headers.lines().filter_map(header).collect(),
        client: OnceLock::new(),
    };
    Debuginfod::new(servers, folder, Arc::new(http), limits)
}

fn header(line: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = line.split_once(':')?;
    let mut value = HeaderValue::from_str(value.trim()).ok()?;
    // It may be a secret, which no log should show.
    value.set_sensitive(true);
    Some((name.trim().parse().ok()?, value))
}

#[derive(Debug)]
struct Http {
    headers: HeaderMap,
    /// Made at the first request: most diagnoses need none.
    client: OnceLock<Client>,
}

impl Http {
    fn client(&self) -> io::Result<&Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // An error says that the program has one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .connect_timeout(CONNECT)
            .default_headers(self.headers.clone())
            .build()
            .map_err(io::Error::other)?;
        Ok(self.client.get_or_init(|| client))
    }
}

impl Fetch for Http {
    fn fetch(&self, url: &str, time: Duration, to: &mut dyn Write) -> io::Result<Fetched> {
        let request = self.client()?.get(url).timeout(time);
        let mut answer = request.send().map_err(io::Error::other)?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(Fetched::Missing);
        }
        if !answer.status().is_success() {
            return Err(io::Error::other(format!("the server answers {}", answer.status())));
        }
        io::copy(&mut answer, to)?;
        Ok(Fetched::Body)
    }
}
