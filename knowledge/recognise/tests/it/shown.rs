//! Which tables are left after a look at the words of a report.

use serde_json::{Value, json};
use whycrash_recognise::{Happened, Shown, Sign};

fn shown(events: &[(&str, &str, Value)]) -> Shown {
    let mut shown = Shown::default();
    for (kind, text, detail) in events {
        shown.add(&Happened {
            kind: (*kind).to_owned(),
            text: (*text).to_owned(),
            detail: detail.clone(),
            ..Happened::default()
        });
    }
    shown
}

fn sign(mut table: Value) -> Sign<whycrash_recognise::Table> {
    table["confidence"] = json!(0.5);
    table["explanation"] = json!("It is.");
    Sign::new("team-cause", serde_json::from_value(table).expect("a table"))
}

#[test]
fn a_table_is_left_out_when_the_report_lacks_what_it_can_not_do_without() {
    let report = shown(&[
        (
            "python-exception",
            "OSError: [Errno 28] No space left",
            json!({ "exception": "OSError", "errno": 28 }),
        ),
        ("xid", "Xid 79, GPU has fallen off the bus", json!({ "code": 79 })),
        (
            "native-abort",
            "",
            json!({ "family": "cpp-exception", "exception": "c10::Error", "message": "bad shape" }),
        ),
    ]);
    let may_have = |table: Value| report.may_have(&sign(table));
    for left in [
        json!({ "kind": "python-exception", "text": "no space|quota" }),
        json!({ "kind": "python-exception", "text": "Errno (?:5|28)\\] .{0,9}left|read-only file" }),
        json!({ "kind": "python-exception", "text": r"\\d+" }),
        json!({ "kind": "python-exception", "where": { "exception": "OSError" } }),
        json!({ "kind": "python-exception", "where": { "errno": { "from": 100.0 } } }),
        json!({ "kind": "python-exception", "where": { "host": { "matches": "node-1", "present": false } } }),
        json!({ "kind": "python-exception", "where": { "message": { "matches": "bad shape" } } }),
        json!({ "kind": "python-exception", "text": "space", "with": [{ "kind": "xid", "text": "fallen" }] }),
        json!({ "kind": "python-exception", "text": "space", "without": [{ "kind": "oom-kill" }] }),
    ] {
        assert!(may_have(left.clone()), "{left}");
    }
    for out in [
        json!({ "kind": "oom-kill", "text": "space" }),
        json!({ "kind": "python-exception", "text": "quota|disk is full" }),
        json!({ "kind": "python-exception", "text": "Errno (?:5|28)\\] .{0,9}full|space .{0,9}gone" }),
        json!({ "kind": "python-exception", "where": { "exception": { "one_of": ["ValueError", "TypeError"] } } }),
        json!({ "kind": "python-exception", "text": "space", "with": [{ "kind": "oom-kill" }] }),
        json!({ "kind": "python-exception", "text": "space", "with": [{ "kind": "xid", "text": "page fault" }] }),
        json!({ "kind": "python-exception", "text": "space", "with": [{ "kind": "xid", "where": { "why": "ecc" } }] }),
    ] {
        assert!(!may_have(out.clone()), "{out}");
    }
}
