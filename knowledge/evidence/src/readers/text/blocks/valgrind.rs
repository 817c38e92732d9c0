//! Errors that Valgrind's Memcheck reports, and the signal that it says a program ended with (`memcheck/mc_errors.c`,
//! `coregrind/m_signals.c`):
//!
//! ```text
//! ==7== Invalid read of size 4
//! ==7==    at 0x109156: sum (sum.c:8)
//! ==7==    by 0x109180: main (in /opt/app/sum)
//! ==7==  Address 0x4a9a068 is 0 bytes after a block of size 40 alloc'd
//! ==7==    at 0x4841984: malloc (vg_replace_malloc.c:381)
//! ```

use crate::Hex;
use crate::model::{Crash, EventPayload, Frame, FrameKind, Place, Sanitizer, Thread};
use crate::readers::text::grammar::exit::{exit, number_of_signal, signal_name};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::{Sink, new_thread};
use crate::readers::text::{Block, Next, regex};

/// Opens an error.
pub const RULE: Rule = Rule {
    literals: &[
        "== Invalid ",
        "== Mismatched free()",
        "== Process terminating with default action of signal ",
    ],
    read,
};

/// Addresses below are a null pointer and the offset of a member or an element.
const NULL_END: u64 = 64 << 10;

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    let found = regex!(
        r"(?x) ^==(?P<pid>\d+)==\ (?P<error> Invalid\ (?P<access>read|write)\ of\ size\ (?P<size>\d+) | Invalid\ free\(\)\ .* | Mismatched\ free\(\)\ .*
            | Process\ terminating\ with\ default\ action\ of\ signal\ \d+\ \((?P<signal>SIG[A-Z]+)\).* )$"
    )
    .captures(line.text.trim_end())?;
    let part = |name| found.name(name).map(|part: regex::Match| part.as_str());
    let access = part("access");
    let error = access.map_or_else(
        || part("error").unwrap_or_default().to_owned(),
        |access| format!("Invalid {access}"),
    );
    let mut origin = line.origin.clone();
    origin.pid = part("pid").and_then(|pid| pid.parse().ok()).or(origin.pid);
    Some(Box::new(Report {
        origin,
        lines: [line.number; 2],
        text: line.text.to_owned(),
        signal: part("signal").and_then(number_of_signal).and_then(signal_name),
        what: Sanitizer {
            tool: "memcheck".to_owned(),
            error,
            access: access.map(str::to_owned),
            size: part("size").and_then(|size| size.parse().ok()),
            count: 1,
            ..Sanitizer::default()
        },
        frames: Vec::new(),
        is_told: false,
    }))
}

#[derive(Debug)]
struct Report {
    origin: Origin,
    lines: [u64; 2],
    text: String,
    /// The signal that the program ended with.
    signal: Option<&'static str>,
    what: Sanitizer,
    /// The stack of the access.
    frames: Vec<Frame>,
    /// Its stack is through: those that follow tell who allocated or freed.
    is_told: bool,
}

impl Block for Report {
    fn next(&mut self, line: &Line) -> Next {
        // What belongs to an error stands further in than the error itself.
        let Some(text) = own_words(line.text).filter(|text| text.starts_with("  ")) else {
            return Next::Ended;
        };
        self.lines[1] = line.number;
        if let Some(frame) = parse_frame(text, line.number) {
            if !self.is_told {
                self.frames.push(frame);
            }
            return Next::Quoted;
        }
        let found =
            regex!(r"(?i)^ +(?:Address (?P<at>0x[0-9a-f]+) is (?P<relation>.+)|.* at address (?P<fault>0x[0-9a-f]+))$")
                .captures(text);
        if let Some(found) = found {
            self.is_told = found.name("at").is_some();
            let at = found.name("at").or_else(|| found.name("fault"));
            self.what.address = at.and_then(|at| at.as_str().to_ascii_lowercase().parse().ok());
            self.what.relation = found.name("relation").map(|relation| relation.as_str().to_owned());
        }
        Next::More
    }

    fn finish(mut self: Box<Self>, sink: &mut Sink) {
        self.frames.truncate(sink.frame_limit());
        let frames = std::mem::take(&mut self.frames);
        if let Some(frame) = frames.first() {
            self.what.function.clone_from(&frame.function);
            self.what.file.clone_from(&frame.file);
            self.what.line = frame.line;
        }
        let thread = (!frames.is_empty()).then(|| {
            let thread = Thread {
                crashed: self.signal.is_some(),
                frames,
                ..new_thread(&self.origin)
            };
            sink.stack("memcheck", thread)
        });
        let Self {
            origin,
            lines,
            text,
            signal,
            what,
            ..
        } = *self;
        let Some(signal) = signal else {
            let what = Sanitizer { stack: thread, ..what };
            sink.event(EventPayload::Sanitizer(what), &origin, lines, &text);
            return;
        };
        let exit = exit(Some(signal.to_owned()), None);
        sink.event(EventPayload::ProcessExit(exit), &origin, lines, &text);
        let is_null = |Hex(at): &Hex| *at < NULL_END;
        let kind = what
            .address
            .as_ref()
            .map(|at| if is_null(at) { "null" } else { "unmapped" });
        sink.crash(Crash {
            signal: Some(signal.to_owned()),
            address: what.address,
            address_kind: kind.map(str::to_owned),
            pid: origin.pid,
            rank: origin.rank,
            thread,
            at: Some(Place::Line(lines)),
            ..Crash::default()
        });
    }
}

/// The text behind Valgrind's mark.
fn own_words(text: &str) -> Option<&str> {
    let (pid, text) = text.strip_prefix("==")?.split_once("==")?;
    (!pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

/// `    at 0x109156: sum (sum.c:8)`, `    by 0x4E5: ??? (in /usr/lib/libx.so)`.
fn parse_frame(text: &str, number: u64) -> Option<Frame> {
    let found = regex!(
        r"^ +(?:at|by) (?P<address>0x[0-9A-Fa-f]+): (?P<function>.+?)(?: \((?:in (?P<module>[^()]+)|(?P<file>[^():]+):(?P<line>\d+))\))?$"
    )
    .captures(text.trim_end())?;
    let part = |name| found.name(name).map(|part: regex::Match| part.as_str().to_owned());
    Some(Frame {
        kind: FrameKind::Native,
        function: part("function").filter(|name| name != "???"),
        file: part("file"),
        line: part("line").and_then(|line| line.parse().ok()),
        module: part("module"),
        address: part("address").and_then(|address| address.to_ascii_lowercase().parse().ok()),
        at: Some(Place::Line([number, number])),
        ..Frame::default()
    })
}
