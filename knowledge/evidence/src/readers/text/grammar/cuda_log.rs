//! The CUDA driver's own log (`CUDA_LOG_FILE`, since 12.9; a file, or the program's output): what was wrong with a
//! call, in words.

use super::Parts;
use crate::model::{CudaLog, EventPayload};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, Next, regex};

/// Errors; warnings tell of no failed call.
pub const RULE: Rule = Rule {
    literals: &[
        "][CUDA][E]",
        ": CUDA initialization: ",
        "failed call to cuInit: ",
        "does not match DSO version ",
    ],
    read,
};

/// True for a line of that log, which quotes results of calls.
pub fn is_line(text: &str) -> bool {
    text.contains("][CUDA][E]") || text.contains("][CUDA][W]")
}

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if let Some(what) = initialization(line.text) {
        sink.event(EventPayload::CudaLog(what), &line.origin, [line.number; 2], line.text);
        return None;
    }
    let entry = Entry::of(line.text)?;
    Some(Box::new(Call {
        origin: line.origin.clone(),
        lines: [line.number; 2],
        text: entry.said.clone(),
        thread: entry.thread,
        what: entry.what,
    }))
}

/// torch and `TensorFlow` warn that they see no GPU, and why, and go on: `UserWarning: CUDA initialization: Unexpected error from
/// cudaGetDeviceCount(). … Error 802: system not yet initialized (Triggered internally at …)`.
fn initialization(text: &str) -> Option<CudaLog> {
    let parts = Parts::of(
        regex!(
            r"(?:Warning: CUDA initialization|failed call to cuInit): (?P<message>(?:.*\bError (?P<code>\d+): )?.*?)(?: \(Triggered internally at .*)?$|(?P<driver>kernel version [\d.]+ does not match DSO version [\d.]+)"
        ),
        text,
    )?;
    Some(CudaLog {
        code: parts.number("code"),
        message: parts.text("message").or_else(|| parts.text("driver"))?,
        ..CudaLog::default()
    })
}

/// `[22:21:32.099][25642][CUDA][E][cuLogsDumpToMemory] buffer cannot be NULL`; since 13.4 the call stands in a line of
/// its own, `[22:21:32.099][25642][CUDA][E] Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuLogsDumpToMemory`.
struct Entry {
    thread: String,
    what: CudaLog,
    said: String,
}

impl Entry {
    fn of(text: &str) -> Option<Self> {
        let parts = Parts::of(
            regex!(
                r"^\[\d\d:\d\d:\d\d(?:\.\d+)?\]\[(?P<thread>\d+)\]\[CUDA\]\[E\](?:\[(?P<call>\w+)\])? ?(?P<said>.*?)\s*$"
            ),
            text,
        )?;
        let said = parts.text("said")?;
        let returned = Parts::of(
            regex!(r"^Returning (?P<code>\d+) \((?P<result>\w+)\) from (?P<call>\w+)"),
            &said,
        );
        let what = match &returned {
            Some(returned) => CudaLog {
                call: returned.text("call"),
                result: returned.text("result"),
                code: returned.number("code"),
                message: String::new(),
            },
            None => CudaLog {
                call: parts.text("call"),
                message: said.clone(),
                ..CudaLog::default()
            },
        };
        Some(Self {
            thread: parts.text("thread")?,
            what,
            said,
        })
    }
}

/// What was said of one call.
#[derive(Debug)]
struct Call {
    origin: Origin,
    lines: [u64; 2],
    text: String,
    thread: String,
    what: CudaLog,
}

impl Block for Call {
    fn next(&mut self, line: &Line) -> Next {
        let Some(entry) = Entry::of(line.text).filter(|entry| entry.thread == self.thread) else {
            return Next::Ended;
        };
        // What follows a result is about another call, and so is a line that names its call itself.
        if self.what.result.is_some() || entry.what.result.is_none() || self.what.call.is_some() {
            return Next::Ended;
        }
        self.lines[1] = line.number;
        self.what.call = entry.what.call;
        self.what.result = entry.what.result;
        self.what.code = entry.what.code;
        Next::Last
    }

    fn finish(self: Box<Self>, sink: &mut Sink) {
        sink.event(EventPayload::CudaLog(self.what), &self.origin, self.lines, &self.text);
    }
}
