//! HTTP that is none, or too much of it.

use std::time::Duration;

use super::Size;
use super::metadata::numbered;
use crate::case::{Case, Expect, head};
use crate::wire::Step;

/// Cases that aim at the protocol.
pub fn cases(size: Size) -> Vec<Case> {
    let raw = |name: &str, text: &str| {
        let steps = vec![Step::Send(text.as_bytes().into()), Step::HalfClose];
        Case::steps(name, steps)
            .expect(Expect::Ended)
            .patience(Duration::from_secs(30))
    };
    let get = |headers: &str| format!("GET /api/v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n");
    let post = |headers: &str, body: &str| {
        format!(
            "POST /api/v1/reports HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{headers}\r\n{body}"
        )
    };
    let mut cases = vec![
        raw("nothing", ""),
        raw("a line end", "\r\n\r\n"),
        raw("TLS", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}"),
        raw("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        raw("HTTP/0.9", "GET /\r\n"),
        raw("another protocol", "SSH-2.0-OpenSSH_9.2\r\n"),
        raw("HTTP/9.9", "GET / HTTP/9.9\r\nHost: a\r\n\r\n"),
        raw("no host", "GET /api/v1/search HTTP/1.1\r\n\r\n"),
        raw("two hosts", &get("Host: evil.example\r\n")),
        raw("a NUL in a header", &get("X: a\0b\r\n")),
        raw("a header without a colon", &get("hello\r\n")),
        raw("a header that starts with a space", &get(" X: y\r\n")),
        raw("a folded header", &get("X: a\r\n b\r\n")),
        raw(
            "many headers",
            &get(&numbered(size.pick(200, 20_000), |n| format!("X{n}: y\r\n"))),
        ),
        raw(
            "a header without end",
            &get(&format!("X: {}\r\n", "y".repeat(size.pick(1, 16) << 20))),
        ),
        raw(
            "an address without end",
            &format!(
                "GET /{} HTTP/1.1\r\nHost: a\r\n\r\n",
                "a".repeat(size.pick(1, 16) << 20)
            ),
        ),
        raw("two lengths", &post("Content-Length: 2\r\nContent-Length: 3\r\n", "{}")),
        raw(
            "a length and chunks",
            &post("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        ),
        raw("a negative length", &post("Content-Length: -1\r\n", "{}")),
        raw(
            "a length beyond all",
            &post("Content-Length: 99999999999999999999999\r\n", "{}"),
        ),
        raw("a length with a plus", &post("Content-Length: +2\r\n", "{}")),
        raw(
            "more than declared",
            &post("Content-Length: 2\r\n", "{}{}{}GET / HTTP/1.1\r\n\r\n"),
        ),
        raw("less than declared", &post("Content-Length: 1000\r\n", "{}")),
        raw(
            "chunks that are no chunks",
            &post("Transfer-Encoding: chunked\r\n", "hello\r\n"),
        ),
        raw(
            "a chunk beyond all",
            &post("Transfer-Encoding: chunked\r\n", "ffffffffffffffffff\r\n{}"),
        ),
        raw(
            "a chunk of the largest size",
            &post("Transfer-Encoding: chunked\r\n", "ffffffffffffffff\r\n{}"),
        ),
        raw(
            "a chunk with an extension without end",
            &post(
                "Transfer-Encoding: chunked\r\n",
                &format!("2;{}\r\n{{}}\r\n0\r\n\r\n", "x".repeat(1 << 20)),
            ),
        ),
        raw(
            "trailers without end",
            &post(
                "Transfer-Encoding: chunked\r\n",
                &format!("2\r\n{{}}\r\n0\r\n{}\r\n", "X: y\r\n".repeat(100_000)),
            ),
        ),
        raw(
            "an unknown encoding of the transfer",
            &post("Transfer-Encoding: gzip\r\n", "{}"),
        ),
        raw(
            "a chunk of one byte, often",
            &post(
                "Transfer-Encoding: chunked\r\n",
                &"1\r\n \r\n".repeat(size.pick(50_000, 2_000_000)),
            ),
        ),
        raw("an upgrade", &get("Connection: Upgrade\r\nUpgrade: websocket\r\n")),
        raw(
            "an expectation",
            &post("Expect: 100-continue\r\nContent-Length: 2\r\n", "{}"),
        ),
        raw(
            "an unknown expectation",
            &post("Expect: the-unexpected\r\nContent-Length: 2\r\n", "{}"),
        ),
        raw(
            "a range without end",
            &get(&format!("Range: bytes={}\r\n", numbered(5000, |n| format!("{n}-{n},")))),
        ),
        raw(
            "encodings without end",
            &get(&format!("Accept-Encoding: {}\r\n", "gzip;q=0.1,".repeat(5000))),
        ),
        raw("requests in one piece", &get("").repeat(size.pick(100, 2000))),
        raw(
            "an absolute address",
            "GET http://evil.example/api/v1/search HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        ),
        raw(
            "an authority",
            "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        ),
        raw("an asterisk", "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
    ];
    let paths = [
        "/",
        "//",
        "/..",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/%",
        "/%zz",
        "/\u{e9}",
        "/a?b?c",
        "/?q=%",
        "/index.html/",
        "/assets/../index.html",
        "/buildid/../../x",
        "/buildid//executable",
        "/api",
        "/api/",
        "/api/v1",
        "/api/v2/reports",
        "/metrics/",
        "/.git/config",
        "/healthz?x",
    ];
    for path in paths {
        cases.push(raw(
            &format!("address {path}"),
            &format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
        ));
    }
    let methods = [
        "HEAD",
        "OPTIONS",
        "TRACE",
        "DELETE",
        "PATCH",
        "PUT",
        "POST",
        "PROPFIND",
        "BREW",
        "get",
        "G\u{e9}T",
        &"M".repeat(5000),
    ];
    for method in methods {
        for path in ["/api/v1/reports", "/", "/metrics"] {
            let bytes = head(method, path, &[("Content-Length", "0")]);
            cases.push(raw(&format!("{method:.20} {path}"), &String::from_utf8_lossy(&bytes)));
        }
    }
    cases
}
