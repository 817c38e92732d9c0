//! A job that made no progress, as the collector found it: what each process waited in, and whom the others waited for.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::model::{Event, EventPayload, Hang, ThreadId};

/// Processes that are looked at, and frames of each.
const PROCESSES: usize = 4096;
const FRAMES: usize = 64;
/// A job that fails so many seconds after it went on did not fail for its standing still.
const RELATED_S: i64 = 30;

/// Parts of the names of code in which ranks wait for each other.
const COLLECTIVE_FILES: [&str; 2] = ["torch/distributed/", "horovod/"];
const COLLECTIVE_FUNCTIONS: [&str; 4] = ["gloo::", "c10d::", "nccl", "rccl"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stall {
    at: Option<String>,
    until: Option<String>,
    idle_s: Option<u64>,
    processes: Vec<Process>,
}

/// A process of the job.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Process {
    pid: u32,
    rank: Option<u32>,
    leads: bool,
    /// As in `/proc/PID/stat`.
    state: Option<String>,
    call: Option<String>,
    /// Of its main thread, innermost first.
    frames: Vec<Frame>,
    /// Threads that wait for the interpreter's lock, and where the one is that has it.
    lock_waiters: u32,
    lock_holder: Option<Holder>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Holder {
    thread: Option<u32>,
    frame: Frame,
    /// The native function that was called from there.
    native: Option<Frame>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Frame {
    kind: String,
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
}

/// The standstill, where there was one.
pub fn event(context: &Map<String, Value>) -> Option<Event> {
    let mut stall = Stall::deserialize(context.get("stall")?).ok()?;
    stall.processes.truncate(PROCESSES);
    for process in &mut stall.processes {
        process.frames.truncate(FRAMES);
    }
    let ranks: Vec<&Process> = stall.processes.iter().filter(|process| process.leads).collect();
    let ranks = if ranks.is_empty() {
        Vec::from_iter(only(&stall.processes))
    } else {
        ranks
    };
    let (family, culprits) = culprits(&ranks);
    let culprit = culprits.first().copied().or_else(|| ranks.first().copied())?;
    let others: Vec<&Process> = ranks.iter().filter(|other| other.pid != culprit.pid).copied().collect();
    let mut hang = hang(family, &culprits, culprit, &others, stall.idle_s);
    hang.passed = stall.until.is_some();
    Some(Event {
        rank: culprit.rank,
        pid: Some(culprit.pid),
        survived: went_on(&stall, context),
        text: in_words(&hang, culprit, others.len()),
        time: stall.at,
        ..Event::new(EventPayload::Hang(hang))
    })
}

/// Of a job without ranks, the process that it is about: one that was stopped, or the first that runs Python.
fn only(processes: &[Process]) -> Option<&Process> {
    let stopped = processes.iter().find(|process| process.is_stopped());
    let runs_python = |process: &&Process| process.frames.iter().any(|frame| frame.kind == "python");
    stopped
        .or_else(|| processes.iter().find(runs_python))
        .or(processes.first())
}

/// How the processes differ, and those that differ from the others.
fn culprits<'p>(ranks: &[&'p Process]) -> (&'static str, Vec<&'p Process>) {
    let those = |is: &dyn Fn(&Process) -> bool| -> Vec<&'p Process> {
        ranks.iter().filter(|process| is(process)).copied().collect()
    };
    let stopped = those(&|process| process.is_stopped());
    if !stopped.is_empty() {
        return ("stopped", stopped);
    }
    let locked = those(&Process::is_locked);
    if !locked.is_empty() {
        return ("gil", locked);
    }
    if ranks.len() < 2 {
        return ("alone", Vec::new());
    }
    let elsewhere = those(&|process| !process.is_in_collective());
    if !elsewhere.is_empty() && elsewhere.len() < ranks.len() {
        return ("apart", elsewhere);
    }
    let mut counts: HashMap<Place<'_>, usize> = HashMap::new();
    for process in ranks {
        *counts.entry(process.place()).or_default() += 1;
    }
    let most = counts.values().copied().max().unwrap_or_default();
    let apart = those(&|process| counts.get(&process.place()).is_some_and(|count| *count < most));
    match apart.is_empty() {
        true => ("together", Vec::new()),
        false => ("apart", apart),
    }
}

fn hang(family: &str, culprits: &[&Process], culprit: &Process, others: &[&Process], idle_s: Option<u64>) -> Hang {
    let holder = culprit.lock_holder.as_ref().filter(|_| family == "gil");
    let frame = holder
        .map(|holder| holder.frame.clone())
        .or_else(|| culprit.innermost().cloned());
    let thread = holder.and_then(|holder| holder.thread).unwrap_or(culprit.pid);
    let native = holder.map(|holder| holder.native.as_ref().map_or_else(|| "native code".to_owned(), label));
    let frame = frame.unwrap_or_default();
    let waiting = others.iter().find(|other| other.is_in_collective()).or(others.first());
    Hang {
        family: family.to_owned(),
        idle_s,
        stood: stood(idle_s),
        ranks: culprits.iter().filter_map(|process| process.rank).collect(),
        rank: culprit.rank,
        function: frame.function,
        file: frame.file,
        line: frame.line,
        native,
        call: culprit.call.clone(),
        others_in: waiting.and_then(|other| other.innermost()?.function.clone()),
        collective: others.iter().any(|other| other.is_in_collective()),
        thread: Some(ThreadId::Os(thread)),
        passed: false,
        ..Hang::default()
    }
}

