//! What a report is about: one failure, and the stack that belongs to it.

use crate::Evidence;
use crate::model::{
    CollectiveVerdict, Crash, Event, EventPayload, Frame, FrameKind, NativeAbort, SnapshotOom, Thread, ThreadId,
};
use crate::signature::frames::{self, module_name, normalized_function, normalized_message};

/// The one failure a report is known by.
#[derive(Debug)]
pub(super) enum Subject<'a> {
    /// A fatal signal.
    Signal {
        signal: &'a str,
        thread: Option<&'a Thread>,
    },
    /// Native code that gave up on its own.
    Abort {
        abort: &'a NativeAbort,
        thread: Option<&'a Thread>,
    },
    /// Any other event; with the exception that carries it, where there is one.
    Event {
        event: &'a Event,
        carrier: Option<&'a Event>,
        thread: Option<&'a Thread>,
    },
    /// A request for GPU memory that only a memory snapshot tells of.
    Request {
        oom: &'a SnapshotOom,
        stack: Vec<Frame>,
        /// Where the snapshot does not say who asked: the stack of whoever holds most.
        of_holder: bool,
    },
    /// Ranks that did not make the same calls, as their flight recorders tell.
    Divergence(&'a CollectiveVerdict),
    /// Nothing but the way the process ended.
    Exit(&'a Crash),
    /// Not even that.
    Nothing,
}

/// Signals that a defect raises, not a person or a launcher.
const FAULTS: [&str; 7] = ["SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGTRAP", "SIGSYS"];

/// A request for GPU memory that failed, whoever tells of it.
const GPU_OOM: &str = "GPU out of memory";

/// Why that is what a report is about.
const REQUEST: &str = "the request for GPU memory that failed";

/// Words of a `RuntimeError`'s message that go into a key.
const MESSAGE_WORDS: usize = 8;

impl<'a> Subject<'a> {
    pub(super) fn of(evidence: &'a Evidence) -> Self {
        let failures = || {
            evidence
                .timeline
                .iter()
                .filter(|event| event.primary && !is_exit(event) && !event.payload.is_complaint())
        };
        // A test of the machine is what a report is about where nothing else is.
        let of_job = failures().find(|event| !matches!(event.payload, EventPayload::Diagnostic(_)));
        let first = of_job.or_else(|| failures().next());
        let fault = evidence.crash.as_ref().filter(|crash| {
            crash.signal.as_deref().is_some_and(|signal| FAULTS.contains(&signal))
                && !is_consequence(crash, first, evidence)
        });
        match (fault, first) {
            (Some(crash), _) => Self::fault(crash, evidence),
            // A timeout is how a divergence ends.
            (None, Some(event)) if !matches!(event.payload, EventPayload::Watchdog(_)) => Self::event(event, evidence),
            (None, Some(event)) => divergence(evidence).map_or_else(|| Self::event(event, evidence), Self::Divergence),
            (None, None) => divergence(evidence).map_or_else(|| Self::end(evidence), Self::Divergence),
        }
    }

    /// Where nothing failed that is known, the way the process ended; where it ended by itself, what it said last that
    /// something failed.
    fn end(evidence: &'a Evidence) -> Self {
        let crash = evidence.crash.as_ref();
        if let Some(crash) = crash.filter(|crash| crash.signal.is_some()) {
            return Self::Exit(crash);
        }
        let failed = crash.filter(|crash| crash.exit_code.is_some_and(|code| code != 0));
        let complaints = || evidence.timeline.iter().filter(|event| event.payload.is_complaint());
        let error = complaints().rfind(|event| event.primary);
        let told = error.or_else(|| complaints().next_back().filter(|_| failed.is_some()));
        let first = || {
            evidence
                .timeline
                .iter()
                .find(|event| event.primary && !is_success(event))
        };
        match (told, failed) {
            (Some(event), _) => Self::event(event, evidence),
            (None, Some(crash)) => Self::Exit(crash),
            (None, None) => first().map_or(Self::Nothing, |event| Self::event(event, evidence)),
        }
    }

    fn fault(crash: &'a Crash, evidence: &'a Evidence) -> Self {
        let thread = crashed_thread(crash, evidence);
        let signal = crash.signal.as_deref().unwrap_or_default();
        let abort = evidence.timeline.iter().find_map(|event| match &event.payload {
            EventPayload::NativeAbort(abort) if event.primary && abort.family != "torch-check" => Some(abort),
            _ => None,
        });
        match abort {
            Some(abort) if signal == "SIGABRT" => {
                let own = abort.thread.as_ref().and_then(|id| by_id(id, "", evidence));
                let native = thread.filter(|thread| thread.frames.iter().any(|frame| frame.kind == FrameKind::Native));
                Self::Abort {
                    abort,
                    thread: native.or(own).or(thread),
                }
            }
            _ => Self::Signal { signal, thread },
        }
    }

    fn event(event: &'a Event, evidence: &'a Evidence) -> Self {
        if let EventPayload::NativeAbort(abort) = &event.payload
            && abort.family != "torch-check"
        {
            let thread = abort
                .thread
                .as_ref()
                .and_then(|id| by_id(id, &event.artifact, evidence));
            return Self::Abort { abort, thread };
        }
        if let EventPayload::SnapshotOom(oom) = &event.payload {
            return Self::request(oom, &event.artifact, evidence);
        }
        let (event, carrier) = specific(uncaught_of_chain(event, evidence), evidence);
        let thread = match (&carrier.unwrap_or(event).payload, &event.payload) {
            (_, EventPayload::DataloaderWorker(_)) => uncaught_thread(&event.artifact, evidence),
            // A timer had all stacks printed: the main thread's is the last.
            (_, EventPayload::FatalPythonError(_)) => evidence
                .threads
                .iter()
                .rfind(|thread| thread.artifact == event.artifact && !thread.frames.is_empty()),
            (EventPayload::PythonException(exception), _) => exception
                .thread
                .as_ref()
                .and_then(|id| by_id(id, &event.artifact, evidence)),
            (_, EventPayload::Hang(hang)) => hang.thread.as_ref().and_then(|id| by_id(id, "", evidence)),
            (_, EventPayload::Sanitizer(report)) => report
                .stack
                .as_ref()
                .and_then(|id| by_id(id, &event.artifact, evidence)),
            _ => None,
        };
        Self::Event { event, carrier, thread }
    }

    fn request(oom: &'a SnapshotOom, artifact: &str, evidence: &'a Evidence) -> Self {
        let snapshot = evidence
            .memory_snapshots
            .iter()
            .find(|snapshot| snapshot.artifact == artifact && snapshot.device == oom.gpu);
        let asked = snapshot
            .and_then(|snapshot| snapshot.oom.as_ref())
            .map(|oom| &oom.frames);
        let held = snapshot
            .and_then(|snapshot| snapshot.clusters.first())
            .map(|largest| &largest.frames);
        let of_holder = asked.is_none_or(Vec::is_empty);
        let texts = if of_holder { held } else { asked };
        Self::Request {
            oom,
            stack: texts
                .into_iter()
                .flatten()
                .map(|text| frames::of_snapshot(text))
                .collect(),
            of_holder,
        }
    }

    /// The functions that go into the key.
    pub(super) fn frames(&self, count: usize) -> Vec<String> {
        if let Self::Divergence(verdict) = self {
            let functions = verdict.frames.iter().filter_map(|frame| frame.split(" (").next());
            return functions.map(normalized_function).take(count).collect();
        }
        match self {
            // The handler that notices a dead worker interrupts the parent anywhere: only who iterates tells something.
            Self::Event { event, .. } if matches!(event.payload, EventPayload::DataloaderWorker(_)) => {
                frames::own(self.stack(), count)
            }
            Self::Request { of_holder: true, .. } => {
                let holder = frames::meaningful(self.stack(), count).into_iter();
                holder.map(|part| format!("held by {part}")).collect()
            }
            _ => frames::meaningful(self.stack(), count),
        }
    }

    /// The stack that belongs to the failure; empty where there is none.
    pub(super) fn stack(&self) -> &[Frame] {
        match self {
            Self::Signal { thread, .. } | Self::Abort { thread, .. } | Self::Event { thread, .. } => {
                thread.map_or(&[], |thread| &thread.frames)
            }
            Self::Request { stack, .. } => stack,
            Self::Divergence(_) | Self::Exit(_) | Self::Nothing => &[],
        }
    }

    /// What failed, without anything that differs between two strikes of the same defect; none where nothing did.
    pub(super) fn failure(&self) -> Option<String> {
        Some(match self {
            Self::Signal { signal, .. } => (*signal).to_owned(),
            Self::Abort { abort, .. } => abort_part(abort),
            // The exception that carries it had three names so far, and a snapshot has none.
            Self::Event { event, .. }
                if matches!(
                    event.payload,
                    EventPayload::CudaOom(_) | EventPayload::DataloaderWorker(_)
                ) =>
            {
                event_part(event)
            }
            Self::Request { .. } => GPU_OOM.to_owned(),
            Self::Event { event, carrier, .. } => event_part(carrier.unwrap_or(event)),
            Self::Divergence(verdict) => format!("{} of {}", verdict.kind, verdict.operation),
            Self::Exit(crash) => match (&crash.signal, crash.exit_code) {
                (Some(signal), _) => signal.clone(),
                (None, Some(code)) => format!("exit code {code}"),
                (None, None) => "unknown end".to_owned(),
            },
            Self::Nothing => return None,
        })
    }

    /// Why this is what the report is about.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Signal { .. } => "the fatal signal",
            Self::Abort { .. } => "what the native code said when it gave up",
            Self::Request { of_holder: true, .. } => {
                "the request for GPU memory that failed; who asked is not recorded, so that whoever holds most stands for it"
            }
            Self::Request { .. } => REQUEST,
            Self::Event { event, .. } if matches!(event.payload, EventPayload::CudaOom(_)) => REQUEST,
            Self::Event { carrier: Some(_), .. } => "the type of the exception",
            Self::Event { event, .. } => match event.payload {
                EventPayload::PythonException(_) => "the type of the first exception that was not survived",
                EventPayload::Hang(_) => "the standstill of the job",
                _ => "the first failure of the report",
            },
            Self::Divergence(_) => "the first collective that does not match across ranks",
            Self::Exit(_) => "the way the process ended",
            Self::Nothing => "nothing in the report tells of a failure",
        }
    }
}

