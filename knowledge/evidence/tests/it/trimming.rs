//! What stays of evidence that a report has no room for.

use whycrash_evidence::model::{Event, EventPayload, LastWords};
use whycrash_evidence::{Evidence, trim};

/// Events that each say one thing.
fn saying(messages: &[&str]) -> Evidence {
    let event = |(number, message): (usize, &&str)| Event {
        event: number,
        ..Event::new(EventPayload::LastWords(LastWords {
            family: "driver".to_owned(),
            message: (*message).to_owned(),
        }))
    };
    Evidence {
        timeline: messages.iter().enumerate().map(event).collect(),
        ..Evidence::default()
    }
}

fn messages(evidence: &Evidence) -> Vec<&str> {
    let said = evidence.timeline.iter().map(|event| match &event.payload {
        EventPayload::LastWords(words) => words.message.as_str(),
        other => panic!("{other:?}"),
    });
    said.collect()
}

#[test]
fn long_texts_are_cut_before_events_are_left_out() {
    let long = "ü".repeat(9_000);
    let mut evidence = saying(&["short", &long, "the last"]);
    let cut = trim(&mut evidence, 8_000);
    assert_eq!(
        messages(&evidence),
        ["short", &format!("{}…", "ü".repeat(1_000)), "the last"]
    );
    assert_eq!((cut.texts, cut.events.len()), (1, 0));
}

#[test]
fn what_has_room_stays_as_it_is() {
    let long = "ü".repeat(9_000);
    let mut evidence = saying(&["short", &long]);
    let whole = evidence.clone();
    assert_eq!(trim(&mut evidence, 100_000).problem(), None);
    assert_eq!(evidence, whole);
}
