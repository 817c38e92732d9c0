//! How the process ended, from the most direct witness.

use std::collections::{HashMap, HashSet};

use crate::model::{Crash, Event, EventPayload, Kernel, Thread, ThreadId};
use crate::{Evidence, Hex};

/// Core or minidump, then faulthandler and the kernel's line, then the collector's exit, then other text. Where the
/// collector saw which process failed first, only what may be of that one counts before the collector's own word.
pub(super) fn most_direct(crashes: Vec<Crash>, timeline: &[Event], threads: &[Thread]) -> Option<Crash> {
    let (cores, reported): (Vec<Crash>, Vec<Crash>) = crashes.into_iter().partition(is_from_dump);
    let first = First::of(timeline);
    let may_be_it = |crash: &Crash| first.as_ref().is_none_or(|first| first.may_be(crash));
    let best = cores.into_iter().find(may_be_it);
    let is_dump = |event: &Event| matches!(event.payload, EventPayload::FatalPythonError(_)) && !event.survived;
    let told = || timeline.iter().filter(|event| event.primary || is_dump(event));
    // An abort that only carries out what a watchdog decided is still how the process ended.
    let consequences = || {
        timeline
            .iter()
            .filter(|event| event.echo_of.is_some() && !event.survived)
    };
    let (stacks, threads) = (threads, &Threads::of(threads));
    let faulted = told().filter_map(|event| fault(event, threads)).find(may_be_it);
    let known = reported.first().cloned();
    let mut crash = best
        .or(faulted)
        .or_else(|| reported.into_iter().next())
        .or_else(|| told().find_map(|event| ended(event, threads)))
        .or_else(|| timeline.iter().find_map(|event| uncaught(event, threads)))
        .or_else(|| consequences().find_map(|event| ended(event, threads)))?;
    if let Some(words) = told().find_map(|event| last_words(event, &crash)) {
        let known = crash.message.as_deref().unwrap_or_default();
        // Memory may have only the beginning: the type of an exception whose text was not dumped.
        if words.len() > known.len() && words.starts_with(known) {
            crash.message = Some(words);
            crash.message_source = None;
        }
    }
    if let Some((known, true)) = known.map(|known| (known, first.is_some())) {
        crash.pid = crash.pid.or(known.pid);
        crash.rank = crash.rank.or(known.rank);
        crash.process = crash.process.or(known.process);
    }
    if crash.address.is_none() {
        add_kernel_address(&mut crash, timeline);
    }
    if crash.address.is_none() && crash.address_kind.is_none() {
        add_protection_fault(&mut crash, timeline, stacks);
    }
    Some(crash)
}

/// The process that the collector saw fail before any other.
struct First<'a> {
    pid: Option<u32>,
    signal: Option<&'a str>,
}

impl<'a> First<'a> {
    fn of(timeline: &'a [Event]) -> Option<Self> {
        timeline.iter().find_map(|event| match &event.payload {
            EventPayload::ProcessExit(exit) if exit.first => Some(Self {
                pid: event.pid,
                signal: exit.signal.as_deref(),
            }),
            _ => None,
        })
    }

    /// Whether somebody else's account may be of its end: by the process, or where that is not told by the signal.
    fn may_be(&self, crash: &Crash) -> bool {
        match self.pid.zip(crash.pid) {
            Some((own, other)) => own == other,
            None => crash.signal.as_deref() == self.signal,
        }
    }
}

/// The threads that crashed: all, and the first of each artifact.
struct Threads<'a> {
    crashed: HashSet<(&'a str, &'a ThreadId)>,
    first: HashMap<&'a str, &'a ThreadId>,
}

impl<'a> Threads<'a> {
    fn of(threads: &'a [Thread]) -> Self {
        let crashed = || threads.iter().filter(|thread| thread.crashed);
        let mut first = HashMap::new();
        for thread in crashed() {
            first.entry(thread.artifact.as_str()).or_insert(&thread.id);
        }
        Self {
            crashed: crashed().map(|thread| (thread.artifact.as_str(), &thread.id)).collect(),
            first,
        }
    }
}

/// Only a dump knows the signal's code, the fault's address or the thread.
fn is_from_dump(crash: &Crash) -> bool {
    crash.code.is_some() || crash.address.is_some() || crash.thread.is_some()
}

