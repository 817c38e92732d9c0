//! Headers that lie, contradict each other, or never end.

use std::time::Duration;

use super::{Size, Victim};
use crate::case::{Case, Expect, bytes, head};
use crate::wire::Step;

/// Headers that a server looks at.
const NAMES: [&str; 24] = [
    "Accept",
    "Accept-Encoding",
    "Authorization",
    "Connection",
    "Content-Encoding",
    "Content-Length",
    "Content-Range",
    "Content-Type",
    "Cookie",
    "Expect",
    "Host",
    "If-Match",
    "If-Modified-Since",
    "If-None-Match",
    "If-Range",
    "If-Unmodified-Since",
    "Keep-Alive",
    "Origin",
    "Range",
    "Sec-Fetch-Site",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upload-Offset",
];

/// Cases that aim at headers.
pub fn cases(size: Size, victim: &Victim) -> Vec<Case> {
    let mut cases = Vec::new();
    // With the length of its body, so that `Content-Length` and `Transfer-Encoding` contradict that.
    let post = |name: String, headers: &[(&str, &str)]| {
        Case::request(name, "POST", "/api/v1/reports", headers, b"{\"artifacts\": []}").expect(Expect::Ended)
    };
    for name in NAMES {
        for value in values(size) {
            let shown: String = value.chars().take(20).collect();
            let header = [(name, value.as_str())];
            let get = Case::request(
                format!("GET with {name}: {shown:?}"),
                "GET",
                &victim.address(),
                &header,
                b"",
            );
            cases.push(get.expect(Expect::Ended));
            cases.push(post(format!("POST with {name}: {shown:?}"), &header));
        }
        cases.push(post(format!("{name} twice"), &[(name, "1"), (name, "2")]));
    }
    cases.extend(ranges(victim));
    cases.extend(tags(victim));
    cases.extend(expectations(size));
    cases
}

fn values(size: Size) -> Vec<String> {
    vec![
        String::new(),
        " ".into(),
        ",".into(),
        "\"".into(),
        "*".into(),
        "-1".into(),
        "0".into(),
        "18446744073709551616".into(),
        "\u{e9}\u{202e}".into(),
        "a\tb".into(),
        "a".repeat(size.pick(4, 60) << 10),
        ", ".repeat(size.pick(1000, 20_000)),
        "identity;q=0, *;q=0".into(),
    ]
}

/// Parts of a file that are none.
fn ranges(victim: &Victim) -> Vec<Case> {
    let many = (0..2000).map(|n| format!("{n}-{n}")).collect::<Vec<_>>().join(",");
    let ranges = [
        "bytes",
        "bytes=",
        "bytes=-",
        "bytes=--1",
        "bytes=-0",
        "bytes=0",
        "bytes=0-",
        "bytes=0-0,0-0",
        "bytes=5-2",
        "bytes=1-x",
        "bytes=-18446744073709551616",
        "bytes=18446744073709551615-",
        "bytes=0-18446744073709551615",
        "bytes=0-99999999999999999999999",
        "bytes = 0-1",
        "BYTES=0-1",
        "items=0-1",
        "bytes=0-1;bytes=2-3",
        &many,
    ];
    let ask = |range: &&str| {
        let name = format!("range {range:.30}");
        Case::request(name, "GET", &victim.address(), &[("Range", *range)], b"")
    };
    ranges.iter().map(ask).collect()
}

/// Tags of answers that were never given.
fn tags(victim: &Victim) -> Vec<Case> {
    let tags = ["*", "\"\"", "W/\"\"", "\"", "W/", "\"a\", \"b", "a", "\"\u{e9}\""];
    let addresses = [
        victim.address(),
        format!("/api/v1/reports/{}", victim.report),
        "/api/v1/search".to_owned(),
        "/".to_owned(),
    ];
    let ask = |address: &String, tag: &str| {
        Case::request(
            format!("tag {tag:?} of {address:.30}"),
            "GET",
            address,
            &[("If-None-Match", tag)],
            b"",
        )
    };
    addresses
        .iter()
        .flat_map(|address| tags.iter().map(move |tag| ask(address, tag)))
        .collect()
}

/// Clients that wait to be told to go on, for each address that takes a body; and heads that come slowly.
fn expectations(size: Size) -> Vec<Case> {
    let mut cases = Vec::new();
    for (method, path) in [
        ("POST", "/api/v1/reports"),
        ("POST", "/api/v1/minidump"),
        ("POST", "/api/v1/symbols"),
        ("PUT", "/api/v1/symbols"),
        ("GET", "/api/v1/search"),
    ] {
        for length in ["0", "2", "99999999999999"] {
            let headers = [
                ("Content-Type", "application/json"),
                ("Expect", "100-continue"),
                ("Content-Length", length),
            ];
            let steps = vec![
                Step::Send(head(method, path, &headers).into()),
                Step::Send(bytes("{}")),
                Step::HalfClose,
            ];
            cases
                .push(Case::steps(format!("{method} {path} goes on with {length} bytes"), steps).expect(Expect::Ended));
        }
    }
    let slow = vec![
        Step::Send(bytes("GET /api/v1/search HTTP/1.1\r\n")),
        Step::Trickle(
            bytes("Host: 127.0.0.1\r\n"),
            Duration::from_millis(size.pick(20, 500) as u64),
        ),
    ];
    cases.push(
        Case::steps("heads that come byte by byte and are not ended", slow)
            .clients(size.pick(16, 100))
            .expect(Expect::Ended)
            .patience(Duration::from_secs(150)),
    );
    cases
}
