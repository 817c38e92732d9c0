//! Things that span lines: tracebacks, dumps, reports.

mod reports;
mod signals;
mod stacks;
mod survived;
mod tracebacks;

use whycrash_evidence::Evidence;
use whycrash_evidence::model::Thread;

use crate::support::evidence_of;

fn evidence(text: &str) -> Evidence {
    evidence_of("train.log", text)
}

/// The functions of a stack, innermost first.
fn functions(thread: &Thread) -> Vec<&str> {
    thread
        .frames
        .iter()
        .map(|frame| frame.function.as_deref().unwrap_or("?"))
        .collect()
}
