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

#[cfg(test)]
mod tests {
    use super::{Config, check};

    #[test]
    fn names_that_lead_nowhere_are_refused() {
        let of = |url: &str, host: &str| {
            check(&Config {
                public_url: Some(url.to_owned()),
                hosts: vec![host.to_owned()],
                ..Config::default()
            })
        };
        for url in [
            "https://crashes.example",
            "http://10.0.0.7:7311/",
            "https://example.org/crashes",
            "http://[::1]:80",
        ] {
            of(url, "localhost").unwrap();
        }
        for url in [
            "",
            "crashes.example",
            "/crashes",
            "ftp://a",
            "https://",
            "https://a/?b",
            "https://a b",
            "https://u:p@a",
            "https://a#b",
        ] {
            let error = of(url, "localhost").unwrap_err().to_string();
            assert!(
                error.contains("public_url") && error.contains("https://crashes.example"),
                "{url}: {error}"
            );
        }
        for host in ["crashes.example", "node_7", "[2001:db8::7]"] {
            of("https://a", host).unwrap();
        }
        for host in [
            "",
            "*",
            "https://a",
            "a:7311",
            "a/b",
            "a b",
            "2001:db8::7",
            "\u{e9}.example",
        ] {
            let error = of("https://a", host).unwrap_err().to_string();
            assert!(error.contains("hosts has"), "{host}: {error}");
        }
    }
}
