//! Requests that come from elsewhere than they should: through a proxy, from a page, under another name.

use crate::case::{Case, Expect};

/// Cases that aim at a server that is open to the people of its own machine. It must refuse all of them.
pub fn cases() -> Vec<Case> {
    let refused = |name: String, headers: &[(&str, &str)]| {
        Case::request(name, "GET", "/api/v1/search", headers, b"").expect(Expect::Refused)
    };
    let forwarded = [
        ("X-Forwarded-For", "203.0.113.7"),
        ("X-Forwarded-Host", "crashes.example"),
        ("X-Forwarded-Proto", "https"),
        ("Forwarded", "for=203.0.113.7"),
        ("X-Real-IP", "203.0.113.7"),
        ("Via", "1.1 proxy"),
    ];
    let hosts = [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "203.0.113.7",
        "evil.example:7311",
        "[2001:db8::1]",
        "127.0.0.1@evil.example",
    ];
    let tokens = [
        "Bearer x",
        "Bearer ",
        "bearer \u{e9}",
        "Basic eDp5",
        "Bearer a b c",
        "Bearer whycrash_0000000000000000000000000000000000000000000",
    ];
    let pages = [
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ];
    let mut cases: Vec<Case> = forwarded
        .iter()
        .map(|header| refused(format!("{}: {}", header.0, header.1), &[*header]))
        .collect();
    cases.extend(
        hosts
            .iter()
            .map(|host| refused(format!("asked as {host}"), &[("Host", host)])),
    );
    cases.extend(hosts.iter().map(|host| {
        refused(
            format!("asked as {host} with a made-up token"),
            &[("Host", host), ("Authorization", "Bearer x")],
        )
    }));
    cases.extend(
        tokens
            .iter()
            .map(|token| refused(format!("Authorization: {token}"), &[("Authorization", token)])),
    );
    cases.extend(pages.iter().map(|header| {
        let headers = [*header, ("Content-Type", "application/json")];
        let name = format!("posted from a page, {}: {}", header.0, header.1);
        Case::request(name, "POST", "/api/v1/reports", &headers, b"{\"artifacts\": []}").expect(Expect::Refused)
    }));
    cases
}
