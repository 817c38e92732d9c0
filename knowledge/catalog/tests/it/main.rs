//! The catalogue as its users see it.

mod documents;
mod html;
mod search;
mod words;

use whycrash_catalog::Cause;

/// A document that breaks no rule, for tests to break one at a time.
const GOOD: &str = r#"+++
id = "oom-example"
title = "An example"
summary = "Nothing real."
severity = "fatal"
domain = "program"
retry = { advice = "change-first", because = "It fails again." }
tags = ["example"]
signs = ["a sign"]
references = ["https://example.org"]

[[fixes]]
summary = "Mend it"
steps = ["like so"]
+++
Prose with a [link](oom-example.md).
"#;

fn good_with(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "the example document has `{from}`");
    GOOD.replacen(from, to, 1)
}

fn cause_with_body(body: &str) -> Cause {
    Cause {
        body: body.to_owned(),
        ..Cause::default()
    }
}
