//! Forms that are broken, overdone, or bombs.

use std::time::Duration;

use super::metadata::numbered;
use super::{Size, noise};
use crate::case::{Case, Expect, bytes, head};
use crate::wire::Step;

const TYPE: &str = "multipart/form-data; boundary=x";

/// Cases that aim at forms: reports, minidumps of crash clients, symbols.
pub fn cases(size: Size) -> Vec<Case> {
    let mut cases = Vec::new();
    for path in ["/api/v1/reports", "/api/v1/minidump"] {
        cases.extend(broken(path, size));
        cases.push(packed_bomb(path, size));
        cases.extend(odd(path, size));
        cases.extend(boundaries(path, size));
    }
    cases.push(endless("/api/v1/reports", size));
    cases
}

fn form(name: impl Into<String>, path: &str, body: &[u8]) -> Case {
    Case::request(name, "POST", path, &[("Content-Type", TYPE)], body).expect(Expect::Refused)
}

fn part(disposition: &str, data: &str) -> String {
    format!("--x\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{data}\r\n")
}

fn broken(path: &str, size: Size) -> Vec<Case> {
    let many = size.pick(5_000, 100_000);
    let with = |name: &str, body: String| form(format!("{path}: {name}"), path, format!("{body}--x--\r\n").as_bytes());
    let file = part("name=\"f\"; filename=\"a.log\"", "RuntimeError: form\n");
    vec![
        form(format!("{path}: nothing"), path, b""),
        form(format!("{path}: no boundary"), path, b"hello"),
        form(format!("{path}: not ended"), path, file.as_bytes()),
        with("no part", String::new()),
        with("a field alone", part("name=\"a\"", "b")),
        with(
            "metadata that is no JSON",
            format!("{}{file}", part("name=\"metadata\"", "{")),
        ),
        with(
            "metadata that is a list",
            format!("{}{file}", part("name=\"metadata\"", "[]")),
        ),
        with("a part without a disposition", "--x\r\n\r\na\r\n".into()),
        with("a part without a name", part("filename=\"a\"", "a")).expect(Expect::Answered),
        with("a file without a name", part("name=\"f\"; filename=\"\"", "a")).expect(Expect::Answered),
        with("a file named ..", part("name=\"f\"; filename=\"..\"", "a")).expect(Expect::Answered),
        with(
            "a file with a long name",
            part(&format!("name=\"f\"; filename=\"{}\"", "n".repeat(many)), "a"),
        )
        .expect(Expect::Answered),
        with(
            "headers without end",
            format!("--x\r\nX: {}\r\n\r\na\r\n", "y".repeat(many * 10)),
        ),
        with(
            "many headers",
            format!("--x\r\n{}\r\na\r\n", numbered(many, |n| format!("X{n}: y\r\n"))),
        ),
        with("many fields", numbered(many, |n| part(&format!("name=\"f{n}\""), "v"))).expect(Expect::Answered),
        with(
            "many files",
            numbered(many, |n| part(&format!("name=\"f\"; filename=\"a{n}\""), "v")),
        ),
        with(
            "many empty files of one name",
            part("name=\"f\"; filename=\"a\"", "").repeat(many),
        ),
        with(
            "a field of its own size",
            part("name=\"a\"", &"v".repeat(size.pick(2, 8) << 20)),
        ),
        with(
            "a field that is no text",
            String::from_utf8_lossy(&noise(200, 7)).into_owned(),
        ),
        with(
            "a second metadata",
            format!("{0}{0}{file}", part("name=\"metadata\"", "{\"a\": 1}")),
        )
        .expect(Expect::Answered),
    ]
}

