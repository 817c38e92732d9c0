//! Rust panics, with the backtrace when `RUST_BACKTRACE` asked for one.
//!
//! Since 1.73 the message is on the lines after `thread 'main' panicked at src/main.rs:3:5:`; before, it stood in
//! quotes on the same line. Since 1.91 the thread's id is in brackets behind its name.

use crate::Hex;
use crate::model::{EventPayload, Frame, FrameKind, NativeAbort, Place, Thread};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::{Sink, new_thread};
use crate::readers::text::{Block, Next, regex};

/// Opens a panic.
pub const RULE: Rule = Rule {
    literals: &["' panicked at ", ") panicked at "],
    read,
};

/// Lines of a message that are kept.
const MESSAGE_LINES: usize = 40;

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    let found = regex!(
        r"^\s*thread '(?P<thread>.*?)'(?: \(\d+\))? panicked at (?:'(?P<old>.*)', )?(?P<file>[^\s'].*?):(?P<line>\d+):\d+(?P<colon>:)?\s*$"
    )
    .captures(line.text)?;
    let text = |name| found.name(name).map(|m: regex::Match| m.as_str().to_owned());
    Some(Box::new(Panic {
        origin: line.origin.clone(),
        first: line.number,
        last: line.number,
        thread: text("thread"),
        message: text("old").into_iter().collect(),
        in_message: found.name("colon").is_some(),
        file: text("file"),
        line: text("line").and_then(|number| number.parse().ok()),
        frames: Vec::new(),
    }))
}

#[derive(Debug)]
struct Panic {
    origin: Origin,
    first: u64,
    last: u64,
    thread: Option<String>,
    message: Vec<String>,
    in_message: bool,
    file: Option<String>,
    line: Option<u32>,
    frames: Vec<Frame>,
}

impl Panic {
    /// `   3: symbol`, `   3:  0x55a0e69d53aa - symbol`, and the position on the line after it.
    fn backtrace_line(&mut self, line: &Line) -> bool {
        if let Some(found) = regex!(r"^\s*\d+:\s+(?:(0x[0-9a-f]+) - )?(\S.*?)\s*$").captures(line.text) {
            let address = found
                .get(1)
                .and_then(|m| u64::from_str_radix(m.as_str().get(2..)?, 16).ok());
            self.frames.push(Frame {
                kind: FrameKind::Native,
                function: found
                    .get(2)
                    .map(|name| name.as_str().to_owned())
                    .filter(|name| name != "<unknown>"),
                address: address.map(Hex),
                at: Some(Place::Line([line.number, line.number])),
                ..Frame::default()
            });
            return true;
        }
        let Some(found) = regex!(r"^\s+at (\S.*?):(\d+)(?::\d+)?\s*$").captures(line.text) else {
            return false;
        };
        if let Some(frame) = self.frames.last_mut() {
            frame.file = found.get(1).map(|file| file.as_str().to_owned());
            frame.line = found.get(2).and_then(|number| number.as_str().parse().ok());
            frame.at = frame.at.take().map(|at| extend(at, line.number));
        }
        true
    }
}

fn extend(at: Place, last: u64) -> Place {
    match at {
        Place::Line([first, _]) => Place::Line([first, last]),
        other => other,
    }
}

impl Block for Panic {
    fn next(&mut self, line: &Line) -> Next {
        let text = line.text;
        if text.starts_with("note: ") {
            return Next::Last;
        }
        if text.trim() == "stack backtrace:" {
            self.in_message = false;
        } else if self.in_message && self.message.len() < MESSAGE_LINES && !text.trim().is_empty() {
            self.message.push(text.to_owned());
        } else if self.in_message || !self.backtrace_line(line) {
            return Next::Ended;
        }
        self.last = line.number;
        Next::More
    }

    fn finish(self: Box<Self>, sink: &mut Sink) {
        let Self {
            origin,
            first,
            last,
            thread: name,
            message,
            file,
            line,
            mut frames,
            ..
        } = *self;
        frames.truncate(sink.frame_limit());
        let message = message.join("\n");
        let text = format!("thread '{}' panicked: {message}", name.as_deref().unwrap_or("?"));
        let thread = (!frames.is_empty()).then(|| {
            let thread = Thread {
                name: name.clone(),
                frames,
                crashed: true,
                ..new_thread(&origin)
            };
            sink.stack("panic", thread)
        });
        let family = "rust-panic".to_owned();
        let abort = NativeAbort {
            family,
            message,
            exception: None,
            file,
            line,
            function: name,
            thread,
        };
        sink.event(EventPayload::NativeAbort(abort), &origin, [first, last], &text);
    }
}
