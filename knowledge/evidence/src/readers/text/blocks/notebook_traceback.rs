//! Tracebacks as IPython prints them, and so notebooks and what runs them (Jupyter, papermill, Colab): the exception's
//! name in front of the header, then the frames, outermost first, each with source code, then the exception.
//!
//! What stands in front of a frame differs by version: `Cell In[3], line 2, in fetch(index)` (since 8.7), `Input In [3], in <cell line:
//! 2>()`, `File /job/data.py:88, in fetch(self, index)` (since 8.0), `/job/data.py in fetch(self, index)` before, and
//! then the arrow beside the source code has the line.

use super::traceback::link;
use super::{python_stack, quote_source};
use crate::model::{EventPayload, Frame, FrameKind, Place, PythonException};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, Next, regex};

/// Opens a traceback.
pub const RULE: Rule = Rule {
    literals: &[" Traceback (most recent call last)"],
    read,
};

/// Lines of a message that are kept.
const MESSAGE_LINES: usize = 60;

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    let found = regex!(r"^([A-Za-z_]\w*) +Traceback \(most recent call last\)\s*$").captures(line.text)?;
    Some(Box::new(Printed {
        origin: line.origin.clone(),
        lines: [line.number; 2],
        exception: found.get(1)?.as_str().to_owned(),
        frames: Vec::new(),
        message: None,
        relation: None,
        is_over: false,
    }))
}

#[derive(Debug)]
struct Printed {
    origin: Origin,
    lines: [u64; 2],
    exception: String,
    frames: Vec<Frame>,
    /// What came behind the exception's name, from the line on that has it.
    message: Option<Vec<String>>,
    /// How the next exception follows from this one.
    relation: Option<&'static str>,
    /// A blank line came behind the message.
    is_over: bool,
}

impl Printed {
    /// A line of the stack, or the exception below it.
    fn stack_line(&mut self, text: &str, number: u64) -> Next {
        if let Some(message) = text.strip_prefix(&self.exception).and_then(message) {
            self.message = Some(vec![message.to_owned()]);
            return Next::More;
        }
        if let Some(frame) = parse_frame(text, number) {
            self.frames.push(frame);
            return Next::Quoted;
        }
        let arrow = regex!(r"^-+> ?(\d+)(?: |$)").captures(text);
        if let (Some(found), Some(frame)) = (&arrow, self.frames.last_mut()) {
            frame.line = frame.line.or(found.get(1).and_then(|line| line.as_str().parse().ok()));
            let behind = found.get(0).and_then(|mark| text.get(mark.end()..));
            quote_source(&mut self.frames, behind.unwrap_or_default());
        }
        let is_source =
            arrow.is_some() || text.is_empty() || regex!(r"^\s*(?:\d+|\.{3}|\(\.{3}\))(?: |$)").is_match(text);
        if is_source { Next::Quoted } else { Next::Ended }
    }

    /// A line behind the exception: more of its message, or how the next one follows.
    fn message_line(&mut self, text: &str) -> Next {
        if text.is_empty() {
            self.is_over = true;
            return Next::More;
        }
        if let Some(relation) = link(text) {
            self.relation = Some(relation);
            return Next::Last;
        }
        let has_room = self
            .message
            .as_ref()
            .is_some_and(|message| message.len() < MESSAGE_LINES);
        // Keras tells where in the graph it was, moved in, with blank lines around it.
        let is_over = std::mem::take(&mut self.is_over) && !text.starts_with("    ");
        if is_over || !has_room || text.starts_with("-----") {
            return Next::Ended;
        }
        self.message.get_or_insert_default().push(text.to_owned());
        Next::More
    }
}

impl Block for Printed {
    fn next(&mut self, line: &Line) -> Next {
        let text = line.text.trim_end();
        let next = if self.message.is_some() {
            self.message_line(text)
        } else {
            self.stack_line(text, line.number)
        };
        if next != Next::Ended && !text.is_empty() {
            self.lines[1] = line.number;
        }
        next
    }

    fn finish(self: Box<Self>, sink: &mut Sink) {
        let Self {
            origin,
            lines,
            exception,
            frames,
            message,
            relation,
            ..
        } = *self;
        if frames.is_empty() && message.is_none() {
            return;
        }
        let thread = python_stack(sink, &origin, frames, relation.is_none());
        let message = message.unwrap_or_default().join("\n");
        let text = match message.lines().next() {
            Some(first) => format!("{exception}: {first}"),
            None => exception.clone(),
        };
        let what = PythonException {
            exception,
            message,
            thread,
            relation: relation.map(str::to_owned),
            ..PythonException::default()
        };
        sink.event(EventPayload::PythonException(what), &origin, lines, &text);
    }
}

/// What follows the exception's name: nothing, or a message.
fn message(rest: &str) -> Option<&str> {
    if rest.is_empty() {
        return Some(rest);
    }
    rest.strip_prefix(':').map(str::trim_start)
}

/// The line in front of a frame's source code.
fn parse_frame(text: &str, number: u64) -> Option<Frame> {
    let found = regex!(
        r"^(?:(?P<cell>(?:Cell|Input) In ?\[\d+\])(?:, line (?P<cell_line>\d+))?(?:, in (?P<cell_in>.+?))?|File (?P<file>\S.*?):(?P<line>\d+)(?:, in (?P<in>.+?))?|(?P<old>[/~<]\S*|\S+\.pyx?) in (?P<old_in>\S.*?))(?:\(.*\))?$"
    )
    .captures(text)?;
    let group = |names: &[&str]| names.iter().find_map(|name| found.name(name)).map(|part| part.as_str());
    let of_cell = group(&["cell_in"]).and_then(|cell| cell.strip_prefix("<cell line: ")?.strip_suffix('>'));
    let function = group(&["in", "old_in"]).or_else(|| group(&["cell_in"]).filter(|_| of_cell.is_none()));
    Some(Frame {
        kind: FrameKind::Python,
        function: Some(function.unwrap_or("<module>").to_owned()),
        file: group(&["cell", "file", "old"]).map(str::to_owned),
        line: group(&["cell_line", "line"])
            .or(of_cell)
            .and_then(|line| line.parse().ok()),
        at: Some(Place::Line([number, number])),
        ..Frame::default()
    })
}
