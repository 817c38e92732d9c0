//! A job that hung, whatever ended it then.

use crate::model::{Crash, Event, EventPayload};

/// Signals with which people and schedulers end what does not go on.
const POLITE: [&str; 4] = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"];

/// Where others timed out while they waited for a process, or nothing failed until somebody ended the job, the process
/// that hung is what the report is about: how it ended then is the launcher's doing. A standstill before any other
/// failure is told, and explains nothing.
pub(super) fn lead(timeline: &mut [Event]) -> Option<Crash> {
    let hang = timeline.iter().find(|event| is_hang(event) && event.primary)?;
    let number = hang.event;
    let crash = Crash {
        pid: hang.pid,
        rank: hang.rank,
        message: Some(hang.text.clone()),
        artifact: hang.artifact.clone(),
        ..Crash::default()
    };
    let timed_out = timeline
        .iter()
        .any(|event| event.echo_of == Some(number) && !is_exit(event));
    let failed = |event: &Event| event.primary && event.event != number && is_failure(event);
    if !timed_out && (passed(hang) || timeline.iter().any(failed)) {
        if let Some(hang) = timeline.get_mut(number) {
            hang.primary = false;
            hang.survived = true;
        }
        return None;
    }
    let ends: Vec<usize> = timeline
        .iter()
        .filter(|event| is_exit(event))
        .map(|event| event.event)
        .collect();
    for event in timeline {
        let follows = is_exit(event) || event.echo_of.is_some_and(|of| ends.contains(&of));
        if follows {
            event.primary = false;
            event.echo_of = Some(number);
        }
    }
    Some(crash)
}

fn is_hang(event: &Event) -> bool {
    matches!(event.payload, EventPayload::Hang(_))
}

fn passed(event: &Event) -> bool {
    matches!(&event.payload, EventPayload::Hang(hang) if hang.passed)
}

fn is_exit(event: &Event) -> bool {
    matches!(event.payload, EventPayload::ProcessExit(_))
}

/// Whether something failed by itself. What a launcher returns says only that something did.
fn is_failure(event: &Event) -> bool {
    match &event.payload {
        EventPayload::ProcessExit(exit) => {
            exit.first && !exit.signal.as_deref().is_some_and(|signal| POLITE.contains(&signal))
        }
        EventPayload::Hang(_) => false,
        _ => !event.survived,
    }
}
