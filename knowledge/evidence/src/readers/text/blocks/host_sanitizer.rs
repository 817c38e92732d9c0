//! Reports of `AddressSanitizer`, `ThreadSanitizer`, `LeakSanitizer`, `MemorySanitizer` and
//! `UndefinedBehaviorSanitizer`.

use crate::model::{EventPayload, Frame, FrameKind, Place, Sanitizer, Thread};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::{Sink, new_thread};
use crate::readers::text::{Block, Next, regex};

/// Opens a report.
pub const RULE: Rule = Rule {
    literals: &["Sanitizer: ", ": runtime error: "],
    read,
};

/// A report that goes on for longer is cut (the map of shadow bytes alone is twenty lines).
const REPORT_LINES: u64 = 400;

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if let Some(what) = undefined_behaviour(line.text) {
        sink.event(EventPayload::Sanitizer(what), &line.origin, [line.number; 2], line.text);
        return None;
    }
    let found = regex!(
        r"^(?:==(?P<pid>\d+)==)?\s*(?:ERROR|WARNING): (?P<tool>Address|Thread|Leak|Memory)Sanitizer: (?P<error>.+?)(?: on (?:unknown )?(?:address )?(?P<address>0x[0-9a-f]+).*)?(?: \(pid=(?P<tsan_pid>\d+)\))?\s*$"
    )
    .captures(line.text)?;
    let tool = match found.name("tool")?.as_str() {
        "Address" => "asan",
        "Thread" => "tsan",
        "Leak" => "lsan",
        _ => "msan",
    };
    let mut origin = line.origin.clone();
    let pid = found.name("pid").or_else(|| found.name("tsan_pid"));
    origin.pid = pid.and_then(|pid| pid.as_str().parse().ok()).or(origin.pid);
    let what = Sanitizer {
        tool: tool.to_owned(),
        error: found.name("error")?.as_str().to_owned(),
        address: found.name("address").and_then(|address| address.as_str().parse().ok()),
        count: 1,
        ..Sanitizer::default()
    };
    let text = line.text.to_owned();
    Some(Box::new(Report {
        origin,
        lines: [line.number; 2],
        text,
        what,
        frames: Vec::new(),
        stacks: 0,
    }))
}

/// `san.cpp:18:66: runtime error: signed integer overflow: …`.
fn undefined_behaviour(text: &str) -> Option<Sanitizer> {
    let found =
        regex!(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):\d+: runtime error: (?P<error>.+?)\s*$").captures(text)?;
    Some(Sanitizer {
        tool: "ubsan".to_owned(),
        error: found.name("error")?.as_str().to_owned(),
        file: Some(found.name("file")?.as_str().to_owned()),
        line: found.name("line")?.as_str().parse().ok(),
        count: 1,
        ..Sanitizer::default()
    })
}

#[derive(Debug)]
struct Report {
    origin: Origin,
    lines: [u64; 2],
    text: String,
    what: Sanitizer,
    /// The stack of the access: the first one of the report. The others tell who freed, allocated, created.
    frames: Vec<Frame>,
    stacks: u32,
}

impl Block for Report {
    fn next(&mut self, line: &Line) -> Next {
        if line.number.saturating_sub(self.lines[0]) > REPORT_LINES {
            return Next::Ended;
        }
        let text = line.text;
        self.lines[1] = line.number;
        if let Some((index, frame)) = parse_frame(text, line.number) {
            if index == 0 {
                self.stacks += 1;
            }
            if self.stacks == 1 {
                self.frames.push(frame);
            }
            return Next::Quoted;
        }
        if let Some(found) =
            regex!(r"^\s*(READ|WRITE|Read|Write|Atomic read|Atomic write) of size (\d+) at (0x[0-9a-f]+)")
                .captures(text)
        {
            let access = found.get(1).map(|access| access.as_str().to_lowercase());
            self.what.access = access.map(|access| access.rsplit(' ').next().unwrap_or_default().to_owned());
            self.what.size = found.get(2).and_then(|size| size.as_str().parse().ok());
            self.what.address = self.what.address.or_else(|| found.get(3)?.as_str().parse().ok());
        } else if text.contains(" is located ") || text.trim_start().starts_with("Location is ") {
            self.what.relation = Some(text.trim().to_owned());
        } else if let Some(found) = regex!(r"^(?:Direct|Indirect) leak of (\d+) byte").captures(text) {
            let leaked: u64 = found
                .get(1)
                .and_then(|size| size.as_str().parse().ok())
                .unwrap_or_default();
            self.what.size = Some(self.what.size.unwrap_or_default().saturating_add(leaked));
        }
        if text.starts_with("==================") || text.contains("==ABORTING") {
            return Next::Last;
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
            ..
        } = *self;
        frames.truncate(sink.frame_limit());
        if let Some(frame) = frames.iter().find(|frame| frame.line.is_some() && !is_runtime(frame)) {
            what.function.clone_from(&frame.function);
            what.file.clone_from(&frame.file);
            what.line = frame.line;
        }
        if !frames.is_empty() {
            let crashed = what.tool == "asan" || what.tool == "msan";
            what.stack = Some(sink.stack(
                "sanitizer",
                Thread {
                    crashed,
                    frames,
                    ..new_thread(&origin)
                },
            ));
        }
        sink.event(EventPayload::Sanitizer(what), &origin, lines, &text);
    }
}

/// The sanitizer's own interceptors (of malloc, operator new, memcpy, …).
fn is_runtime(frame: &Frame) -> bool {
    frame.file.as_deref().is_some_and(|file| file.contains("sanitizer"))
}

/// `    #0 0x559e540e9448 in score(Sample const*) /src/san.cpp:9`, `    #6 <null> <null> (libstdc++.so.6+0xd44a2)`.
fn parse_frame(text: &str, number: u64) -> Option<(u32, Frame)> {
    let found = regex!(
        r"^\s+#(?P<index>\d+) (?:(?P<address>0x[0-9a-f]+)(?: in)? ?)?(?P<function>.*?)(?: (?P<file>[^\s():]+):(?P<line>\d+)(?::\d+)?| <null>)?(?: \((?P<module>[^()\s]+)\+(?P<offset>0x[0-9a-f]+)\))?(?: \(BuildId: [0-9a-f]+\))?\s*$"
    )
    .captures(text)?;
    let part = |name| found.name(name).map(|part: regex::Match| part.as_str().to_owned());
    let frame = Frame {
        kind: FrameKind::Native,
        function: part("function").filter(|name| !name.is_empty() && name != "<null>"),
        file: part("file"),
        line: part("line").and_then(|line| line.parse().ok()),
        module: part("module"),
        offset: part("offset").and_then(|offset| offset.parse().ok()),
        address: part("address").and_then(|address| address.parse().ok()),
        at: Some(Place::Line([number, number])),
        ..Frame::default()
    };
    Some((part("index")?.parse().ok()?, frame))
}
