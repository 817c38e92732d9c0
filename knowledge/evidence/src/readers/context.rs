//! What the collector wrote about the process and the machine (`context.json`).

use serde_json::{Map, Value};

use super::{Input, Reading, json};
use crate::Limits;
use crate::model::{Crash, Event, ProcessExit, What};

/// Reads the collector's context: all of it becomes [`crate::Evidence::context`], and its `exit` says how the process
/// ended.
pub fn read(input: &Input, limits: &Limits) -> Reading {
    let context = match json::read::<Map<String, Value>>(input, limits) {
        Ok(context) => context,
        Err(problem) => return Reading::problem(problem),
    };
    let mut reading = Reading::default();
    if let Some(exit) = context.get("exit").and_then(Value::as_object) {
        let exit = ProcessExit {
            signal: exit.get("signal").and_then(Value::as_str).map(str::to_owned),
            exit_code: exit
                .get("code")
                .and_then(Value::as_i64)
                .and_then(|code| i32::try_from(code).ok()),
        };
        if exit.signal.is_some() || exit.exit_code.is_some_and(|code| code != 0) {
            reading.evidence.crash = Some(crash(&exit, &context, input.name()));
        }
        reading.evidence.timeline.push(event(exit, &context, input.name()));
    }
    reading.evidence.context = context;
    reading
}

fn number(context: &Map<String, Value>, name: &str) -> Option<u32> {
    context
        .get(name)
        .and_then(Value::as_u64)
        .and_then(|value| u32::try_from(value).ok())
}

fn crash(exit: &ProcessExit, context: &Map<String, Value>, artifact: &str) -> Crash {
    let program = context
        .get("command")
        .and_then(Value::as_array)
        .and_then(|argv| argv.first())
        .and_then(Value::as_str);
    Crash {
        signal: exit.signal.clone(),
        exit_code: exit.exit_code,
        pid: number(context, "pid"),
        process: program.map(|path| path.rsplit('/').next().unwrap_or(path).to_owned()),
        artifact: artifact.to_owned(),
        ..Crash::default()
    }
}

fn event(exit: ProcessExit, context: &Map<String, Value>, artifact: &str) -> Event {
    let text = match (&exit.signal, exit.exit_code) {
        (Some(signal), _) => format!("the process was killed by {signal}"),
        (None, Some(code)) => format!("the process exited with code {code}"),
        (None, None) => "the process ended".to_owned(),
    };
    Event {
        time: context.get("ended").and_then(Value::as_str).map(str::to_owned),
        rank: number(context, "rank"),
        pid: number(context, "pid"),
        text,
        artifact: artifact.to_owned(),
        ..Event::new(What::ProcessExit(exit))
    }
}
