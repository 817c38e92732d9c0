//! compute-sanitizer (memcheck, racecheck, synccheck, initcheck) and its ancestor cuda-memcheck.
//!
//! Every line starts with `========= `; a report is a header and the indented lines after it. The "nearest
//! allocation" is what cudaMalloc gave: inside torch's caching allocator an overrun mostly stays within it.

use crate::model::{EventPayload, Frame, FrameKind, Place, Sanitizer, Thread};
use crate::readers::text::grammar::triple;
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::{Sink, new_thread};
use crate::readers::text::{Block, Next, regex};

/// Opens a report.
pub const RULE: Rule = Rule {
    literals: &["========= "],
    read,
};

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    let header = line.text.strip_prefix("========= ")?;
    let what = parse_header(header)?;
    Some(Box::new(Report {
        origin: line.origin.clone(),
        lines: [line.number; 2],
        text: header.to_owned(),
        what,
        frames: Vec::new(),
    }))
}

fn of(error: &str) -> Sanitizer {
    Sanitizer {
        tool: "compute-sanitizer".to_owned(),
        error: error.trim().to_owned(),
        count: 1,
        ..Sanitizer::default()
    }
}

fn bytes(text: &str) -> Option<u64> {
    text.replace(',', "").parse().ok()
}

fn parse_header(text: &str) -> Option<Sanitizer> {
    if let Some(found) =
        regex!(r"^((?:Invalid|Uninitialized) __\w+__ (?:memory )?(read|write|atomic)) of size ([\d,]+)(?: bytes)?")
            .captures(text)
    {
        let access = found.get(2).map(|access| access.as_str().to_owned());
        return Some(Sanitizer {
            access,
            size: found.get(3).and_then(|size| bytes(size.as_str())),
            ..of(found.get(1)?.as_str())
        });
    }
    if let Some(found) = regex!(r"^Leaked ([\d,]+) bytes at 0x([0-9a-f]+)").captures(text) {
        let address = found.get(2).and_then(|digits| digits.as_str().parse().ok());
        return Some(Sanitizer {
            address,
            size: found.get(1).and_then(|size| bytes(size.as_str())),
            ..of("Leaked")
        });
    }
    let whole = regex!(
        r"^(?:(?:ERROR|WARNING|Error|Warning): )?(Race reported between .*|Potential (?:WAW|RAW|WAR) hazard detected .*|Barrier error .*|Malloc/Free error encountered : .*|Stack overflow|Program hit .*)$"
    );
    Some(of(whole.captures(text)?.get(1)?.as_str()))
}

#[derive(Debug)]
struct Report {
    origin: Origin,
    lines: [u64; 2],
    text: String,
    what: Sanitizer,
    frames: Vec<Frame>,
}

impl Block for Report {
    fn next(&mut self, line: &Line) -> Next {
        let Some(text) = line
            .text
            .strip_prefix("=========")
            .filter(|text| text.starts_with("  "))
        else {
            return Next::Ended;
        };
        self.lines[1] = line.number;
        let text = text.trim();
        if let Some(frame) = parse_host_frame(text, line.number) {
            self.frames.push(frame);
        } else if self.what.function.is_none() && text.starts_with("at ") {
            self.position(text);
        } else {
            self.detail(text);
        }
        Next::More
    }

    fn finish(self: Box<Self>, sink: &mut Sink) {
        let Self {
            origin,
            lines,
            text,
            mut what,
            mut frames,
        } = *self;
        frames.truncate(sink.frame_limit());
        if !frames.is_empty() && !sink.knows(&EventPayload::Sanitizer(what.clone()), &origin) {
            let thread = Thread {
                frames,
                ..new_thread(&origin)
            };
            what.stack = Some(sink.stack("sanitizer", thread));
        }
        sink.event(EventPayload::Sanitizer(what), &origin, lines, &text);
    }
}

impl Report {
    /// `at kernel(args)+0x50 in file.cu:14`, `at 0x440 in kernel`, `at 0x60 in file.cu:6:kernel(args)`.
    fn position(&mut self, text: &str) {
        let found = regex!(
            r"^at (?:(?P<function>[^\s0].*?)(?:\+0x[0-9a-f]+)?(?: in (?P<file>\S+?):(?P<line>\d+))?|0x[0-9a-f]+ in (?:(?P<old_file>\S+?):(?P<old_line>\d+):)?(?P<old_function>.+))$"
        )
        .captures(text);
        let Some(found) = found else { return };
        let part = |name, old| {
            found
                .name(name)
                .or_else(|| found.name(old))
                .map(|part| part.as_str().to_owned())
        };
        self.what.function = part("function", "old_function");
        self.what.file = part("file", "old_file");
        self.what.line = part("line", "old_line").and_then(|number| number.parse().ok());
    }

    fn detail(&mut self, text: &str) {
        if let Some(found) = regex!(r"^by thread \((.*?)\) in block \((.*?)\)").captures(text) {
            self.what.thread = found.get(1).and_then(|part| triple(part.as_str()));
            self.what.block = found.get(2).and_then(|part| triple(part.as_str()));
        } else if let Some(found) = regex!(r"^(?:Address|Access (?:to|at)) 0x([0-9a-f]+) is (.+)$").captures(text) {
            self.what.address = found.get(1).and_then(|part| part.as_str().parse().ok());
            self.what.relation = found.get(2).map(|part| part.as_str().to_owned());
        } else if text.starts_with("and is ")
            && let Some(relation) = &mut self.what.relation
        {
            relation.push(' ');
            relation.push_str(text);
        } else if (text.starts_with("and ") || text.starts_with("Write Thread") || text.starts_with("Read Thread"))
            && self.what.relation.is_none()
        {
            self.what.relation = Some(text.to_owned());
        }
    }
}

/// `Host Frame: main [0x8ae3] in program`, older: `Host Frame:/lib/libcuda.so (cuLaunchKernel + 0x2c5) [0x1f]`.
fn parse_host_frame(text: &str, number: u64) -> Option<Frame> {
    let text = text.strip_prefix("Host Frame:")?.trim();
    let found = regex!(
        r"^(?:(?P<function>[^\[\]]*?) ?\[0x(?P<offset>[0-9a-f]+)\](?: in (?P<module>.+))?|(?P<old_module>\S+)(?: \((?P<old_function>.+?)(?: \+ 0x[0-9a-f]+)?\))? \[0x[0-9a-f]+\])$"
    )
    .captures(text)?;
    let part = |name, old| {
        found
            .name(name)
            .or_else(|| found.name(old))
            .map(|part| part.as_str().to_owned())
            .filter(|part| !part.is_empty())
    };
    Some(Frame {
        kind: FrameKind::Native,
        function: part("function", "old_function"),
        module: part("module", "old_module"),
        at: Some(Place::Line([number, number])),
        ..Frame::default()
    })
}
