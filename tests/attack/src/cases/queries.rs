//! What strangers type into the search box, and what they ask lists for.

use super::encoded;
use crate::case::{Case, Expect};

/// Cases that aim at queries.
pub fn cases() -> Vec<Case> {
    let get = |name: String, path: String| Case::request(name, "GET", &path, &[], b"");
    let mut cases: Vec<Case> = texts()
        .into_iter()
        .map(|text| {
            let shown: String = text.chars().take(40).collect();
            get(
                format!("query {shown:?}"),
                format!("/api/v1/search?q={}", encoded(&text)),
            )
        })
        .collect();
    let numbers = [
        "-1",
        "0",
        "1",
        "201",
        "10001",
        "4294967296",
        "18446744073709551615",
        "18446744073709551616",
        "1e9",
        "NaN",
        "",
    ];
    for number in numbers {
        for name in ["limit", "offset", "facet_values"] {
            cases.push(get(
                format!("search {name}={number}"),
                format!("/api/v1/search?{name}={number}"),
            ));
            cases.push(get(
                format!("list {name}={number}"),
                format!("/api/v1/reports?{name}={number}"),
            ));
        }
    }
    for sort in ["newest", "oldest", "", "relevance&sort=newest", "%00"] {
        cases.push(get(format!("sort {sort:?}"), format!("/api/v1/search?sort={sort}")));
    }
    for text in combined() {
        cases.push(get(
            format!("query {text:.40?}"),
            format!("/api/v1/search?q={}", encoded(&text)),
        ));
    }
    for path in ids() {
        cases.push(get(format!("address {path:.60}"), path).expect(Expect::Answered));
    }
    cases
}

/// Queries: all that the language has, broken and overdone, and what is none.
fn texts() -> Vec<String> {
    let given = [
        "*",
        "**",
        "a*",
        "*a",
        "-*",
        "\"\"",
        "\"\"*",
        "-\"\"",
        "\"",
        "\\",
        "\"\\",
        "-",
        "--",
        "- a",
        "NOT",
        "NOT NOT a",
        "NOT -a",
        "-a",
        "-a -b -c",
        "a -a",
        ":",
        "::",
        "a:",
        ":a",
        "cause:",
        "cause:*",
        "-cause:*",
        "cause:\"\"",
        "cause:\"a b\"*",
        "nofield:x",
        "cause:x:y",
        "std::vector<int>",
        "train.py:12",
        "rank:-1",
        "rank:99999999999999999999",
        "rank:*",
        "rank:1*",
        "host:..",
        "host:a.b.c.d.e.f",
        "signature:*",
        "(a",
        "a)",
        "[a TO b]",
        "{a TO b}",
        "a~",
        "a~99",
        "a^9999999999",
        "+a",
        "&&",
        "||",
        "a AND b",
        "a OR",
        "/.*/",
        "/(a*)*b/",
        "/a{1,1000}{1,1000}/",
        "host:/.*/",
        "<=5",
        ">a",
        "a\u{0}b",
        "\u{202e}abc",
        "e\u{301}",
        "\u{1F4A5}",
        "\u{FFFF}",
        "..",
        "....",
        "_",
        "__",
        ".",
        "'",
        "' OR 1=1 --",
        "<script>",
        "%",
        "%s%n",
        "${jndi:ldap://x}",
        "日誌",
        "ﷺ",
    ];
    let mut texts: Vec<String> = given.iter().map(ToString::to_string).collect();
    texts.extend([
        "-a ".repeat(64),
        "-a ".repeat(65),
        "a ".repeat(64),
        "a* ".repeat(64),
        "cause:a ".repeat(64),
        "-cause:a* ".repeat(64),
        "\"a b c\" ".repeat(30),
        "a".repeat(4096),
        "a".repeat(4097),
        format!("{}*", "a".repeat(4000)),
        ".".repeat(4096),
        "a.".repeat(2000),
        "a ".repeat(40_000),
        "(".repeat(4000),
        "\"".repeat(4000),
        "é".repeat(2048),
    ]);
    texts
}

/// Every operator with every other, and every field with every kind of value.
fn combined() -> Vec<String> {
    let operators = [
        "-", "NOT ", "\"", "(", "+", "!", "~", "^2", "*", ":", "cause:", "-rank:", "host:\"", "\\",
    ];
    let pairs = operators
        .iter()
        .flat_map(|outer| operators.map(|inner| format!("{outer}{inner}a{outer}")));
    let fields = [
        "cause",
        "signal",
        "exception",
        "host",
        "job",
        "rank",
        "gpu",
        "driver",
        "torch",
        "kind",
        "plugin",
        "signature",
    ];
    let values = [
        "\"\"",
        "*",
        "\"a b\"*",
        "-1",
        "a:b",
        "[0 TO 9]",
        ">=1",
        "\u{0}",
        "\u{1F4A5}*",
        "../x",
        "\\",
        "(a)",
    ];
    let asked = fields.iter().flat_map(|field| {
        values
            .into_iter()
            .flat_map(move |value| [format!("{field}:{value}"), format!("-{field}:{value} {field}:{value}")])
    });
    pairs.chain(asked).collect()
}

/// Addresses with ids that are none.
fn ids() -> Vec<String> {
    let ids = [
        "0",
        "..",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "%00",
        "%ff%fe",
        "a%0d%0aX-Injected:1",
        "%F0%9F%92%A5",
    ];
    let long = "a".repeat(8000);
    let ids = ids.iter().map(ToString::to_string).chain([long]);
    let places = [
        "reports/ID",
        "reports/ID/artifacts/a",
        "reports/ID/artifacts/a/lines",
        "groups/ID",
        "causes/ID",
        "symbols/ID",
    ];
    ids.flat_map(|id| places.map(|place| format!("/api/v1/{}", place.replace("ID", &id))))
        .collect()
}
