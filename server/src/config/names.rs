//! Names that the server goes by, held to their form at the start: a wrong one would show only in links that lead
//! nowhere, or in people who are turned away.

use actix_web::http::Uri;
use anyhow::ensure;

use super::Config;

/// Whether the settings name the server as links and clients can.
pub fn check(config: &Config) -> anyhow::Result<()> {
    if let Some(url) = &config.public_url {
        ensure!(
            is_base(url),
            "public_url is {url:?}, which is no address to put a path behind: give it as `https://crashes.example`"
        );
    }
    for host in &config.hosts {
        ensure!(
            is_host(host),
            "hosts has {host:?}, which is no name: give it without scheme, port and path, as `crashes.example`"
        );
    }
    Ok(())
}

/// Whether an address can have a path put behind it.
fn is_base(url: &str) -> bool {
    let Ok(address) = url.parse::<Uri>() else { return false };
    let is_web = matches!(address.scheme_str(), Some("http" | "https"));
    is_web && address.host().is_some_and(is_host) && !url.contains(['?', '#', '@'])
}

/// Whether a text is the name of a machine, or its address as it stands in URLs.
fn is_host(name: &str) -> bool {
    let six = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    six.map_or(!name.is_empty() && name.chars().all(is_plain), |six| {
        six.parse::<std::net::Ipv6Addr>().is_ok()
    })
}
