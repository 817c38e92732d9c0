//! The threads of a job that stands still: what each waits for, Python frames first, native ones folded.

use std::path::Path;

use whycrash_evidence::Evidence;
use whycrash_evidence::model::{AwaitedKind, Frame, FrameKind, Thread};
use whycrash_evidence::waits::{by_process, is_idle, is_own, label, own_frame, waiting};

use super::files::lines_of;
use super::frames;
use super::page::{Page, cut, style};
use crate::output::Clean;

/// Processes, threads of each, and Python frames of each thread that are shown; all of them are in the evidence.
const PROCESSES: usize = 8;
const THREADS: usize = 12;
const FRAMES: usize = 6;
/// Native frames shown of a thread without Python.
const NATIVE: usize = 4;
/// Columns in which the frame stands before its line of source.
const FRAME_COLUMNS: usize = 46;

/// The threads of every process that was looked at while it lived.
pub fn threads(evidence: &Evidence, width: usize) -> Clean {
    let mut page = Page::new(width);
    let looked_at = |thread: &&Thread| {
        thread
            .activity
            .as_ref()
            .is_some_and(|activity| activity.running.is_some())
    };
    let alive: Vec<Thread> = evidence.threads.iter().filter(looked_at).cloned().collect();
    let processes = by_process(&alive);
    let count = processes.len();
    // In the order of the evidence, which has the process that it is about first.
    let mut processes: Vec<_> = processes.into_iter().collect();
    let place = |pid: Option<u32>| alive.iter().position(|thread| thread.pid == pid);
    processes.sort_by_key(|((pid, _), _)| place(*pid));
    for ((pid, _), threads) in processes.into_iter().take(PROCESSES) {
        page.section("Threads");
        process(&mut page, pid, &threads);
    }
    if count > PROCESSES {
        page.line(0, style::faint(&format!("… {} more processes", count - PROCESSES)));
    }
    page.finish()
}

fn process(page: &mut Page, pid: Option<u32>, threads: &[&Thread]) {
    let who = pid.map_or_else(|| "the process".to_owned(), |pid| format!("process {pid}"));
    let rank = threads.iter().find_map(|thread| thread.rank);
    let rank = rank.map_or_else(String::new, |rank| format!(" (rank {rank})"));
    let running = threads.iter().filter(|thread| !is_idle(thread)).count();
    let state = match (threads.len(), running) {
        (1, 0) => "its only thread waits".to_owned(),
        (1, _) => "its only thread runs".to_owned(),
        (all, 0) => format!("all {all} threads wait, and none runs"),
        (all, running) => format!("{running} of {all} threads run"),
    };
    page.line(0, style::strong(&format!("{who}{rank}: {state}")));
    let (mut shown, libraries): (Vec<&Thread>, Vec<&Thread>) = threads
        .iter()
        .copied()
        .partition(|thread: &&Thread| own_frame(thread).is_some() || runs_python(thread));
    // Where nothing is the program's, the threads of libraries are all there is.
    if shown.is_empty() {
        shown = libraries.iter().copied().take(1).collect();
    }
    for shown in shown.iter().take(THREADS) {
        thread(page, shown);
    }
    let left = threads.len() - shown.len().min(THREADS);
    if left > 0 {
        page.line(
            2,
            style::faint(&format!("… {left} more threads, most of them of libraries")),
        );
    }
}

fn runs_python(thread: &Thread) -> bool {
    thread.frames.iter().any(|frame| frame.kind == FrameKind::Python)
}

fn thread(page: &mut Page, thread: &Thread) {
    let lock = if thread.holds_gil { ", holds the GIL" } else { "" };
    let head = format!("{} {}{lock}", label(thread), state(thread));
    page.line(2, cut(&head, page.room().saturating_sub(2)));
    // What is below the program's first function is the same on every stack.
    let last = thread.frames.iter().rposition(is_own).unwrap_or(usize::MAX);
    let python = thread
        .frames
        .iter()
        .take(last.saturating_add(1))
        .filter(|frame| frame.kind == FrameKind::Python);
    let native = thread.frames.iter().filter(|frame| frame.kind == FrameKind::Native);
    let first = thread.frames.iter().position(|frame| frame.kind == FrameKind::Python);
    for frame in python.clone().take(FRAMES) {
        one(page, frame);
    }
    let more = python.count().saturating_sub(FRAMES);
    if more > 0 {
        page.line(4, style::faint(&format!("… {more} more of Python")));
    }
    match first {
        // What the innermost Python frame called.
        Some(first) => fold(page, thread.frames.get(..first).unwrap_or_default(), native.count()),
        None => {
            for frame in thread.frames.iter().take(NATIVE) {
                one(page, frame);
            }
            let more = native.count().saturating_sub(NATIVE);
            if more > 0 {
                page.line(4, style::faint(&format!("… {more} more native frames")));
            }
        }
    }
}

/// What a thread does, in a few words.
fn state(thread: &Thread) -> String {
    let awaited = thread.activity.as_ref().and_then(|activity| activity.awaits.as_ref());
    let call = thread.activity.as_ref().and_then(|activity| activity.call.as_deref());
    let file = thread.activity.as_ref().and_then(|activity| activity.file.as_deref());
    let holder = awaited.and_then(|awaited| Some((awaited.kind, awaited.holder.as_ref()?)));
    match (waiting(thread), holder) {
        (_, Some((AwaitedKind::Thread, holder))) => format!("waits for the end of thread {holder}"),
        (Some(waiting), Some((_, holder))) => format!("waits for {} that thread {holder} has", waiting.what.words()),
        (Some(waiting), None) => match file.filter(|file| file.starts_with('/')) {
            Some(file) => format!("waits for {}: {file}", waiting.what.words()),
            None => format!("waits for {}", waiting.what.words()),
        },
        (None, _) if is_idle(thread) => match call {
            Some(call) => format!("waits in {call}"),
            None => "waits".to_owned(),
        },
        (None, _) => "runs".to_owned(),
    }
}

/// A frame, with its line of source where the file is on this machine.
fn one(page: &mut Page, frame: &Frame) {
    let label = frames::label(frame).replacen("(python ", "(", 1);
    let source = frame.source.clone().or_else(|| source(frame));
    let room = page.room().saturating_sub(4);
    let line = match source {
        Some(source) if !source.is_empty() => format!("{label:<FRAME_COLUMNS$}  {source}"),
        _ => label,
    };
    page.line(4, cut(&line, room));
}

fn source(frame: &Frame) -> Option<String> {
    let (file, line) = (frame.file.as_ref()?, u64::from(frame.line?));
    let lines = lines_of(Path::new(file), line, line);
    let (_, text) = lines.into_iter().find(|(number, _)| *number == line)?;
    Some(text.trim().to_owned())
}

/// Native frames in a line.
fn fold(page: &mut Page, inner: &[Frame], all: usize) {
    if all == 0 {
        return;
    }
    let innermost = inner.iter().find_map(|frame| frame.function.as_deref());
    let where_to = innermost.map_or_else(String::new, |name| format!(", innermost {name}"));
    let text = format!("{all} native frames{where_to}");
    page.line(4, style::faint(&cut(&text, page.room().saturating_sub(4))));
}
