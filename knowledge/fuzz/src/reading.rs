//! What must hold of every reading, whatever the input.

use serde_json::Map;
use whycrash_evidence::model::{Event, Evidence, Place};
use whycrash_evidence::readers::Lines;
use whycrash_evidence::{Artifact, Limits, Reading, judge, merge, signature, title};

/// Checks counts against the limits, the form of problems, places, the document's way through JSON, and what is made
/// of the evidence after reading.
pub fn check(reading: Reading, stored_bytes: usize, limits: &Limits) {
    check_problems(&reading, stored_bytes);
    let evidence = reading.evidence;
    // A timeline of one artifact may have one event more for each device and rank.
    assert!(
        evidence.timeline.len() <= limits.events + 128,
        "events beyond the limit"
    );
    assert!(
        evidence.threads.len() <= limits.threads + 128,
        "threads beyond the limit"
    );
    for thread in &evidence.threads {
        assert!(thread.frames.len() <= limits.frames, "frames beyond the limit");
    }
    for (number, event) in evidence.timeline.iter().enumerate() {
        assert_eq!(event.event, number, "the timeline is numbered by place");
        assert!(event.echo_of.is_none_or(|of| of < evidence.timeline.len()));
        check_bytes(event.at.as_ref(), stored_bytes);
    }
    check_json(&evidence);
    let mut merged = merge(vec![evidence], Map::new());
    merged.collectives = judge(&merged.recorders, &merged.communicators);
    for (number, event) in merged.timeline.iter().enumerate() {
        assert_eq!(event.event, number, "the merged timeline is numbered by place");
        let Some(of) = event.echo_of else { continue };
        let origin = merged.timeline.get(of).expect("an echo's origin is there");
        assert_eq!(origin.echo_of, None, "event {number} follows from what follows from others");
    }
    assert!(!title(&merged).is_empty());
    let signature = signature(&merged);
    assert_eq!(signature.key.len(), if signature.parts.is_empty() { 0 } else { 16 });
}

/// Checks that every line which is cited exists.
pub fn check_text(reading: &Reading, artifact: &Artifact, limits: &Limits) {
    let Ok(lines) = Lines::open(artifact, limits) else {
        return;
    };
    let count = lines.count();
    let events = reading.evidence.timeline.iter().map(|event: &Event| &event.at);
    let frames = reading.evidence.threads.iter().flat_map(|thread| &thread.frames);
    for place in events.chain(frames.map(|frame| &frame.at)).flatten() {
        if let Place::Line([first, last]) = place {
            assert!(
                1 <= *first && first <= last && *last <= count,
                "lines {first} to {last} of {count}"
            );
        }
    }
    let found = lines.range(1, count.min(50)).expect("the file is there");
    assert_eq!(
        found.len() as u64,
        count.min(50),
        "every line that is counted can be had"
    );
}

fn check_problems(reading: &Reading, stored_bytes: usize) {
    for problem in &reading.problems {
        let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(
            !problem.code.is_empty() && problem.code.chars().all(kebab),
            "{problem:?}"
        );
        assert!(!problem.message.is_empty(), "{problem:?}");
        assert!(
            problem.message.len() < 4096,
            "a message to be read has a length to be read"
        );
        check_bytes(problem.at.as_ref(), stored_bytes);
    }
    assert!(reading.problems.len() < 1000, "problems are said once, not once a byte");
}

fn check_bytes(place: Option<&Place>, stored_bytes: usize) {
    if let Some(Place::Bytes([start, end])) = place {
        assert!(start <= end && *end <= stored_bytes as u64, "bytes {start} to {end}");
    }
}

/// Evidence is stored as JSON and read again.
fn check_json(evidence: &Evidence) {
    let text = serde_json::to_string(evidence).expect("evidence has a JSON form");
    let again: Evidence = serde_json::from_str(&text).expect("its own JSON form is read");
    let text_again = serde_json::to_string(&again).expect("evidence has a JSON form");
    assert_eq!(text, text_again, "the JSON form loses nothing");
}