/// Parts that are forms themselves, packed, or named in every way there is.
fn odd(path: &str, size: Size) -> Vec<Case> {
    let many = size.pick(2_000, 50_000);
    let with = |name: &str, body: String| {
        let body = format!("{body}--x--\r\n");
        form(format!("{path}: {name}"), path, body.as_bytes()).expect(Expect::Answered)
    };
    let headed = |headers: &str, data: &str| {
        format!("--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.log\"\r\n{headers}\r\n{data}\r\n")
    };
    let nested = "Content-Type: multipart/mixed; boundary=x\r\n";
    let mut cases = vec![
        with(
            "a form in a form",
            headed(nested, &part("name=\"g\"; filename=\"b\"", "b")),
        ),
        with("forms in forms", headed(nested, "").repeat(many / 10)),
        with(
            "a part that says it is base64",
            headed("Content-Transfer-Encoding: base64\r\n", "!!!!"),
        ),
        with(
            "a part that says it is packed",
            headed("Content-Encoding: gzip\r\n", "abc"),
        ),
        with("a part longer than it says", headed("Content-Length: 1\r\n", "abc")),
        with(
            "a part shorter than it says",
            headed("Content-Length: 1000000\r\n", "abc"),
        ),
        with(
            "a part with two lengths",
            headed("Content-Length: 1\r\nContent-Length: 2\r\n", "abc"),
        ),
        with(
            "a part with a length that is none",
            headed("Content-Length: -1\r\n", "abc"),
        ),
        with(
            "two dispositions",
            headed("Content-Disposition: form-data; name=\"g\"\r\n", "a"),
        ),
        with("a folded header", headed("X: a\r\n b\r\n", "a")),
        with("a header without a colon", headed("hello\r\n", "a")),
        with("a type that is none", headed("Content-Type: \u{e9}/;;;=\r\n", "a")),
        with(
            "line ends of one kind",
            "--x\nContent-Disposition: form-data; name=\"f\"\n\na\n".into(),
        ),
        with(
            "files that are empty",
            numbered(many, |n| part(&format!("name=\"f\"; filename=\"a{n}\""), "")),
        ),
        with("metadata in parts", part("name=\"metadata\"", "{}").repeat(many / 10)),
        with("a field of every name", part("name=\"a\"", "b").repeat(300)),
        with(
            "text before the first part",
            "y".repeat(size.pick(2, 64) << 20) + "\r\n" + &part("name=\"a\"", "b"),
        ),
        with(
            "lines before the first part",
            "--y\r\n".repeat(many * 10) + &part("name=\"a\"", "b"),
        ),
    ];
    let names = [
        "name*=utf-8''%e2%82%ac; filename*=utf-8''%e2%82%ac.log",
        "name*=utf-8''%ff; filename*=utf-8''%00",
        "name*=x''a; filename*=''",
        "name=f; filename=a b c",
        "name=\"f\"; filename=\"a\\\"b\"",
        "name=\"f\"; filename=\"unclosed",
        "name=\"f\"; filename=\"C:\\\\a\\\\b.log\"",
        "name=\"f\"; filename=\"../../../../etc/passwd\"",
        "name=\"f\"; filename=\"/dev/null\"",
        "name=\"f\"; filename=\"a\"; filename=\"b\"",
        "name=\"f\"; name=\"metadata\"; filename=\"a\"",
        "name=\"\u{202e}\"; filename=\"\u{202e}gpj.exe\"",
        "name=\"f\"; size=99999999999999999999; filename=\"a\"",
    ];
    cases.extend(names.map(|named| {
        with(
            &format!("a part with {named:.60}"),
            part(named, "RuntimeError: named\n"),
        )
    }));
    cases
}

/// Boundaries that are none, or end what they should not.
fn boundaries(path: &str, size: Size) -> Vec<Case> {
    let long = "b".repeat(size.pick(2, 30) << 10);
    let boundaries = [
        "",
        "\"\"",
        "\"",
        " ",
        "-",
        "--",
        "\"a b\"",
        "a;b",
        "a\u{e9}",
        ".*",
        "\"--x\"",
        "x; boundary=y",
        &long,
    ];
    let case = |boundary: &&str| {
        let kind = format!("multipart/form-data; boundary={boundary}");
        let body = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--{boundary}--\r\n");
        let name = format!("{path}: the boundary {boundary:.20?}");
        Case::request(name, "POST", path, &[("Content-Type", &kind)], body.as_bytes())
    };
    boundaries.iter().map(case).collect()
}

/// As Crashpad sends forms: packed. This one unpacks to a file of zeros without end.
fn packed_bomb(path: &str, size: Size) -> Case {
    let front = b"--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.log\"\r\n\r\n";
    let body = super::artifacts::gzip(front, size.pick(256, 4096) << 20);
    let headers = [("Content-Type", TYPE), ("Content-Encoding", "gzip")];
    Case::request(
        format!("{path}: a packed form that is not ended"),
        "POST",
        path,
        &headers,
        &body,
    )
    .expect(Expect::Refused)
}

/// A file that goes on and on, in chunks, larger than the server takes.
fn endless(path: &str, size: Size) -> Case {
    let start = head(
        "POST",
        path,
        &[("Content-Type", TYPE), ("Transfer-Encoding", "chunked")],
    );
    let front = "--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.log\"\r\n\r\n";
    let chunk = |data: &[u8]| [format!("{:x}\r\n", data.len()).as_bytes(), data, b"\r\n"].concat();
    let steps = vec![
        Step::Send([start, chunk(front.as_bytes())].concat().into()),
        Step::Repeat(bytes(chunk(&vec![b'a'; 1 << 20])), size.pick(300, 1500)),
    ];
    // A busy machine takes its time for hundreds of megabytes.
    Case::steps("a file without end", steps)
        .expect(Expect::Ended)
        .patience(Duration::from_mins(2))
}
