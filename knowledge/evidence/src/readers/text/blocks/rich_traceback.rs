//! Tracebacks as the `rich` library draws them (Typer, Lightning, older `accelerate` and training frameworks): a box of
//! the frames, outermost first, with source code, then the exception below it. Everything is folded at the width of the
//! box.

use super::{python_frame, python_stack, quote_source};
use crate::model::{EventPayload, Frame, PythonException};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, Next, regex};

/// Opens a box.
pub const RULE: Rule = Rule {
    literals: &["Traceback (most recent call last) ─"],
    read,
};

/// Lines of a message that are kept.
const MESSAGE_LINES: usize = 60;

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    let opened = line.text.contains("─ Traceback (most recent call last) ─");
    opened.then(|| {
        Box::new(Drawn {
            origin: line.origin.clone(),
            lines: [line.number; 2],
            width: line.text.trim().chars().count(),
            frames: Vec::new(),
            folded: None,
            closed: false,
            exception: String::new(),
            message: String::new(),
            last_width: 0,
            message_lines: 0,
        }) as Box<dyn Block>
    })
}

#[derive(Debug)]
struct Drawn {
    origin: Origin,
    lines: [u64; 2],
    /// Characters from border to border.
    width: usize,
    frames: Vec<Frame>,
    /// The beginning of a frame's line that goes on in the next.
    folded: Option<String>,
    /// The box is closed: the exception comes.
    closed: bool,
    exception: String,
    message: String,
    /// Characters of the message's last line.
    last_width: usize,
    message_lines: usize,
}

impl Drawn {
    /// A line between the borders: a frame, or source code and local variables.
    fn inside(&mut self, content: &str, number: u64) {
        let begun = self.folded.take().unwrap_or_default();
        // Folded between words, and where there is no space to fold at, anywhere.
        let joined = format!("{begun}{content}");
        let frame = parse_frame(&joined, number).or_else(|| parse_frame(&format!("{begun} {content}"), number));
        if let Some(frame) = frame {
            self.frames.push(frame);
        } else if joined.starts_with(['/', '<']) && joined.len() < 1024 && !content.is_empty() {
            self.folded = Some(joined);
        } else if let Some(found) = regex!(r"^❱\s*\d+ ([\s│]*)(?P<source>.*)$").captures(content) {
            let source = found.name("source").map_or("", |source| source.as_str());
            quote_source(&mut self.frames, source);
        }
    }

    /// A line below the box.
    fn below(&mut self, text: &str) -> Next {
        if self.exception.is_empty() {
            let Some(found) = regex!(r"^([A-Za-z_][\w.]*)(?:: ?(.*))?$").captures(text) else {
                return Next::Ended;
            };
            self.exception = found.get(1).map_or("", |name| name.as_str()).to_owned();
            self.message = found
                .get(2)
                .map_or("", |message| message.as_str())
                .trim_end()
                .to_owned();
        } else {
            // A line is folded where its next word did not fit.
            let word = text.split_whitespace().next().map_or(0, |word| word.chars().count());
            let is_folded = word > 0 && self.last_width + 1 + word > self.width;
            if !is_folded || self.message_lines >= MESSAGE_LINES {
                return Next::Ended;
            }
            if !self.message.is_empty() {
                self.message.push(' ');
            }
            self.message.push_str(text.trim_end());
        }
        self.message_lines += 1;
        self.last_width = text.trim_end().chars().count();
        Next::More
    }
}

impl Block for Drawn {
    fn next(&mut self, line: &Line) -> Next {
        let text = line.text.trim_end();
        let next = if self.closed {
            self.below(text)
        } else if let Some(content) = text.trim_start().strip_prefix('│') {
            self.inside(content.trim_end_matches('│').trim(), line.number);
            Next::Quoted
        } else if text.trim_start().starts_with('╰') {
            self.closed = true;
            Next::Quoted
        } else {
            Next::Ended
        };
        if next != Next::Ended {
            self.lines[1] = line.number;
        }
        next
    }

    fn finish(self: Box<Self>, sink: &mut Sink) {
        let Self {
            origin,
            lines,
            frames,
            exception,
            message,
            ..
        } = *self;
        if exception.is_empty() && frames.is_empty() {
            return;
        }
        let thread = python_stack(sink, &origin, frames, true);
        let text = match (exception.is_empty(), message.is_empty()) {
            (true, _) => "a traceback that was cut before it named its exception".to_owned(),
            (false, true) => exception.clone(),
            (false, false) => format!("{exception}: {message}"),
        };
        let what = PythonException {
            exception,
            message,
            thread,
            ..PythonException::default()
        };
        sink.event(EventPayload::PythonException(what), &origin, lines, &text);
    }
}

/// `/home/user/train.py:12 in main`; `in <module>` at the top.
fn parse_frame(content: &str, number: u64) -> Option<Frame> {
    let found = regex!(r"^([/<]\S.*?):(\d+) in\s+(\S+)$").captures(content)?;
    Some(python_frame(&found, number))
}