fn from_event(event: &Event) -> Crash {
    Crash {
        pid: event.pid,
        artifact: event.artifact.clone(),
        at: event.at.clone(),
        ..Crash::default()
    }
}

/// faulthandler's head line or the kernel's fault line.
fn fault(event: &Event, threads: &Threads) -> Option<Crash> {
    match &event.payload {
        EventPayload::FatalPythonError(error) if !error.error.starts_with("Timeout") => Some(Crash {
            signal: error.signal.clone().or_else(|| Some("SIGABRT".to_owned())),
            thread: threads.first.get(event.artifact.as_str()).map(|id| (*id).clone()),
            ..from_event(event)
        }),
        EventPayload::Kernel(kernel) if ["segfault", "trap"].contains(&kernel.family.as_str()) => Some(Crash {
            signal: Some(kernel_signal(kernel).to_owned()),
            ..with_kernel(from_event(event), kernel)
        }),
        _ => None,
    }
}

fn kernel_signal(kernel: &Kernel) -> &'static str {
    match kernel.message.as_str() {
        message if message.contains("divide error") => "SIGFPE",
        message if message.contains("invalid opcode") => "SIGILL",
        message if message.contains("int3") => "SIGTRAP",
        _ => "SIGSEGV",
    }
}

fn with_kernel(mut crash: Crash, kernel: &Kernel) -> Crash {
    crash.address = kernel.address;
    crash.access.clone_from(&kernel.access);
    crash.process.clone_from(&kernel.process);
    crash.address_kind = address_kind(kernel).map(str::to_owned);
    crash
}

/// What the kernel's line alone tells of an address: a protection fault has one that no pointer can have, and a write
/// right below the stack pointer finds memory unless the stack has come to its end.
fn address_kind(kernel: &Kernel) -> Option<&'static str> {
    const RED_ZONE: u64 = 128;
    if kernel.message.contains("general protection") {
        return Some("non-canonical");
    }
    let (Hex(address), Hex(sp)) = (kernel.address?, kernel.sp?);
    if is_refused_write(kernel, address) {
        return Some("read-only");
    }
    let is_push = address < sp && sp - address <= RED_ZONE && kernel.access.as_deref() == Some("write");
    is_push.then_some("stack-overflow")
}

/// Whether a page that is there refused a write of the program: bits 0 to 2 of the x86 error code, `error 7`. A page that
/// is only shared until somebody writes to it is copied, and never comes to a signal; pages of the kernel's own half of
/// the addresses are there as well.
fn is_refused_write(kernel: &Kernel, address: u64) -> bool {
    const USERS_HALF: u64 = 1 << 47;
    let error = kernel.message.split_once(" error ").map(|(_, behind)| behind);
    let code = error.and_then(|error| error.split([' ', ',']).next());
    code.and_then(|code| u64::from_str_radix(code, 16).ok()) == Some(0b111) && address < USERS_HALF
}

/// Any other text that says how it ended.
fn ended(event: &Event, threads: &Threads) -> Option<Crash> {
    let crash = from_event(event);
    match &event.payload {
        EventPayload::NativeAbort(abort) if abort.family != "torch-check" => Some(Crash {
            // A Rust panic ends its thread; only with panic=abort does it end the process.
            signal: (abort.family != "rust-panic").then(|| "SIGABRT".to_owned()),
            message: Some(abort.message.clone()),
            thread: abort.thread.clone(),
            ..crash
        }),
        EventPayload::ProcessExit(exit) if exit.signal.is_some() || exit.exit_code.is_some_and(|code| code != 0) => {
            Some(Crash {
                signal: exit.signal.clone(),
                exit_code: exit.exit_code,
                ..crash
            })
        }
        EventPayload::ElasticFailure(failure) => {
            let exit_code = failure.exit_code.filter(|code| *code > 0);
            Some(Crash {
                signal: failure.signal.clone(),
                exit_code,
                message: Some(failure.message.clone()),
                ..crash
            })
        }
        EventPayload::Kernel(kernel) if kernel.family == "oom-kill" => {
            let signal = Some("SIGKILL".to_owned());
            Some(Crash {
                signal,
                process: kernel.process.clone(),
                message: Some(kernel.message.clone()),
                ..crash
            })
        }
        EventPayload::Sanitizer(report) if ["asan", "msan"].contains(&report.tool.as_str()) => {
            let message = format!("{}: {}", report.tool, report.error);
            Some(Crash {
                message: Some(message),
                thread: report.stack.clone(),
                address: report.address,
                ..crash
            })
        }
        _ => uncaught(event, threads),
    }
}

