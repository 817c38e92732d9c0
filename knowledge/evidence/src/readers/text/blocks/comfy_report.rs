//! The report that `ComfyUI` offers after a node of a workflow failed (its frontend's `errorReportUtil`): a page of
//! Markdown with the exception, its stack without a header, the machine, and the log.

use super::{python_frame, python_stack};
use crate::model::{EventPayload, Frame, PythonException};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, Next, regex};

/// Opens a report's details.
pub const RULE: Rule = Rule {
    literals: &[EXCEPTION],
    read,
};

/// The heading of the page.
pub const HEADING: &str = "# ComfyUI Error Report";

const EXCEPTION: &str = "- **Exception Type:** ";
const MESSAGE: &str = "- **Exception Message:** ";

/// Lines of a message that are kept.
const MESSAGE_LINES: usize = 60;

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    let exception = line.text.strip_prefix(EXCEPTION)?.trim();
    Some(Box::new(Report {
        origin: line.origin.clone(),
        lines: [line.number; 2],
        exception: exception.to_owned(),
        message: Vec::new(),
        frames: Vec::new(),
        in_stack: false,
    }))
}

#[derive(Debug)]
struct Report {
    origin: Origin,
    lines: [u64; 2],
    exception: String,
    message: Vec<String>,
    frames: Vec<Frame>,
    /// The heading above the stack has come.
    in_stack: bool,
}

impl Block for Report {
    fn next(&mut self, line: &Line) -> Next {
        let text = line.text.trim_end();
        if text.starts_with("## ") {
            let is_stack = text == "## Stack Trace" && !self.in_stack;
            self.in_stack = is_stack;
            return if is_stack { Next::Quoted } else { Next::Ended };
        }
        self.lines[1] = line.number;
        if self.in_stack {
            let frame = regex!(r#"^\s*File "(.*?)", line (\d+), in (.*?)\s*$"#).captures(text);
            self.frames.extend(frame.map(|found| python_frame(&found, line.number)));
            return Next::Quoted;
        }
        let words = text.strip_prefix(MESSAGE).unwrap_or(text);
        if self.message.len() < MESSAGE_LINES {
            self.message.push(words.to_owned());
        }
        Next::Quoted
    }

    fn finish(self: Box<Self>, sink: &mut Sink) {
        let thread = python_stack(sink, &self.origin, self.frames, true);
        let message = self.message.join("\n").trim().to_owned();
        let text = match message.lines().next() {
            Some(first) => format!("{}: {first}", self.exception),
            None => self.exception.clone(),
        };
        let what = PythonException {
            exception: self.exception,
            message,
            thread,
            ..PythonException::default()
        };
        sink.event(EventPayload::PythonException(what), &self.origin, self.lines, &text);
    }
}