/// The first collective that did not match. One that merely did not complete may have been under way.
fn divergence(evidence: &Evidence) -> Option<&CollectiveVerdict> {
    let mut verdicts = evidence
        .collectives
        .iter()
        .flat_map(|collectives| &collectives.verdicts);
    verdicts.find(|verdict| verdict.kind != "not-completed")
}

fn is_exit(event: &Event) -> bool {
    matches!(event.payload, EventPayload::ProcessExit(_))
}

/// The end of a process that succeeded.
fn is_success(event: &Event) -> bool {
    matches!(&event.payload, EventPayload::ProcessExit(exit) if exit.signal.is_none() && exit.exit_code == Some(0))
}

/// True when the process only ended the way it did because of something else that is known: a peer's failure, or what
/// a watchdog or CUDA reported before it was aborted.
fn is_consequence(crash: &Crash, first: Option<&Event>, evidence: &Evidence) -> bool {
    let aborted = crash.signal.as_deref() == Some("SIGABRT");
    let reported = first.is_some_and(|first| {
        matches!(
            first.payload,
            EventPayload::Watchdog(_)
                | EventPayload::NcclError(_)
                | EventPayload::CudaError(_)
                | EventPayload::DeviceAssert(_)
                | EventPayload::GpuException(_)
        )
    });
    let mut tellers = evidence
        .timeline
        .iter()
        .filter(|event| event.artifact == crash.artifact && event.at.is_some() && event.at == crash.at);
    let of_a_peer = tellers.any(|event| {
        let root = event.echo_of.and_then(|of| evidence.timeline.get(of));
        root.is_some_and(|root| root.rank != event.rank || root.pid != event.pid)
    });
    aborted && reported || of_a_peer
}

