//! Citations of places that were read: what they quote is what stood there.

use crate::bindings::whycrash::plugin::types::{FramePlace, LineRange};
use crate::{Citation, Event, Frame, Line, Place, Thread};

/// Bytes of a line that are quoted; a log line can be of any length.
const QUOTE_BYTES: usize = 400;

/// A line.
pub fn line(line: &Line) -> Citation {
    Citation {
        artifact: line.artifact.clone(),
        at: Place::Line(LineRange {
            first: line.number,
            last: line.number,
        }),
        quote: short(&line.text),
    }
}

/// Lines that follow each other in one artifact; `None` when there are none.
pub fn lines(lines: &[Line]) -> Option<Citation> {
    let (first, last) = (lines.first()?, lines.last()?);
    Some(Citation {
        artifact: first.artifact.clone(),
        at: Place::Line(LineRange {
            first: first.number,
            last: last.number,
        }),
        quote: lines.iter().map(|line| line.text.trim()).collect::<Vec<_>>().join("\n"),
    })
}

/// The frame at this index of a thread.
pub fn frame(thread: &Thread, index: u32, frame: &Frame) -> Citation {
    Citation {
        artifact: thread.artifact.clone(),
        at: Place::Frame(FramePlace {
            thread: thread.id.clone(),
            index,
        }),
        // Where the function has no name, its binary or its file is what stands there.
        quote: [&frame.function, &frame.module, &frame.file]
            .into_iter()
            .find_map(Clone::clone)
            .unwrap_or_default(),
    }
}

/// An event of the timeline.
pub fn event(event: &Event) -> Citation {
    Citation {
        artifact: event.artifact.clone(),
        at: Place::Event(event.number),
        quote: short(&event.text),
    }
}

/// A fact of the evidence, by its dotted path, with its value as [`crate::Report::fact`] gave it.
pub fn fact(path: &str, value: &str) -> Citation {
    Citation {
        artifact: String::new(),
        at: Place::Fact(path.to_owned()),
        quote: short(value),
    }
}

fn short(text: &str) -> String {
    crate::cut(text.trim(), QUOTE_BYTES).to_owned()
}
