//! Metadata that costs more than its size, or that is no metadata.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Size, post_json};
use crate::case::Case;

/// Cases that aim at metadata, each as JSON and as a field of a form.
pub fn cases(size: Size) -> Vec<Case> {
    let shapes = shapes(size);
    let json = shapes.iter().map(|(name, metadata)| {
        let log = STANDARD.encode("RuntimeError: metadata\n");
        let body =
            format!("{{\"metadata\": {metadata}, \"artifacts\": [{{\"name\": \"a.log\", \"data\": \"{log}\"}}]}}");
        post_json(format!("{name}, as JSON"), "/api/v1/reports", body.as_bytes())
    });
    let forms = shapes.iter().map(|(name, metadata)| {
        let body = format!(
            "--x\r\nContent-Disposition: form-data; name=\"metadata\"\r\n\r\n{metadata}\r\n--x\r\nContent-Disposition: \
             form-data; name=\"f\"; filename=\"a.log\"\r\n\r\nRuntimeError: metadata\n\r\n--x--\r\n"
        );
        let headers = [("Content-Type", "multipart/form-data; boundary=x")];
        Case::request(
            format!("{name}, in a form"),
            "POST",
            "/api/v1/reports",
            &headers,
            body.as_bytes(),
        )
    });
    json.chain(forms).collect()
}

/// Metadata by name.
fn shapes(size: Size) -> Vec<(String, String)> {
    let many = size.pick(60_000, 900_000);
    let member = |name: &str, value: String| (format!("metadata {name}"), value);
    let mut shapes = vec![
        member("none", "null".into()),
        member("a list", "[]".into()),
        member("a number", "7".into()),
        member("a list of zeros", format!("{{\"a\": [{}0]}}", "0,".repeat(many))),
        member(
            "a list of empty objects",
            format!("{{\"a\": [{}{{}}]}}", "{},".repeat(many / 2)),
        ),
        member(
            "many members",
            format!("{{{}\"z\": 0}}", numbered(many / 8, |n| format!("\"k{n}\": 0,"))),
        ),
        member(
            "the same member many times",
            format!("{{{}\"a\": 0}}", "\"a\": 0,".repeat(many / 6)),
        ),
        member(
            "nested lists",
            format!("{{\"a\": {}{}}}", "[".repeat(many / 4), "]".repeat(many / 4)),
        ),
        member(
            "nested objects",
            format!("{{\"a\": {}1{}}}", "{\"a\":".repeat(many / 8), "}".repeat(many / 8)),
        ),
        member(
            "nesting of a hundred",
            format!("{{\"a\": {}{}}}", "[".repeat(100), "]".repeat(100)),
        ),
        member("a nesting that is not closed", format!("{{\"a\": {}", "[".repeat(1000))),
        member(
            "many ranks",
            format!("{{\"rank\": [{}0]}}", numbered(many / 8, |n| format!("{n},"))),
        ),
        member("escapes", format!("{{\"host\": \"{}\"}}", "\\u0000".repeat(many / 8))),
        member("half a surrogate", "{\"host\": \"\\ud800\"}".into()),
        member("an empty name", "{\"\": \"\"}".into()),
        member("a prototype", "{\"__proto__\": {\"a\": 1}, \"constructor\": 1}".into()),
        member(
            "markup",
            "{\"host\": \"<script>alert(1)</script>\", \"job\": \"\\u001b[31m\\u202e\"}".into(),
        ),
        member("a number beyond all", format!("{{\"a\": {}}}", "9".repeat(many / 2))),
        member("an exponent beyond all", "{\"a\": 1e999999999}".into()),
        member("a tiny exponent", format!("{{\"a\": 1e-{}}}", "9".repeat(1000))),
        member(
            "times",
            "{\"ended\": \"99999-99-99T99:99:99Z\", \"started\": -1}".into(),
        ),
        member("an early time", "{\"ended\": \"-009999-01-02T01:59:59Z\"}".into()),
        member("a late time", "{\"ended\": \"9999-12-31T23:59:59.999999999Z\"}".into()),
    ];
    for field in ["host", "job", "rank", "command", "started", "ended", "name"] {
        shapes.push(member(
            &format!("{field} of dots"),
            format!("{{\"{field}\": \"{}\"}}", "a.".repeat(many / 3)),
        ));
        shapes.push(member(
            &format!("{field} of slashes"),
            format!("{{\"{field}\": \"{}\"}}", "/a".repeat(many / 3)),
        ));
        shapes.push(member(
            &format!("long {field}"),
            format!("{{\"{field}\": \"{}\"}}", "x".repeat(many)),
        ));
        shapes.push(member(
            &format!("{field} as a list"),
            format!("{{\"{field}\": [{}\"x\"]}}", "\"x\",".repeat(many / 8)),
        ));
        shapes.push(member(
            &format!("{field} as an object"),
            format!("{{\"{field}\": {{\"name\": {{\"name\": []}}}}}}"),
        ));
        shapes.push(member(
            &format!("{field} as a huge number"),
            format!("{{\"{field}\": 18446744073709551615}}"),
        ));
        shapes.push(member(
            &format!("{field} below zero"),
            format!("{{\"{field}\": -9223372036854775808}}"),
        ));
    }
    shapes
}

/// One text after another, with their numbers.
pub fn numbered(count: usize, text: impl Fn(usize) -> String) -> String {
    (0..count).map(text).collect()
}
