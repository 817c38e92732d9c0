//! JSON bodies that declare what is not, or are none.

use super::metadata::numbered;
use super::{Size, post_json};
use crate::case::{Case, Expect};

const REPORTS: &str = "/api/v1/reports";

/// Cases that aim at JSON bodies.
pub fn cases(size: Size) -> Vec<Case> {
    let many = size.pick(20_000, 200_000);
    let refused = |name: &str, body: String| post_json(name, REPORTS, body.as_bytes()).expect(Expect::Refused);
    let artifacts = |artifacts: &str| format!("{{\"artifacts\": [{artifacts}]}}");
    let zeros = "0".repeat(64);
    let mut cases = vec![
        refused("an empty body", String::new()),
        refused("no JSON", "hello".into()),
        refused("half of a body", "{\"artifacts\": [".into()),
        refused("no artifacts", artifacts("")),
        refused("artifacts that are no list", "{\"artifacts\": {}}".into()),
        refused("artifacts that are numbers", artifacts("1, 2")),
        refused(
            "a list of lists",
            artifacts(&format!("{}1{}", "[".repeat(5000), "]".repeat(5000))),
        ),
        refused("an artifact without a name", artifacts("{\"data\": \"\"}")),
        refused("an artifact without bytes", artifacts("{\"name\": \"a\"}")),
        refused("a size without a digest", artifacts("{\"name\": \"a\", \"bytes\": 1}")),
        refused(
            "a negative size",
            artifacts(&format!("{{\"name\": \"a\", \"bytes\": -1, \"sha256\": \"{zeros}\"}}")),
        ),
        refused(
            "a fraction of a byte",
            artifacts(&format!("{{\"name\": \"a\", \"bytes\": 0.5, \"sha256\": \"{zeros}\"}}")),
        ),
        refused(
            "more bytes than there are",
            artifacts(&format!(
                "{{\"name\": \"a\", \"bytes\": 18446744073709551615, \"sha256\": \"{zeros}\"}}"
            )),
        ),
        refused(
            "a short digest",
            artifacts("{\"name\": \"a\", \"bytes\": 1, \"sha256\": \"00\"}"),
        ),
        refused(
            "a long digest",
            artifacts(&format!(
                "{{\"name\": \"a\", \"bytes\": 1, \"sha256\": \"{}\"}}",
                "0".repeat(many)
            )),
        ),
        refused(
            "a digest that is a path",
            artifacts(&format!(
                "{{\"name\": \"a\", \"bytes\": 1, \"sha256\": \"../../{}\"}}",
                &zeros[6..]
            )),
        ),
        refused("no base64", artifacts("{\"name\": \"a\", \"data\": \"!!!!\"}")),
        refused("half of base64", artifacts("{\"name\": \"a\", \"data\": \"AAA\"}")),
        refused(
            "data of another digest",
            artifacts(&format!(
                "{{\"name\": \"a\", \"data\": \"AAAA\", \"sha256\": \"{zeros}\"}}"
            )),
        ),
        refused(
            "data of another size",
            artifacts("{\"name\": \"a\", \"data\": \"AAAA\", \"bytes\": 7}"),
        ),
        refused(
            "two of one name",
            artifacts("{\"name\": \"a\", \"data\": \"AAAA\"}, {\"name\": \"a\", \"data\": \"AAAA\"}"),
        ),
        refused(
            "the second one bad",
            artifacts("{\"name\": \"a\", \"data\": \"AAAA\"}, {\"name\": \"b\", \"data\": \"!\"}"),
        ),
        refused(
            "too many artifacts",
            artifacts(numbered(many, |n| format!("{{\"name\": \"a{n}\", \"data\": \"\"}},")).trim_end_matches(',')),
        ),
        refused(
            "too many declared",
            artifacts(
                numbered(many / 4, |n| {
                    format!("{{\"name\": \"a{n}\", \"bytes\": 1, \"sha256\": \"{zeros}\"}},")
                })
                .trim_end_matches(','),
            ),
        ),
        refused(
            "more than a body may have",
            format!("{{\"x\": \"{}\"}}", "x".repeat(size.pick(20, 40) << 20)),
        ),
        refused(
            "members that nobody knows",
            format!("{{{}\"artifacts\": []}}", numbered(many, |n| format!("\"k{n}\": [],"))),
        ),
    ];
    for name in ["", ".", "..", "/", "///", "\\\\", "\\u0000", " "] {
        let body = artifacts(&format!("{{\"name\": \"{name}\", \"data\": \"AAAA\"}}"));
        cases.push(post_json(
            format!("an artifact named {name:?}"),
            REPORTS,
            body.as_bytes(),
        ));
    }
    for name in [
        "../../etc/passwd",
        "a\\nb",
        "con",
        "\\u202egpj.exe",
        "-rf",
        "a;b",
        "\\\"",
        "%2e%2e",
        "é",
        "e\\u0301",
    ] {
        let body = artifacts(&format!("{{\"name\": \"{name}\", \"data\": \"AAAA\"}}"));
        cases.push(post_json(format!("an artifact named {name:?}"), REPORTS, body.as_bytes()).expect(Expect::Done));
    }
    let long = artifacts(&format!("{{\"name\": \"{}\", \"data\": \"AAAA\"}}", "n".repeat(many)));
    cases.push(post_json("a name without end", REPORTS, long.as_bytes()));
    for kind in [
        "",
        "text/plain",
        "application/json; charset=utf-16",
        "application/xml",
        "multipart/form-data",
        "multipart/mixed; boundary=x",
    ] {
        let headers = [("Content-Type", kind)];
        let case = Case::request(
            format!("a body of type {kind:?}"),
            "POST",
            REPORTS,
            &headers,
            b"{\"artifacts\": [}",
        );
        cases.push(case.expect(Expect::Refused));
    }
    let encoded = |kind: &str, body: &[u8]| {
        let headers = [("Content-Type", "application/json"), ("Content-Encoding", kind)];
        Case::request(
            format!("a body that is said to be {kind}"),
            "POST",
            REPORTS,
            &headers,
            body,
        )
        .expect(Expect::Refused)
    };
    cases
        .extend(["gzip", "deflate", "br", "zstd", "gzip, gzip", "x"].map(|kind| encoded(kind, b"{\"artifacts\": []}")));
    cases.push(encoded(
        "gzip",
        &super::artifacts::gzip_of_zeros(size.pick(64, 1024) << 20),
    ));
    cases
}
