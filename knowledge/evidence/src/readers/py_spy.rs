//! `py-spy dump --json`: the stacks of a process that hangs, also as the collector writes them, which knows more of each
//! thread. (The text form is read with the other texts.)

use serde::Deserialize;

use super::{Input, Reading, json};
use crate::model::{Activity, Awaited, Frame, FrameKind, Thread, ThreadId};
use crate::{Limits, Problem};

#[derive(Deserialize)]
struct DumpedThread {
    pid: Option<u32>,
    os_thread_id: Option<u32>,
    thread_id: Option<u64>,
    thread_name: Option<String>,
    active: Option<bool>,
    /// The system call, what it is about, and what the thread waits for: of the collector.
    call: Option<String>,
    file: Option<String>,
    awaits: Option<Awaited>,
    #[serde(default)]
    owns_gil: bool,
    #[serde(default)]
    frames: Vec<DumpedFrame>,
}

#[derive(Deserialize)]
struct DumpedFrame {
    name: Option<String>,
    filename: Option<String>,
    module: Option<String>,
    line: Option<u32>,
    /// The line's text: of the collector.
    source: Option<String>,
}

/// True for text that starts like such a dump.
pub fn is_dump(head: &[u8]) -> bool {
    head.trim_ascii_start().starts_with(b"[") && memchr::memmem::find(head, b"\"owns_gil\"").is_some()
}

/// Reads a dump. Its frames have no lines of their own, because they stand in JSON.
pub fn read(input: &Input, limits: &Limits) -> Reading {
    let threads: Vec<DumpedThread> = match json::read(input, limits) {
        Ok(threads) => threads,
        Err(problem) => return Reading::problem(problem),
    };
    let mut reading = Reading::default();
    if threads.len() > limits.threads {
        let message = format!(
            "only the first {} of {} threads were read",
            limits.threads,
            threads.len()
        );
        reading.problems.push(Problem::new("limit-threads", message));
    }
    reading.evidence.threads = threads
        .into_iter()
        .take(limits.threads)
        .map(|thread| named_thread(thread, input.name(), limits))
        .collect();
    reading
}

fn named_thread(thread: DumpedThread, artifact: &str, limits: &Limits) -> Thread {
    let omitted = thread.frames.len().saturating_sub(limits.frames) as u64;
    let handle = || ThreadId::Label(format!("{:#x}", thread.thread_id.unwrap_or_default()));
    Thread {
        id: thread.os_thread_id.map_or_else(handle, ThreadId::Os),
        name: thread.thread_name,
        rank: None,
        pid: thread.pid,
        crashed: false,
        artifact: artifact.to_owned(),
        frames: thread.frames.into_iter().take(limits.frames).map(named_frame).collect(),
        frames_omitted: (omitted > 0).then_some(omitted),
        holds_gil: thread.owns_gil,
        activity: Some(Activity {
            running: thread.active,
            call: thread.call,
            file: thread.file,
            awaits: thread.awaits,
        })
        .filter(|activity| *activity != Activity::default()),
    }
}

/// A frame with a module is native (`--native`); its "file" is then the library.
fn named_frame(frame: DumpedFrame) -> Frame {
    let kind = if frame.module.is_some() {
        FrameKind::Native
    } else {
        FrameKind::Python
    };
    Frame {
        kind,
        function: frame.name,
        file: frame.filename,
        module: frame.module,
        line: frame.line.filter(|line| *line > 0),
        source: frame.source,
        ..Frame::default()
    }
}
