//! The loader's own troubles: shared memory, file descriptors, CUDA in a forked worker, the pinning thread.

use whycrash_plugin::facts::{PythonException, SharedMemory};
use whycrash_plugin::{Citation, Diagnosis, Finding, Report, Told, cite};

use crate::ended;

/// What an exception that ended the process says, the cause it stands for, and why.
const WORDS: [(&str, &str, &str); 5] = [
    (
        "Cannot re-initialize CUDA in forked subprocess",
        "dl-fork-after-cuda",
        "A worker was forked from a process that had already used CUDA, and used CUDA itself: a context does not survive a fork",
    ),
    (
        "Pin memory thread exited unexpectedly",
        "dl-pin-thread-died",
        "The thread that copies batches to pinned memory ended; what ended it stands earlier in the log, or was never printed",
    ),
    (
        "Too many open files",
        "dl-fd-exhausted",
        "The process has as many files open as it may: every tensor that a worker shares by file descriptor keeps one open",
    ),
    (
        "unable to allocate shared memory(shm)",
        "dl-shm-bus-error",
        "A batch could not be put into shared memory: workers hand their batches over in /dev/shm, which is full",
    ),
    (
        "received 0 items of ancdata",
        "dl-fd-exhausted",
        "A file descriptor could not be received from a worker, because the process has as many files open as it may",
    ),
];

pub fn rule(report: &Report) -> Option<Diagnosis> {
    exception(report).or_else(|| shared_memory(report))
}

fn exception(report: &Report) -> Option<Diagnosis> {
    let exceptions: Vec<Told<PythonException>> = report.told();
    let (told, (words, cause, why)) = exceptions
        .iter()
        .filter(|told| ended(&told.event) && !is_unrelated(&told.detail))
        .find_map(|told| {
            Some((
                told,
                WORDS.iter().find(|(words, ..)| told.detail.message.contains(words))?,
            ))
        })?;
    let finding = Finding::new(cause, 0.93).because(format!("{why}."));
    Some(finding.cite(said(report, told, words)).into())
}

/// The line of the message itself, which in a chain of tracebacks is not the event's first one.
fn said(report: &Report, told: &Told<PythonException>, words: &str) -> Citation {
    let lines = report.lines_of(&told.event);
    let line = lines.iter().find(|line| line.text.contains(words));
    line.map_or_else(|| report.cite(&told.event), cite::line)
}

/// Too many open files can be anybody's, and is the loader's only where it says so.
fn is_unrelated(exception: &PythonException) -> bool {
    let of_loader = ["workers", "shared memory object"]
        .iter()
        .any(|words| exception.message.contains(words));
    exception.message.contains("Too many open files") && !of_loader
}

/// Shared memory that could not be had, other than by a worker's bus error.
fn shared_memory(report: &Report) -> Option<Diagnosis> {
    let troubles: Vec<Told<SharedMemory>> = report.told();
    // torch's own object, so the descriptors are those of tensors.
    let exhausted = troubles.iter().find(|told| {
        let trouble = &told.detail;
        ended(&told.event) && trouble.operation == "descriptors" && trouble.object.is_some()
    });
    if let Some(told) = exhausted {
        let finding = Finding::new("dl-fd-exhausted", 0.9).because(
            "A tensor could not be shared between processes, because the process has as many files open as it may.",
        );
        return Some(finding.cite(report.cite(&told.event)).into());
    }
    let told = troubles
        .iter()
        .find(|told| ended(&told.event) && is_full(&told.detail))?;
    let object = told
        .detail
        .object
        .as_deref()
        .map_or_else(String::new, |name| format!(" ({name})"));
    let reason = told.detail.reason.as_deref().unwrap_or("no space left");
    Some(
        Finding::new("dl-shm-bus-error", 0.9)
            .because(format!(
                "A batch could not be put into shared memory{object}: {reason}. Workers hand their batches over in /dev/shm, which is full."
            ))
            .cite(report.cite(&told.event))
            .into(),
    )
}

fn is_full(trouble: &SharedMemory) -> bool {
    let full = trouble
        .reason
        .as_deref()
        .is_some_and(|reason| reason.contains("No space left") || reason.contains("(28)"));
    trouble.operation == "bus-error" || full
}
