//! What a C++ program prints when it gives up, with the stack that `c10::Error` carries.
//!
//! `terminate called …`, `  what():  …`, `Exception raised from F at file:line`, `frame #0: symbol + 0x9d (0x7f… in
//! lib.so)`. The same stack, without `terminate`, follows the message of a Python exception that C++ raised.

use crate::Hex;
use crate::model::{EventPayload, Frame, FrameKind, NativeAbort, Place, Thread};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::{Sink, new_thread};
use crate::readers::text::{Block, Next, regex};

/// Opens an abort or a stack.
pub const RULE: Rule = Rule {
    literals: &[
        "terminate called ",
        "terminating due to uncaught exception",
        "terminating with uncaught exception",
        "Exception raised from ",
        "frame #0: ",
    ],
    read,
};

/// Lines of a `what()` that are kept.
const WHAT_LINES: usize = 40;

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() {
        return None;
    }
    let mut abort = Abort::new(line);
    if let Some(found) = regex!(
        r"terminate called (?:after throwing an instance of '(?P<type>.*)'|(?P<how>without an active exception|recursively))|terminat(?:ing due to|ing with) uncaught exception(?: of type (?P<clang>\S+?))?(?:: (?P<what>.*))?$"
    )
    .captures(line.text)
    {
        abort.terminated = true;
        abort.exception = found.name("type").or(found.name("clang")).map(|name| name.as_str().to_owned());
        abort.what.extend(found.name("what").map(|what| what.as_str().to_owned()));
        abort.how = found.name("how").map(|how| format!("terminate called {}", how.as_str()));
        return Some(Box::new(abort));
    }
    abort.stack_line(line).then(|| Box::new(abort) as Box<dyn Block>)
}

#[derive(Debug)]
struct Abort {
    origin: Origin,
    first: u64,
    last: u64,
    terminated: bool,
    exception: Option<String>,
    how: Option<String>,
    what: Vec<String>,
    raised_in: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    frames: Vec<Frame>,
    expected: u64,
}

impl Abort {
    fn new(line: &Line) -> Self {
        Self {
            origin: line.origin.clone(),
            first: line.number,
            last: line.number,
            terminated: false,
            exception: None,
            how: None,
            what: Vec::new(),
            raised_in: None,
            file: None,
            line: None,
            frames: Vec::new(),
            expected: 0,
        }
    }

    /// Takes the position line or a frame.
    fn stack_line(&mut self, line: &Line) -> bool {
        if let Some(found) =
            regex!(r"^Exception raised from (.+) at (\S.*?):(\d+) \(most recent call first\):").captures(line.text)
        {
            self.raised_in = found.get(1).map(|name| name.as_str().to_owned());
            self.file = found.get(2).map(|file| file.as_str().to_owned());
            self.line = found.get(3).and_then(|number| number.as_str().parse().ok());
            return true;
        }
        let Some((index, frame)) = parse_frame(line.text, line.number) else {
            return false;
        };
        // A second stack that starts at zero is another exception's.
        if index < self.expected {
            return false;
        }
        self.expected = index + 1;
        self.frames.push(frame);
        true
    }
}

impl Abort {
    fn continues_what(&self, text: &str) -> bool {
        let follows = text.starts_with([' ', '\t']) || CONTINUATIONS.iter().any(|opener| text.starts_with(opener));
        follows && !self.what.is_empty() && self.what.len() < WHAT_LINES
    }
}

impl Block for Abort {
    fn next(&mut self, line: &Line) -> Next {
        let text = line.text;
        if self.stack_line(line) || text.trim() == "<omitting python frames>" {
            self.last = line.number;
            return Next::More;
        }
        if !self.terminated || !self.frames.is_empty() || text.trim().is_empty() {
            return Next::Ended;
        }
        if let Some(found) = regex!(r"^\s*what\(\): ? ?(.*)$").captures(text) {
            self.what.push(found.get(1).map_or("", |what| what.as_str()).to_owned());
        } else if self.continues_what(text) {
            self.what.push(text.to_owned());
        } else {
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
            terminated,
            exception,
            how,
            what,
            raised_in,
            file,
            line,
            mut frames,
            ..
        } = *self;
        frames.truncate(sink.frame_limit());
        let thread = (!frames.is_empty()).then(|| {
            sink.stack(
                "cpp-stack",
                Thread {
                    frames,
                    crashed: terminated,
                    ..new_thread(&origin)
                },
            )
        });
        if !terminated {
            return;
        }
        let message = how.unwrap_or_else(|| what.join("\n"));
        let text = match &exception {
            Some(exception) => format!("terminate called after throwing an instance of '{exception}': {message}"),
            None => message.clone(),
        };
        let family = "cpp-exception".to_owned();
        let abort = NativeAbort {
            family,
            message,
            exception,
            file,
            line,
            function: raised_in,
            thread,
        };
        sink.event(EventPayload::NativeAbort(abort), &origin, [first, last], &text);
    }
}

/// How the further lines of c10 messages start.
const CONTINUATIONS: [&str; 6] = [
    "CUDA kernel errors might",
    "For debugging consider",
    "Compile with `TORCH",
    "Search for `cuda",
    "Last error:",
    "nccl",
];

/// `frame #3: <unknown function> + 0xda71 (0x7f… in /path/lib.so)`; some builds leave the offset out.
pub fn parse_frame(text: &str, number: u64) -> Option<(u64, Frame)> {
    let found =
        regex!(r"^\s*frame #(\d+): (.+?)(?: \+ (0x[0-9a-f]+|\d+))? \((0x[0-9a-f]+) in (.+?)\)\s*$").captures(text)?;
    let function = found
        .get(2)
        .map(|name| name.as_str())
        .filter(|name| *name != "<unknown function>");
    let offset = found.get(3).and_then(|offset| parse_number(offset.as_str()));
    let frame = Frame {
        kind: FrameKind::Native,
        function: function.map(str::to_owned),
        module: found.get(5).map(|file| file.as_str().to_owned()),
        // Of an unknown function the number is the offset in the file; otherwise that in the function.
        offset: if function.is_none() { offset.map(Hex) } else { None },
        address: found.get(4).and_then(|address| parse_number(address.as_str())).map(Hex),
        at: Some(Place::Line([number, number])),
        ..Frame::default()
    };
    Some((found.get(1)?.as_str().parse().ok()?, frame))
}

fn parse_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