/// An exception that nobody caught: its thread counts as crashed.
fn uncaught(event: &Event, threads: &Threads) -> Option<Crash> {
    let EventPayload::PythonException(exception) = &event.payload else {
        return None;
    };
    let thread = exception.thread.clone();
    let crashed = thread
        .as_ref()
        .is_some_and(|id| threads.crashed.contains(&(&event.artifact, id)));
    crashed.then(|| Crash {
        message: Some(event.text.clone()),
        thread,
        ..from_event(event)
    })
}

fn last_words(event: &Event, crash: &Crash) -> Option<String> {
    match &event.payload {
        EventPayload::NativeAbort(abort) if crash.signal.as_deref() == Some("SIGABRT") => {
            Some(match &abort.exception {
                Some(exception) => format!("{exception}: {}", abort.message),
                None => abort.message.clone(),
            })
        }
        _ => None,
    }
}

/// A handler that raised the signal again leaves no address in the dump; the kernel's line has it.
fn add_kernel_address(crash: &mut Crash, timeline: &[Event]) {
    let lines = timeline.iter().filter_map(|event| match &event.payload {
        EventPayload::Kernel(kernel) if kernel.address.is_some() => Some((event.pid, kernel)),
        _ => None,
    });
    let mut same: Vec<&Kernel> = lines
        .filter(|(pid, _)| pid.is_some() && *pid == crash.pid)
        .map(|(_, kernel)| kernel)
        .collect();
    if let (Some(kernel), true) = (same.pop(), same.is_empty()) {
        crash.address = kernel.address;
        crash.access = crash.access.take().or_else(|| kernel.access.clone());
    }
}

/// A protection fault has no address in any account; only the kernel says that it was one. Its line names the thread, and
/// others the process: they are of one crash where both tell the same instruction, and no other crash was at that.
fn add_protection_fault(crash: &mut Crash, timeline: &[Event], stacks: &[Thread]) {
    let is_its = |thread: &&Thread| Some(&thread.id) == crash.thread.as_ref() && thread.artifact == crash.artifact;
    let stack = stacks.iter().find(is_its);
    let Some(pc) = stack.and_then(|thread| thread.frames.first()?.address) else {
        return;
    };
    let mut deaths = timeline.iter().filter_map(|event| match &event.payload {
        EventPayload::Kernel(kernel) if kernel.ip == Some(pc) => Some(kernel),
        _ => None,
    });
    if let (Some(kernel), None, Some("SIGSEGV")) = (deaths.next(), deaths.next(), crash.signal.as_deref()) {
        crash.address_kind = address_kind(kernel)
            .filter(|kind| *kind == "non-canonical")
            .map(str::to_owned);
    }
}

/// A launcher's own traceback, which only repeats a worker's failure, is no crashed thread.
pub(super) fn silence_echoes(evidence: &mut Evidence) {
    let mut quiet = HashSet::new();
    for event in evidence.timeline.iter().filter(|event| event.echo_of.is_some()) {
        if let EventPayload::PythonException(exception) = &event.payload
            && exception.exception.ends_with("ChildFailedError")
        {
            quiet.extend(exception.thread.clone().map(|thread| (event.artifact.clone(), thread)));
        }
    }
    for thread in &mut evidence.threads {
        if quiet.contains(&(thread.artifact.clone(), thread.id.clone())) {
            thread.crashed = false;
        }
    }
}

/// Crashed threads first, that of the most direct witness before all.
pub(super) fn crashed_first(evidence: &mut Evidence) {
    let witness = evidence.crash.clone().unwrap_or_default();
    evidence.threads.sort_by_key(|thread| {
        let is_witness = thread.artifact == witness.artifact && Some(&thread.id) == witness.thread.as_ref();
        let of_another = witness.rank.zip(thread.rank).is_some_and(|(own, other)| own != other);
        (!(thread.crashed && is_witness), !thread.crashed, of_another)
    });
}
