//! A client of the library's, for what is asked in good faith.

use std::time::Duration;

use reqwest::blocking::Client;

/// How long a connection is kept for the next request: for less than the server keeps it, or else a request may meet the
/// end of its connection (RFC 9112, section 9.5).
const IDLE: Duration = Duration::from_secs(5);

/// A client that waits so long for an answer.
///
/// # Errors
///
/// No thread can be had for it.
pub fn client(patience: Duration) -> anyhow::Result<Client> {
    // Everything goes to loopback without TLS, but the library wants one named. An error says that it was done before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(Client::builder().timeout(patience).pool_idle_timeout(IDLE).build()?)
}
