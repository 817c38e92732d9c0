//! Frames of a stack, and the source they stand on.

use std::path::Path;

use whycrash_evidence::model::{Frame, FrameKind, Thread};

use super::files::lines_of;
use super::page::{Page, cut, style};
use super::paths;
use crate::output::Clean;

/// Lines of source shown before and after the one a frame stands on.
const AROUND: u64 = 2;

/// `function (file:line)`, or the best there is.
pub fn label(frame: &Frame) -> String {
    let place = match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("{}:{line}", paths::short(file)),
        (Some(file), None) => paths::short(file),
        (None, _) => in_module(frame),
    };
    let world = match frame.kind {
        FrameKind::Native => "",
        FrameKind::Python => "python ",
        FrameKind::Gpu => "gpu ",
    };
    let inlined = if frame.inline { ", inlined" } else { "" };
    match &frame.function {
        Some(function) => format!("{function} ({world}{place}{inlined})"),
        None => format!("{world}{place}"),
    }
}

/// `libfoo.so+0x12`, or the bare address.
fn in_module(frame: &Frame) -> String {
    let hex = |value: whycrash_evidence::Hex| {
        serde_json::to_value(value)
            .ok()
            .and_then(|v| v.as_str().map(str::to_owned))
    };
    match (&frame.module, frame.offset.and_then(hex), frame.address.and_then(hex)) {
        (Some(module), Some(offset), _) => format!("{}+{offset}", paths::base(module)),
        (Some(module), None, _) => paths::base(module).to_owned(),
        (None, _, Some(address)) => format!("at {address}, in no mapped file"),
        (None, _, None) => "unknown place".to_owned(),
    }
}

/// Index of the frame that a signal interrupted: those before it are the handler's.
fn interrupted(thread: &Thread) -> usize {
    thread.frames.iter().position(|frame| frame.signal).unwrap_or(0)
}

/// The frames of a thread from the one that a signal interrupted.
pub fn from_signal(thread: &Thread) -> &[Frame] {
    thread.frames.get(interrupted(thread)..).unwrap_or_default()
}

/// The frame of a thread that people should look at first.
pub fn lead(thread: &Thread) -> Option<&Frame> {
    whycrash_evidence::signature::lead(&thread.frames)
}

/// The innermost `limit` frames of a thread, numbered; a signal handler's are left out.
pub fn stack(page: &mut Page, indent: usize, thread: &Thread, limit: usize) {
    let first = interrupted(thread);
    for (index, frame) in thread.frames.iter().enumerate().skip(first).take(limit) {
        numbered(page, indent, index, frame);
    }
    let left = thread.frames.len().saturating_sub(first + limit) as u64 + thread.frames_omitted.unwrap_or(0);
    if left > 0 {
        page.line(indent, style::faint(&format!("… {left} more")));
    }
}

/// One numbered frame on a line.
pub fn numbered(page: &mut Page, indent: usize, index: usize, frame: &Frame) {
    let room = page.room().saturating_sub(indent + 5);
    page.line(indent, format!("#{index:<3} {}", cut(&label(frame), room)));
}

/// The lines around a frame's own, where its source is on this machine; whether it is.
pub fn source(page: &mut Page, indent: usize, frame: &Frame) -> bool {
    let (Some(file), Some(line)) = (&frame.file, frame.line.map(u64::from)) else {
        return false;
    };
    let lines = lines_of(Path::new(file), line.saturating_sub(AROUND).max(1), line + AROUND);
    let found = lines.iter().any(|(number, _)| *number == line);
    if found {
        listing(page, indent, &lines, Some(line));
    }
    found
}

/// The lines around the innermost frame whose source is on this machine.
pub fn source_of_first(page: &mut Page, indent: usize, frames: &[Frame]) {
    let _ = frames.iter().any(|frame| source(page, indent, frame));
}

/// Numbered lines, one of them marked.
pub fn listing(page: &mut Page, indent: usize, lines: &[(u64, String)], marked: Option<u64>) {
    let digits = lines.last().map_or(1, |(number, _)| number.to_string().len());
    let room = page.room().saturating_sub(indent + digits + 5);
    for (number, text) in lines {
        let (mark, look) = if marked == Some(*number) {
            (">", style::STRONG)
        } else {
            (" ", style::FAINT)
        };
        let look = if marked.is_none() { anstyle::Style::new() } else { look };
        let text = cut(text, room);
        let head = format!("{mark} {number:>digits$} |");
        page.line(
            indent,
            if text.is_empty() {
                head.into()
            } else {
                Clean::from(head + " ").then(Clean::styled(look, &text))
            },
        );
    }
}
