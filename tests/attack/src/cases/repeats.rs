//! The same report again: with other content, at the same time, and while it is deleted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Size, Victim, post_json};
use crate::case::{Case, Expect, bytes, head};
use crate::wire::Step;

const REPORTS: &str = "/api/v1/reports";
/// SHA-256 of no byte, and of the three bytes `abc` (FIPS 180-2).
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// Cases that aim at what is sent more than once.
pub fn cases(size: Size, victim: &Victim) -> Vec<Case> {
    let crowd = size.pick(8, 32);
    let declared = |name: &str, bytes: u64, digest: &str| {
        format!("{{\"name\": \"{name}\", \"bytes\": {bytes}, \"sha256\": \"{digest}\"}}")
    };
    let report = |metadata: &str, artifacts: &str| {
        format!("{{\"metadata\": {{\"again\": \"{metadata}\"}}, \"artifacts\": [{artifacts}]}}")
    };
    let inline = |text: &str| format!("{{\"name\": \"a.log\", \"data\": \"{}\"}}", STANDARD.encode(text));
    let post = |name: &str, body: String| post_json(name, REPORTS, body.as_bytes());
    let huge = (0..200)
        .map(|n| declared(&format!("core{n}"), 256 << 30, &format!("{n:064x}")))
        .collect::<Vec<_>>()
        .join(",");
    let mut cases = vec![
        post(
            "the same at the same time",
            report("at once", &inline("RuntimeError: at once\n")),
        )
        .clients(crowd)
        .expect(Expect::Done),
        post("one byte more", report("at once", &inline("RuntimeError: at once\n\n"))).expect(Expect::Done),
        post(
            "the same name with other bytes",
            report("at once", &inline("OSError: other\n")),
        )
        .expect(Expect::Done),
        post("declared, of no byte", report("empty", &declared("a.log", 0, EMPTY))),
        post(
            "declared, of no byte but one",
            report("empty", &declared("a.log", 1, EMPTY)),
        ),
        post("declared, and here already", report("abc", &declared("a.log", 3, ABC))),
        post("declared with another size", report("abc", &declared("a.log", 4, ABC))),
        post("all of a disk declared", report("huge", &huge)),
        post(
            "one digest under many names",
            report(
                "names",
                &(0..200)
                    .map(|n| declared(&format!("n{n}"), 3, ABC))
                    .collect::<Vec<_>>()
                    .join(","),
            ),
        ),
    ];
    cases.extend(at_one_time(crowd, victim));
    cases
}

/// A report whose artifact is declared and comes later: `abc`.
pub fn declaration() -> Value {
    json!({"metadata": {"again": "half"}, "artifacts": [{"name": "core", "bytes": 3, "sha256": ABC}]})
}

/// Clients that do different things to one report at one time: to one that is there again and again, and to one that
/// nobody has sent.
fn at_one_time(crowd: usize, victim: &Victim) -> Vec<Case> {
    let declared = declaration().to_string();
    let json = ("Content-Type", "application/json");
    let case = |name: &str, id: &str| {
        let report = format!("{REPORTS}/{id}");
        let artifact = format!("{report}/artifacts/core");
        let ask = |method: &str, path: &str, headers: &[(&str, &str)], data: &str| {
            let length = data.len().to_string();
            let all = [headers, &[("Content-Length", &length)]].concat();
            let request = [&head(method, path, &all), data.as_bytes()].concat();
            vec![Step::Send(bytes(request))]
        };
        let scripts = vec![
            ask("POST", REPORTS, &[json], &declared),
            ask("PUT", &artifact, &[("Upload-Offset", "0")], "ab"),
            ask("DELETE", &report, &[], ""),
            ask("PUT", &artifact, &[], "abc"),
            ask("POST", &format!("{report}/complete"), &[], ""),
            ask("PUT", &artifact, &[("Upload-Offset", "2")], "c"),
            ask("HEAD", &artifact, &[], ""),
            ask("PUT", &artifact, &[], "xyz"),
            ask("GET", &report, &[], ""),
            ask("GET", &artifact, &[], ""),
        ];
        let clients = scripts.len() * crowd;
        Case::scripts(name, scripts).clients(clients).expect(Expect::Answered)
    };
    vec![
        case("declared, sent, completed and deleted at one time", &victim.half),
        case("the same for a report that nobody has sent", &"1".repeat(32)),
        Case::request(
            "deleted at last",
            "DELETE",
            &format!("{REPORTS}/{}", victim.half),
            &[],
            b"",
        ),
    ]
}
