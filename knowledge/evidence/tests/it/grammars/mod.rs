//! One line in, one event out: every grammar, in every form its line has had.

mod cuda;
mod distributed;
mod endings;
mod kernel;
mod lines;
mod memory;
mod processes;

use serde_json::Value;
use whycrash_evidence::model::{Event, EventPayload};
use whycrash_evidence::{Limits, read};

use crate::support::artifact;

/// The events of a text, as JSON.
fn events(text: &str) -> Vec<Value> {
    let (artifact, _keep) = artifact("train.log", text.as_bytes());
    let timeline = read(&artifact, &Limits::default()).evidence.timeline;
    // What only sounds like a failure is told of every short text.
    let is_complaint =
        |event: &&Event| matches!(&event.payload, EventPayload::LastWords(words) if words.family == "complaint");
    timeline
        .iter()
        .filter(|event| !is_complaint(event))
        .map(|event| serde_json::to_value(event).expect("an event is JSON"))
        .collect()
}

/// The text has exactly one event of this kind, and its particulars have at least these members.
fn check(text: &str, kind: &str, expected: &Value) {
    let all = events(text);
    let found: Vec<&Value> = all.iter().filter(|event| event["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "one {kind} in {text:?}, among {all:#?}");
    for (name, value) in expected.as_object().expect("an object") {
        let of_event = ["rank", "time"].contains(&name.as_str()) || (name == "pid" && kind != "dataloader-worker");
        let place = if of_event { found[0] } else { &found[0]["detail"] };
        assert_eq!(&place[name], value, "{name} of {text:?}");
    }
}

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;
