//! torchelastic's `error.json`: the Python exception of one worker, under `@record`.

use serde_json::{Map, Value};

use super::{Input, Reading, json, text};
use crate::model::{ElasticFailure, Event, EventPayload, Place, PythonException};
use crate::{Limits, Problem};

/// Reads an error file. The traceback in it is read like any other; its frames have no lines of their own, because
/// they stand in one line of JSON.
pub fn read(input: &Input, limits: &Limits) -> Reading {
    let members = match json::read::<Map<String, Value>>(input, limits) {
        Ok(members) => members,
        Err(problem) => return Reading::problem(problem),
    };
    let Some(message) = members.get("message") else {
        return Reading::problem(Problem::new("no-message", "the error file has no message"));
    };
    let outer = message
        .get("message")
        .and_then(Value::as_str)
        .or_else(|| message.as_str())
        .unwrap_or_default();
    let extra = message.get("extraInfo");
    let stack = extra
        .and_then(|extra| extra.get("py_callstack"))
        .and_then(Value::as_str);
    let stamp = extra
        .and_then(|extra| extra.get("timestamp"))
        .or_else(|| members.get("timestamp"));

    let mut reading = stack.map_or_else(Reading::default, |stack| text::read_str(input.name(), stack, limits));
    let has_exception = reading
        .evidence
        .timeline
        .iter()
        .any(|event| matches!(event.payload, EventPayload::PythonException(_)));
    if outer.is_empty() {
        let message = "the error file has no message: what is known of the failure is its stack, if there is one";
        reading.problems.push(Problem::new("no-message", message));
    } else if !has_exception {
        let (exception, message) = outer.split_once(": ").unwrap_or((outer, ""));
        let what = PythonException {
            exception: exception.to_owned(),
            message: message.to_owned(),
            ..PythonException::default()
        };
        reading.evidence.timeline.push(Event {
            text: outer.to_owned(),
            ..Event::new(EventPayload::PythonException(what))
        });
    }
    let failure = ElasticFailure {
        message: outer.to_owned(),
        exit_code: message
            .get("errorCode")
            .and_then(Value::as_i64)
            .and_then(|code| i32::try_from(code).ok()),
        ..ElasticFailure::default()
    };
    let text = if outer.is_empty() { "the worker failed" } else { outer };
    reading.evidence.timeline.push(Event {
        text: text.to_owned(),
        ..Event::new(EventPayload::ElasticFailure(failure))
    });
    let time = stamp.and_then(epoch);
    for (number, event) in reading.evidence.timeline.iter_mut().enumerate() {
        event.event = number;
        event.time.clone_from(&time);
        input.name().clone_into(&mut event.artifact);
        event.at = Some(Place::Line([1, 1]));
        event.last_at = None;
    }
    for frame in reading
        .evidence
        .threads
        .iter_mut()
        .flat_map(|thread| &mut thread.frames)
    {
        frame.at = Some(Place::Line([1, 1]));
    }
    reading
}

/// Seconds since 1970, as a number or as text.
fn epoch(stamp: &Value) -> Option<String> {
    let seconds = stamp.as_i64().or_else(|| stamp.as_str()?.parse().ok())?;
    Some(jiff::Timestamp::from_second(seconds).ok()?.to_string())
}
