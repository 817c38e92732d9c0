//! Every address that the server says it has: with segments and values that are none, and methods it does not know.

use serde_json::Value;

use super::{Size, Victim};
use crate::case::{Case, Expect};

/// An address that the description does not name: debuginfod's.
const BUILD_ID: &str = "/buildid/{}/{}";

/// Methods with which segments are tried.
const METHODS: [&str; 3] = ["GET", "PUT", "POST"];

/// What a stranger puts where a name belongs, as it is sent.
const SEGMENTS: [&str; 34] = [
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
    "0",
    "-1",
    "1e3",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
];

/// What a stranger gives a parameter of a query, as it is sent.
const VALUES: [&str; 12] = [
    "",
    "0",
    "-1",
    "1e400",
    "NaN",
    "true",
    "9223372036854775808",
    "18446744073709551616",
    "%00",
    "%ff",
    "%22%7b%5b",
    "%e2%80%ae",
];

/// Cases that aim at how addresses are read.
pub fn cases(size: Size, victim: &Victim) -> Vec<Case> {
    let described: Vec<Described<'_>> = described(&victim.description).collect();
    let asked = size.pick(1, METHODS.len());
    let mut cases = segments(victim, &described, &METHODS[..asked]);
    cases.extend(methods(victim, &described));
    cases.extend(values(victim, &described));
    cases.extend(queries(victim));
    cases
}

/// An address, with `{}` where a client names something, and the parameters of queries that reading it has.
struct Described<'a> {
    address: String,
    parameters: Vec<&'a str>,
}

fn described(description: &Value) -> impl Iterator<Item = Described<'_>> {
    let paths = description["paths"].as_object().into_iter().flatten();
    paths.map(|(path, operations)| {
        let parameters = operations["get"]["parameters"].as_array().into_iter().flatten();
        let in_query = parameters.filter(|parameter| parameter["in"] == "query");
        Described {
            address: unnamed(path),
            parameters: in_query.filter_map(|parameter| parameter["name"].as_str()).collect(),
        }
    })
}

/// The address with `{}` for every `{name}`.
fn unnamed(path: &str) -> String {
    let segments = path.split('/').map(|segment| match segment.starts_with('{') {
        true => "{}",
        false => segment,
    });
    segments.collect::<Vec<_>>().join("/")
}

fn segments(victim: &Victim, described: &[Described<'_>], methods: &[&str]) -> Vec<Case> {
    let mut cases = Vec::new();
    let addresses = described.iter().map(|described| described.address.as_str());
    for address in addresses.chain([BUILD_ID]).filter(|address| address.contains("{}")) {
        for segment in SEGMENTS {
            for method in methods {
                cases.push(ask(method, &address.replace("{}", segment)));
            }
            // A report that is there, with something that is not.
            let address = address.replacen("{}", &victim.report, 1).replace("{}", segment);
            cases.push(ask("GET", &address));
        }
        // What is there, named a little otherwise.
        for near in near(&victim.report) {
            let address = address.replacen("{}", &near, 1).replace("{}", &victim.artifact);
            cases.push(ask("GET", &address));
        }
    }
    cases
}

fn methods(victim: &Victim, described: &[Described<'_>]) -> Vec<Case> {
    let mut cases = Vec::new();
    for method in [
        "HEAD", "OPTIONS", "TRACE", "PATCH", "POST", "CONNECT", "QUERY", "PROPFIND", "DELETE",
    ] {
        for Described { address, .. } in described {
            // Nothing of what is there is meant: these name a report that was never sent.
            let address = address
                .replacen("{}", &"0".repeat(32), 1)
                .replace("{}", &victim.artifact);
            cases.push(ask(method, &address));
        }
    }
    cases
}

fn values(victim: &Victim, described: &[Described<'_>]) -> Vec<Case> {
    let mut cases = Vec::new();
    for Described { address, parameters } in described {
        let address = address
            .replacen("{}", &victim.report, 1)
            .replace("{}", &victim.artifact);
        for parameter in parameters {
            cases.extend(VALUES.map(|value| ask("GET", &format!("{address}?{parameter}={value}"))));
        }
    }
    cases
}

fn queries(victim: &Victim) -> Vec<Case> {
    let mut cases = Vec::new();
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
