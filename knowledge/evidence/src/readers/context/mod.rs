//! What the collector wrote about the process and the machine (`context.json`).

mod failures;
mod stall;
mod xids;

use serde_json::{Map, Value};

use self::failures::Failure;
use super::{Input, Reading, json};
use crate::Limits;
use crate::model::{Crash, Event, EventPayload, ProcessExit};

/// Reads the collector's context: all of it becomes [`crate::Evidence::context`], each process that failed, a standstill
/// of the job and what the driver told of become events, and the first failure, or else its `exit`, says how the job
/// ended.
pub fn read(input: &Input, limits: &Limits) -> Reading {
    let context = match json::read::<Map<String, Value>>(input, limits) {
        Ok(context) => context,
        Err(problem) => return Reading::problem(problem),
    };
    let mut reading = Reading::default();
    let failures = failures::all(&context);
    let exit = context.get("exit").and_then(Value::as_object).map(exit);
    let first = failures::first(&failures, exit.as_ref(), &context);
    let of_job = || {
        exit.as_ref()
            .filter(|exit| is_failure(exit))
            .map(|exit| crash(exit, &context))
    };
    reading.evidence.crash = first
        .and_then(|index| failures.get(index))
        .map(Failure::crash)
        .or_else(of_job);
    let failed = failures.iter().enumerate();
    let failed = failed.map(|(index, failure)| failure.event(Some(index) == first));
    let mut timeline: Vec<Event> = stall::event(&context)
        .into_iter()
        .chain(xids::events(&context))
        .chain(failed)
        .collect();
    timeline.extend(exit.map(|exit| event(exit, &context)));
    for event in &mut timeline {
        input.name().clone_into(&mut event.artifact);
    }
    if let Some(crash) = &mut reading.evidence.crash {
        input.name().clone_into(&mut crash.artifact);
    }
    reading.evidence.timeline = timeline;
    reading.evidence.context = context;
    reading
}

fn exit(exit: &Map<String, Value>) -> ProcessExit {
    let code = exit.get("code").and_then(Value::as_i64);
    ProcessExit {
        signal: exit.get("signal").and_then(Value::as_str).map(str::to_owned),
        exit_code: code.and_then(|code| i32::try_from(code).ok()),
        ..ProcessExit::default()
    }
}

fn is_failure(exit: &ProcessExit) -> bool {
    exit.signal.is_some() || exit.exit_code.is_some_and(|code| code != 0)
}

fn number(context: &Map<String, Value>, name: &str) -> Option<u32> {
    context
        .get(name)
        .and_then(Value::as_u64)
        .and_then(|value| u32::try_from(value).ok())
}

fn crash(exit: &ProcessExit, context: &Map<String, Value>) -> Crash {
    let argv = context.get("command").and_then(Value::as_array);
    let program = argv.and_then(|argv| argv.first()).and_then(Value::as_str);
    Crash {
        signal: exit.signal.clone(),
        exit_code: exit.exit_code,
        pid: number(context, "pid"),
        rank: number(context, "rank"),
        process: program.map(|path| base(path).to_owned()),
        ..Crash::default()
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn event(exit: ProcessExit, context: &Map<String, Value>) -> Event {
    Event {
        time: context.get("ended").and_then(Value::as_str).map(str::to_owned),
        rank: number(context, "rank"),
        pid: number(context, "pid"),
        text: in_words("the process", &exit),
        ..Event::new(EventPayload::ProcessExit(exit))
    }
}

fn in_words(who: &str, exit: &ProcessExit) -> String {
    match (&exit.signal, exit.exit_code) {
        (Some(signal), _) => format!("{who} was killed by {signal}"),
        (None, Some(code)) => format!("{who} exited with code {code}"),
        (None, None) => format!("{who} ended"),
    }
}