/// How long a job stood still. Whoever looks once knows that it does, and not since when.
fn stood(idle_s: Option<u64>) -> String {
    match idle_s {
        Some(1) => "For 1 second the job made no progress".to_owned(),
        Some(seconds) => format!("For {seconds} seconds the job made no progress"),
        None => "When the job was looked at, it made no progress".to_owned(),
    }
}

impl Frame {
    fn is_of_collective(&self) -> bool {
        let has = |text: &Option<String>, parts: &[&str]| {
            text.as_deref()
                .is_some_and(|text| parts.iter().any(|part| text.contains(part)))
        };
        has(&self.file, &COLLECTIVE_FILES) || self.kind == "native" && has(&self.function, &COLLECTIVE_FUNCTIONS)
    }
}

/// What tells two places apart that processes wait in.
type Place<'a> = (Option<&'a str>, Option<&'a str>, Option<u32>);

impl Process {
    fn is_stopped(&self) -> bool {
        self.state.as_deref() == Some("T")
    }

    /// Whether threads wait for the interpreter's lock, whose holder waits for something of its own and not for other
    /// ranks.
    fn is_locked(&self) -> bool {
        let holder = self.lock_holder.as_ref().filter(|_| self.lock_waiters > 0);
        holder.is_some_and(|holder| {
            !holder.frame.is_of_collective() && !holder.native.iter().any(Frame::is_of_collective)
        })
    }

    fn is_in_collective(&self) -> bool {
        self.frames.iter().any(Frame::is_of_collective)
    }

    /// Its innermost Python frame, or of what has none the innermost one with a name.
    fn innermost(&self) -> Option<&Frame> {
        let python = self.frames.iter().find(|frame| frame.kind == "python");
        python.or_else(|| self.frames.iter().find(|frame| frame.function.is_some()))
    }

    fn place(&self) -> Place<'_> {
        let innermost = self.innermost();
        (
            innermost.and_then(|frame| frame.function.as_deref()),
            innermost.and_then(|frame| frame.file.as_deref()),
            innermost.and_then(|frame| frame.line),
        )
    }
}

/// Whether the job ran on for long after it had stood still.
fn went_on(stall: &Stall, context: &Map<String, Value>) -> bool {
    let first = context.get("failures").and_then(|failures| failures.get(0)?.get("at"));
    let end = first.or_else(|| context.get("ended")).and_then(Value::as_str);
    let instant = |text: Option<&str>| text.and_then(|text| text.parse::<jiff::Timestamp>().ok());
    instant(stall.until.as_deref())
        .zip(instant(end))
        .is_some_and(|(until, end)| end.as_second().saturating_sub(until.as_second()) > RELATED_S)
}

fn in_words(hang: &Hang, culprit: &Process, others: usize) -> String {
    let who = match culprit.rank {
        Some(rank) => format!("rank {rank} (pid {})", culprit.pid),
        None => format!("pid {}", culprit.pid),
    };
    let place = match (&hang.function, &hang.file, hang.line) {
        (Some(function), file, line) => at(function, file.as_deref(), line),
        _ => hang.call.clone().unwrap_or_else(|| "an unknown place".to_owned()),
    };
    let native = hang.native.as_deref().unwrap_or("native code");
    let what = match hang.family.as_str() {
        "stopped" => format!("{who} was stopped by a signal, in {place}"),
        "gil" => {
            format!("a thread of {who} kept the interpreter's lock while it waited in {native}, called from {place}")
        }
        "together" => format!("all {} ranks waited in {place}", others + 1),
        _ => format!("{who} waited in {place}"),
    };
    let rest = match (&hang.others_in, hang.family.as_str()) {
        (Some(function), "stopped" | "gil" | "apart") if others > 0 => format!(", the others in {function}"),
        _ => String::new(),
    };
    match hang.idle_s {
        Some(seconds) => format!("no progress for {seconds} s: {what}{rest}"),
        None => format!("no progress: {what}{rest}"),
    }
}

/// `function (file:line)`.
fn at(function: &str, file: Option<&str>, line: Option<u32>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{function} ({file}:{line})"),
        _ => function.to_owned(),
    }
}

fn label(frame: &Frame) -> String {
    let function = frame.function.as_deref().unwrap_or("native code");
    at(function, frame.file.as_deref(), frame.line)
}