fn crashed_thread<'a>(crash: &Crash, evidence: &'a Evidence) -> Option<&'a Thread> {
    let named = crash
        .thread
        .as_ref()
        .and_then(|id| by_id(id, &crash.artifact, evidence));
    named.filter(|thread| !thread.frames.is_empty()).or_else(|| {
        evidence
            .threads
            .iter()
            .find(|thread| thread.crashed && !thread.frames.is_empty())
    })
}

/// People know a chain of exceptions by the one that nobody caught, which is printed last.
fn uncaught_of_chain<'a>(event: &'a Event, evidence: &'a Evidence) -> &'a Event {
    let linked = |event: &Event| {
        matches!(&event.payload, EventPayload::PythonException(exception)
            if matches!(exception.relation.as_deref(), Some("cause" | "context")))
    };
    if !linked(event) || !matches!(specific(event, evidence).0.payload, EventPayload::PythonException(_)) {
        return event;
    }
    let mut consequences = evidence
        .timeline
        .iter()
        .filter(|later| later.echo_of == Some(event.event) && later.artifact == event.artifact && !linked(later));
    consequences
        .rfind(|later| matches!(later.payload, EventPayload::PythonException(_)))
        .unwrap_or(event)
}

fn uncaught_thread<'a>(artifact: &str, evidence: &'a Evidence) -> Option<&'a Thread> {
    evidence
        .threads
        .iter()
        .find(|thread| thread.crashed && thread.artifact == artifact)
}

fn by_id<'a>(id: &ThreadId, artifact: &str, evidence: &'a Evidence) -> Option<&'a Thread> {
    evidence
        .threads
        .iter()
        .find(|thread| thread.id == *id && (artifact.is_empty() || thread.artifact == artifact))
}

