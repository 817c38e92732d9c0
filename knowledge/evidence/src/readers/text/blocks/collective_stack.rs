//! Where the program was when it called a collective that timed out, as torch's watchdog tells of its flight recorder.
//!
//! `Stack trace of the failed collective: `, and then a line a frame, the innermost first (torch 2.6 and later,
//! `ProcessGroupNCCL.cpp`): `#0 all_gather_into_tensor from /…/distributed_c10d.py:4003`. The lines have no tag; the rank
//! is that of the watchdog that spoke last.

use super::python_frame;
use crate::model::{Event, EventPayload, Frame, Thread};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::{Sink, new_thread};
use crate::readers::text::{Block, Next, regex};

/// Opens a stack.
pub const RULE: Rule = Rule {
    literals: &["#0 "],
    read,
};

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    let frame = parse_frame(line).filter(|_| line.text.starts_with("#0 "))?;
    let is_watchdogs = |event: &&Event| matches!(event.payload, EventPayload::Watchdog(_));
    let speaker = sink.events.iter().rev().find(is_watchdogs)?;
    let mut origin = line.origin.clone();
    origin.rank = origin.rank.or(speaker.rank);
    Some(Box::new(Stack {
        origin,
        frames: vec![frame],
    }))
}

#[derive(Debug)]
struct Stack {
    origin: Origin,
    frames: Vec<Frame>,
}

impl Block for Stack {
    fn next(&mut self, line: &Line) -> Next {
        let Some(frame) = parse_frame(line) else {
            return Next::Ended;
        };
        self.frames.push(frame);
        Next::Quoted
    }

    fn finish(mut self: Box<Self>, sink: &mut Sink) {
        self.frames.truncate(sink.frame_limit());
        let thread = Thread {
            frames: self.frames,
            ..new_thread(&self.origin)
        };
        sink.stack("collective", thread);
    }
}

fn parse_frame(line: &Line) -> Option<Frame> {
    let found = regex!(r"^#\d+ (?P<function>\S+) from (?P<file>\S+):(?P<line>\d+)\s*$").captures(line.text)?;
    Some(Frame {
        function: Some(found["function"].to_owned()),
        file: Some(found["file"].to_owned()),
        line: found["line"].parse().ok(),
        ..python_frame(&found, line.number)
    })
}
