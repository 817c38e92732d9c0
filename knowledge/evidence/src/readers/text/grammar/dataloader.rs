//! `DataLoader` workers that died, and the shared memory they share batches through.

use super::Parts;
use crate::model::{DataloaderWorker, EventPayload, SharedMemory};
use crate::readers::text::line::Line;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, regex};

/// What the parent, or the worker's own signal handler, says about a worker.
pub const RULE: Rule = Rule {
    literals: &[
        "DataLoader worker (pid",
        "encountered in worker.",
        "Pin memory thread exited unexpectedly",
    ],
    read,
};

/// Shared memory and the descriptors that carry it.
pub const SHARED_MEMORY_RULE: Rule = Rule {
    literals: &[
        "unable to open shared memory object",
        "unable to mmap ",
        "unable to allocate shared memory",
        "unable to resize file",
        "unable to write to file",
        "received 0 items of ancdata",
        "Too many open files",
    ],
    read: read_shared_memory,
};

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() {
        return None;
    }
    let worker = by_parent(line.text).or_else(|| by_handler(line.text))?;
    sink.event(
        EventPayload::DataloaderWorker(worker),
        &line.origin,
        [line.number, line.number],
        line.text,
    );
    None
}

/// `DataLoader worker (pid 734) is killed by signal: Killed.`, `… exited unexpectedly with exit code 7. …`,
/// `DataLoader worker (pid(s) 734, 735) exited unexpectedly`.
fn by_parent(text: &str) -> Option<DataloaderWorker> {
    let parts = Parts::of(
        regex!(
            r"DataLoader worker \(pid(?:\(s\))? (?P<pid>\d+)(?:, \d+)*\) (?:is killed by signal: (?P<signal>[^.]+)\.|exited unexpectedly(?: with exit code (?P<code>-?\d+))?)"
        ),
        text,
    )?;
    Some(DataloaderWorker {
        pid: parts.number("pid"),
        signal: parts.text("signal"),
        exit_code: parts.number("code"),
        shared_memory: text.contains("out of shared memory"),
    })
}

/// `ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).`
fn by_handler(text: &str) -> Option<DataloaderWorker> {
    let parts = Parts::of(regex!(r"Unexpected (?P<signal>[\w -]+?) encountered in worker\."), text)?;
    let signal = match parts.text("signal")?.as_str() {
        "bus error" => "Bus error",
        "segmentation fault" => "Segmentation fault",
        "floating-point exception" => "Floating point exception",
        other => other,
    }
    .to_owned();
    Some(DataloaderWorker {
        signal: Some(signal),
        shared_memory: text.contains("shared memory"),
        ..DataloaderWorker::default()
    })
}

fn read_shared_memory(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() {
        return None;
    }
    let what = shared_memory(line.text)?;
    sink.event(
        EventPayload::SharedMemory(what),
        &line.origin,
        [line.number, line.number],
        line.text,
    );
    None
}

/// `unable to mmap 4096 bytes from file </torch_123_456_7>: Cannot allocate memory (12)` and its siblings.
fn shared_memory(text: &str) -> Option<SharedMemory> {
    if text.contains("received 0 items of ancdata") || text.contains("Too many open files") {
        let reason = Parts::of(
            regex!(r"(?P<reason>received 0 items of ancdata|Too many open files)"),
            text,
        )?;
        // torch names the object that it had no descriptor for; other files are anybody's.
        let object = Parts::of(regex!(r"shared memory object <(?P<object>[^>]*)>"), text);
        return Some(SharedMemory {
            operation: "descriptors".to_owned(),
            object: object.and_then(|parts| parts.text("object")),
            reason: reason.text("reason"),
            ..SharedMemory::default()
        });
    }
    let parts = Parts::of(
        regex!(
            r"unable to (?P<operation>open|mmap|resize|write|allocate)(?: to)?(?: (?P<bytes>\d+) bytes from)? (?:shared memory object|shared memory\(shm\) for file|file) <(?P<object>[^>]*)>(?: in [\w-]+ mode| to the right size)?(?:: (?P<reason>.+?)(?: \(\d+\))?$)?"
        ),
        text,
    )?;
    Some(SharedMemory {
        operation: parts.text("operation")?,
        object: parts.text("object"),
        bytes: parts.number("bytes"),
        reason: parts.text("reason"),
    })
}
