//! Addresses with segments that are none, and methods that an address does not know.

use super::Victim;
use crate::case::{Case, Expect};

/// Every address of the API, with `{}` where a client names something.
const ADDRESSES: [&str; 18] = [
    "/api/v1/reports",
    "/api/v1/reports/{}",
    "/api/v1/reports/{}/state",
    "/api/v1/reports/{}/complete",
    "/api/v1/reports/{}/artifacts/{}",
    "/api/v1/reports/{}/artifacts/{}/lines",
    "/api/v1/minidump",
    "/api/v1/search",
    "/api/v1/symbols",
    "/api/v1/symbols/{}",
    "/api/v1/groups/{}",
    "/api/v1/causes",
    "/api/v1/causes/{}",
    "/api/v1/plugins",
    "/api/v1/openapi.json",
    "/buildid/{}/{}",
    "/healthz",
    "/metrics",
];

/// What a stranger puts where a name belongs, as it is sent.
const SEGMENTS: [&str; 28] = [
    ".",
    "..",
    "...",
    "%2e",
    "%2E%2e",
    "%2f",
    "..%2f..%2f..%2fetc%2fpasswd",
    "..%5c..%5cwindows",
    "%252e%252e%252f",
    "%c0%ae%c0%ae%c0%af",
    "%00",
    "a%00b",
    "%0a",
    "%0d%0aSet-Cookie:%20a=b",
    "%1b%5b31m",
    "%7f",
    "%80",
    "%ff%fe%fd",
    "%e2%80%ae",
    "%ef%bb%bf",
    "%ed%a0%80",
    "%f4%90%80%80",
    "%f0%9f%92%a5",
    "%",
    "%4",
    "%zz",
    ";a=b",
    "*",
];

/// Cases that aim at how addresses are read.
pub fn cases(victim: &Victim) -> Vec<Case> {
    let mut cases = Vec::new();
    for address in ADDRESSES.into_iter().filter(|address| address.contains("{}")) {
        for segment in SEGMENTS {
            for method in ["GET", "PUT"] {
                cases.push(ask(method, &address.replace("{}", segment)));
            }
        }
        // What is there, named a little otherwise.
        for near in near(&victim.report) {
            cases.push(ask(
                "GET",
                &address.replacen("{}", &near, 1).replace("{}", &victim.artifact),
            ));
        }
    }
    for method in [
        "HEAD", "OPTIONS", "TRACE", "PATCH", "POST", "CONNECT", "QUERY", "PROPFIND", "DELETE",
    ] {
        for address in ADDRESSES {
            // Nothing of what is there is meant: these name a report that was never sent.
            let address = address
                .replacen("{}", &"0".repeat(32), 1)
                .replace("{}", &victim.artifact);
            cases.push(ask(method, &address));
        }
    }
    for query in [
        "?",
        "??",
        "?&&&",
        "?=",
        "?a",
        "?%00=%00",
        "?q[]=a",
        "?q=a&q=b",
        "?from=-1",
        "?from=0&to=0",
        "?from=9&to=1",
    ] {
        cases.push(ask("GET", &format!("/api/v1/search{query}")));
        cases.push(ask("GET", &format!("{}/lines{query}", victim.address())));
    }
    for range in [
        "from=18446744073709551615",
        "from=1&to=18446744073709551615",
        "from=18446744073709551616",
        "to=0",
        "from=2147483648&to=4294967296",
        "from=1e3",
    ] {
        cases.push(ask("GET", &format!("{}/lines?{range}", victim.address())));
    }
    cases
}

fn ask(method: &str, address: &str) -> Case {
    let name = format!("{method} {address:.70}");
    let case = Case::request(name, method, address, &[], b"");
    // The HTTP layer may end a connection on which somebody asked for a tunnel, or for a path that is none.
    case.expect(Expect::Ended)
}

/// Ids that are almost this one.
fn near(id: &str) -> [String; 6] {
    [
        id.to_uppercase(),
        format!("{id} ").replace(' ', "%20"),
        format!("{id}0"),
        id[1..].to_owned(),
        format!("{id}%2f"),
        id.bytes().map(|byte| format!("%{byte:02x}")).collect(),
    ]
}