/// A typed event and the exception that carries it stand in the same lines: both together are the failure.
fn specific<'a>(event: &'a Event, evidence: &'a Evidence) -> (&'a Event, Option<&'a Event>) {
    let lines = |event: &Event| match event.at {
        Some(crate::model::Place::Line(lines)) => Some(lines),
        _ => None,
    };
    let overlap = |other: &&Event| {
        other.artifact == event.artifact
            && other.primary
            && other.event != event.event
            && lines(other)
                .zip(lines(event))
                .is_some_and(|(a, b)| a[0] <= b[1] && b[0] <= a[1])
    };
    let mut same_lines = evidence.timeline.iter().filter(overlap);
    if matches!(event.payload, EventPayload::PythonException(_)) {
        let typed = same_lines.find(|other| !matches!(other.payload, EventPayload::PythonException(_)));
        return typed.map_or((event, None), |typed| (typed, Some(event)));
    }
    (
        event,
        same_lines.find(|other| matches!(other.payload, EventPayload::PythonException(_))),
    )
}

fn abort_part(abort: &NativeAbort) -> String {
    match (&abort.exception, abort.family.as_str()) {
        (Some(exception), _) => exception.clone(),
        (None, "rust-panic") => format!("panic: {}", normalized_message(&abort.message)),
        (None, "assertion") => format!("assertion {}", abort.message),
        (None, _) => normalized_message(&abort.message),
    }
}

fn event_part(event: &Event) -> String {
    match &event.payload {
        // Errors that torch raises in C++ all have this type, and their stack ends where Python called it: what tells
        // them apart is how their message begins.
        EventPayload::PythonException(exception) if exception.exception == "RuntimeError" => {
            let message = normalized_message(&exception.message);
            let start: Vec<&str> = message.split_whitespace().take(MESSAGE_WORDS).collect();
            format!("RuntimeError: {}", start.join(" "))
        }
        EventPayload::PythonException(exception) => exception.exception.clone(),
        EventPayload::FatalPythonError(error) if error.error.starts_with("Timeout") => "hang".to_owned(),
        EventPayload::Hang(hang) => format!("hang {}", hang.family),
        EventPayload::FatalPythonError(error) => error.signal.clone().unwrap_or_else(|| error.error.clone()),
        EventPayload::CudaOom(_) => GPU_OOM.to_owned(),
        EventPayload::HostOom(oom) => format!("{} out of memory", oom.allocator),
        EventPayload::DataloaderWorker(worker) => {
            format!("DataLoader worker {}", worker.signal.as_deref().unwrap_or("exited"))
        }
        EventPayload::DeviceAssert(assert) => format!("device assert {} in {}", assert.expression, assert.function),
        EventPayload::CudaError(error) => error.name.clone().unwrap_or_else(|| error.message.clone()),
        EventPayload::GpuException(exception) => format!(
            "{} {}",
            exception.exception,
            exception.kernel.as_deref().unwrap_or_default()
        )
        .trim_end()
        .to_owned(),
        EventPayload::NcclError(error) => error
            .result
            .clone()
            .unwrap_or_else(|| normalized_message(&error.message)),
        EventPayload::Watchdog(watchdog) => format!(
            "watchdog {} {}",
            watchdog.family,
            watchdog.operation.as_deref().unwrap_or_default()
        )
        .trim_end()
        .to_owned(),
        EventPayload::CollectiveMismatch(mismatch) => format!("collective mismatch {}", mismatch.family),
        EventPayload::Rendezvous(rendezvous) => format!("rendezvous {}", rendezvous.operation),
        EventPayload::Autograd(autograd) => format!("autograd {}", autograd.family),
        EventPayload::Xid(xid) => format!("{} {}", if xid.nvswitch { "SXid" } else { "Xid" }, xid.code),
        EventPayload::Kernel(kernel) => {
            let object = kernel.object.as_deref().map(module_name).unwrap_or_default();
            format!("kernel {} {object}", kernel.family).trim_end().to_owned()
        }
        EventPayload::Diagnostic(check) => format!("{} test {}", check.tool, check.test),
        EventPayload::Sanitizer(report) if report.tool == "compute-sanitizer" => {
            let function = report.function.as_deref().map(normalized_function).unwrap_or_default();
            format!("{} {} {function}", report.tool, report.error)
                .trim_end()
                .to_owned()
        }
        EventPayload::Sanitizer(report) => format!("{} {}", report.tool, report.error),
        EventPayload::ElasticFailure(failure) => failure
            .signal
            .clone()
            .unwrap_or_else(|| normalized_message(&failure.message)),
        _ => normalized_message(&event.text),
    }
}
