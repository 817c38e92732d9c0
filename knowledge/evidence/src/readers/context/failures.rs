//! The processes of the job that failed, in order, and which of them the others followed.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{base, in_words};
use crate::model::{Crash, Event, EventPayload, ProcessExit};

/// Failures that are looked at; the collector tells of fewer.
const FAILURES: usize = 1024;

/// Signals that a defect raises.
const FAULTS: [&str; 7] = ["SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGTRAP", "SIGSYS"];

/// A process that failed, as the collector saw it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Failure {
    pid: Option<u32>,
    parent: Option<u32>,
    rank: Option<u32>,
    /// Which try of the job's launcher it belonged to.
    attempt: Option<u32>,
    /// Whether it is the rank's own process, and not one that this has started.
    leads: Option<bool>,
    command: Vec<String>,
    signal: Option<String>,
    code: Option<i32>,
    at: Option<String>,
}

/// All of them, in the order in which they failed.
pub fn all(context: &Map<String, Value>) -> Vec<Failure> {
    let told = context.get("failures").and_then(Value::as_array);
    let told = told.into_iter().flatten().take(FAILURES);
    told.filter_map(|failure| Failure::deserialize(failure).ok()).collect()
}

/// The failure that the job's end followed from; none where that is the job's own, or nobody can say.
///
/// Of a distributed job that is the first end of a rank in its last attempt, or what a signal ended within that rank
/// before. Of another it is a process that a defect ended, where the job itself did not die so.
pub fn first(failures: &[Failure], exit: Option<&ProcessExit>, context: &Map<String, Value>) -> Option<usize> {
    let last_attempt = failures.iter().filter_map(|failure| failure.attempt).max();
    let is_passed_on = |failure: &Failure| {
        failure
            .signal
            .as_deref()
            .is_some_and(|signal| was_sent(context, signal))
    };
    let is_rank = |failure: &&Failure| {
        failure.is_rank() && failure.attempt.is_none_or(|own| Some(own) == last_attempt) && !is_passed_on(failure)
    };
    if let Some(rank) = failures.iter().position(|failure| is_rank(&failure)) {
        let own = failures.get(rank)?;
        let within = |failure: &Failure| failure.rank == own.rank && failure.attempt == own.attempt;
        let before = failures.get(..rank)?;
        let fatal = before
            .iter()
            .position(|failure| within(failure) && failure.is_killed() && !is_passed_on(failure));
        return Some(fatal.unwrap_or(rank));
    }
    let job_faulted = exit.and_then(|exit| exit.signal.as_deref()).is_some_and(is_fault);
    let repeated = |failure: &Failure| {
        let code = exit.and_then(|exit| exit.exit_code);
        let signal = code.and_then(crate::readers::text::signal_of_exit);
        signal.is_some() && failure.signal.as_deref() == signal && failure.parent == super::number(context, "pid")
    };
    let faulted = || {
        failures
            .iter()
            .position(|failure| failure.signal.as_deref().is_some_and(is_fault))
    };
    let shells = || failures.iter().rposition(repeated);
    (!job_faulted).then(|| shells().or_else(faulted)).flatten()
}

/// Whether somebody sent this signal to the job as a whole: then its processes died of that.
fn was_sent(context: &Map<String, Value>, signal: &str) -> bool {
    let sent = context.get("signals_received").and_then(Value::as_array);
    sent.into_iter()
        .flatten()
        .any(|sent| sent.get("signal").and_then(Value::as_str) == Some(signal))
}

fn is_fault(signal: &str) -> bool {
    FAULTS.contains(&signal)
}

impl Failure {
    fn is_rank(&self) -> bool {
        self.leads.unwrap_or(self.rank.is_some())
    }

    /// A process that ends its helpers in order asks them to.
    fn is_killed(&self) -> bool {
        let signal = self.signal.as_deref();
        signal.is_some_and(|signal| is_fault(signal) || signal == "SIGKILL")
    }

    fn exit(&self, first: bool) -> ProcessExit {
        ProcessExit {
            signal: self.signal.clone(),
            exit_code: self.code,
            first,
            rank: self.rank.filter(|_| first),
        }
    }

    /// How the job ended, where this was the first failure.
    pub fn crash(&self) -> Crash {
        Crash {
            signal: self.signal.clone(),
            exit_code: self.code,
            pid: self.pid,
            rank: self.rank,
            process: self.command.first().map(|program| base(program).to_owned()),
            ..Crash::default()
        }
    }

    /// The end of the process.
    pub fn event(&self, first: bool) -> Event {
        let exit = self.exit(first);
        let pid = self.pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
        let who = match (self.rank, self.is_rank()) {
            (Some(rank), true) => format!("rank {rank}{pid}"),
            (Some(rank), false) => format!("a process{pid} of rank {rank}"),
            (None, _) => format!("a process{pid} of the job"),
        };
        let order = if first { ", before any other" } else { "" };
        Event {
            time: self.at.clone(),
            rank: self.rank,
            pid: self.pid,
            text: format!("{}{order}", in_words(&who, &exit)),
            ..Event::new(EventPayload::ProcessExit(exit))
        }
    }
}
