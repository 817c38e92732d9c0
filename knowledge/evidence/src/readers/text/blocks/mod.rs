//! Grammars of things that span lines.

mod collective_stack;
mod comfy_report;
mod compute_sanitizer;
mod cpp_stack;
mod cuda_gdb;
mod debugger;
mod elastic;
mod faulthandler;
mod gdb_answers;
mod gpu_coredump;
mod help;
mod host_sanitizer;
mod lldb;
mod nccl_error;
mod nccl_ras;
mod next_line;
mod notebook_traceback;
mod py_spy;
mod rich_traceback;
mod rust_panic;
mod signal_dump;
mod traceback;
mod valgrind;

pub use comfy_report::HEADING as REPORT_HEADING;
use regex::Captures;
pub use traceback::{HEADER as TRACEBACK_HEADER, announces_ignored, bare_exception, is_inside};

use super::prefix::Origin;
use super::rules::Rule;
use super::sink::{Sink, new_thread};
use crate::model::{Frame, FrameKind, Place, Thread, ThreadId};
use crate::readers::gpu_core;

/// Every block's rule.
pub fn rules() -> impl Iterator<Item = Rule> {
    [
        traceback::RULE,
        faulthandler::RULE,
        cpp_stack::RULE,
        rust_panic::RULE,
        nccl_error::RULE,
        nccl_ras::RULE,
        elastic::RULE,
        elastic::FAILED_RULE,
        gpu_coredump::RULE,
        cuda_gdb::RULE,
        compute_sanitizer::RULE,
        host_sanitizer::RULE,
        signal_dump::RULE,
        debugger::RULE,
        py_spy::RULE,
        rich_traceback::RULE,
        notebook_traceback::RULE,
        valgrind::RULE,
        help::RULE,
        collective_stack::RULE,
        comfy_report::RULE,
        next_line::RULE,
    ]
    .into_iter()
}

/// Records the stack of an exception, told with its outermost frame first; none where no frame was told.
fn python_stack(sink: &mut Sink, origin: &Origin, mut frames: Vec<Frame>, crashed: bool) -> Option<ThreadId> {
    if frames.is_empty() {
        return None;
    }
    frames.reverse();
    frames.truncate(sink.frame_limit());
    let thread = Thread {
        crashed,
        frames,
        ..new_thread(origin)
    };
    Some(sink.stack("traceback", thread))
}

/// Characters of a line of source code that are kept.
const SOURCE_CHARS: usize = 200;

/// Takes a line of source code for that of the last frame, unless that has one; the marks under a line are none.
fn quote_source(frames: &mut [Frame], text: &str) {
    let text = text.trim();
    let is_mark = text.chars().all(|one| "^~ ".contains(one));
    if let Some(frame) = frames.last_mut().filter(|frame| frame.source.is_none() && !is_mark) {
        frame.source = Some(text.chars().take(SOURCE_CHARS).collect());
    }
}

/// The frame that line `number` tells of: its first group is the file, the second the line in it (anything but a number
/// where that is not known), the third the function.
fn python_frame(found: &Captures<'_>, number: u64) -> Frame {
    let group = |index| found.get(index).map(|group| group.as_str());
    Frame {
        kind: FrameKind::Python,
        function: group(3).map(str::to_owned),
        file: group(1).map(str::to_owned),
        line: group(2).and_then(|line| line.parse().ok()),
        at: Some(Place::Line([number, number])),
        ..Frame::default()
    }
}

/// Bytes of a mangled name that is worth the work of taking it apart.
const MANGLED: usize = 1 << 10;

/// C++ names stand in dumps as the linker knows them.
fn readable(symbol: &str) -> String {
    if symbol.starts_with("_Z") && symbol.len() <= MANGLED {
        gpu_core::demangled(symbol)
    } else {
        symbol.to_owned()
    }
}
