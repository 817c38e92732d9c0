//! The line of the program that led to an exception, as its traceback quotes it.

use std::collections::HashMap;

use crate::model::{Event, EventPayload, Thread, ThreadId};
use crate::waits::own_frame;

/// Notes it with each exception whose stack has it.
pub(super) fn quote(timeline: &mut [Event], threads: &[Thread]) {
    let mut by_place: HashMap<(&str, &ThreadId), &Thread> = HashMap::new();
    for thread in threads {
        by_place.entry((thread.artifact.as_str(), &thread.id)).or_insert(thread);
    }
    for event in timeline {
        let EventPayload::PythonException(exception) = &mut event.payload else {
            continue;
        };
        let stack = exception
            .thread
            .as_ref()
            .and_then(|id| by_place.get(&(event.artifact.as_str(), id)));
        let own = stack.and_then(|thread| thread.frames.get(own_frame(thread)?));
        exception.source = own.and_then(|frame| frame.source.clone());
    }
}
