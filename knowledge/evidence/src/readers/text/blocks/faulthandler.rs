//! faulthandler dumps, Python 3.9 to 3.14.
//!
//! Thread numbers are pthread handles, not thread ids. Other threads come first, the current one last. Two threads
//! that fault at once cut each other's dump short; whatever stands there is kept.

use super::{python_frame, readable};
use crate::model::{EventPayload, FatalPythonError, Frame, FrameKind, Place, Thread, ThreadId};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::{Sink, new_thread};
use crate::readers::text::{Block, Next, regex};

/// Opens a dump.
pub const RULE: Rule = Rule {
    literals: &[
        "Fatal Python error: ",
        "Windows fatal exception: ",
        "(most recent call first):",
        "Timeout (",
    ],
    read,
};

/// Names of extension modules that are kept.
const EXTENSION_MODULES: usize = 512;

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    let head = parse_head(line.text);
    let thread = parse_thread(line.text);
    if (head.is_none() && thread.is_none()) || line.is_quoted() {
        return None;
    }
    let mut dump = Dump {
        origin: line.origin.clone(),
        first: line.number,
        last: line.number,
        head: head.map(str::to_owned),
        threads: Vec::new(),
        c_stack: None,
        in_c_stack: false,
        extension_modules: Vec::new(),
    };
    dump.threads.extend(thread);
    Some(Box::new(dump))
}

/// The error a dump's head line names.
fn parse_head(text: &str) -> Option<&str> {
    let found =
        regex!(r"(?:Fatal Python error: |Windows fatal exception: )(.+?)\s*$|^(Timeout \(\d+:\d\d:\d\d(?:\.\d+)?\))!")
            .captures(text)?;
    let error = found.get(1).or(found.get(2))?.as_str();
    // Two threads that write at once: `Fatal Python error: Segmentation faultFatal Python error: …`.
    Some(error.split("Fatal Python error: ").next().unwrap_or(error).trim())
}

#[derive(Debug)]
struct DumpedThread {
    handle: Option<String>,
    name: Option<String>,
    current: bool,
    frames: Vec<Frame>,
    cut: bool,
}

/// `Thread 0x… [name] (most recent call first):`, `Current thread 0x…`, `Stack (most recent call first):`.
fn parse_thread(text: &str) -> Option<DumpedThread> {
    let found = regex!(
        r"^\s*(Current thread|Thread|Stack)(?: (0x[0-9a-f]+))?(?: \[(.*)\])?(?: \(most recent call first\))?:\s*(?:<.*>)?\s*$"
    )
    .captures(text)?;
    let kind = found.get(1)?.as_str();
    let handle = found.get(2).map(|handle| handle.as_str().to_owned());
    if handle.is_none() && kind != "Stack" {
        return None;
    }
    Some(DumpedThread {
        handle,
        name: found.get(3).map(|name| name.as_str().to_owned()),
        current: kind != "Thread",
        frames: Vec::new(),
        cut: false,
    })
}

#[derive(Debug)]
struct Dump {
    origin: Origin,
    first: u64,
    last: u64,
    head: Option<String>,
    threads: Vec<DumpedThread>,
    /// Python 3.14 adds the current thread's native frames.
    c_stack: Option<Vec<Frame>>,
    in_c_stack: bool,
    extension_modules: Vec<String>,
}

impl Block for Dump {
    fn next(&mut self, line: &Line) -> Next {
        let text = line.text;
        if text.trim().is_empty() {
            return Next::More;
        }
        let taken = self.thread_line(text) || self.frame_line(text, line.number) || self.closing_line(text);
        if !taken {
            return Next::Ended;
        }
        self.last = line.number;
        Next::Quoted
    }

    fn finish(self: Box<Self>, sink: &mut Sink) {
        let Self {
            origin,
            first,
            last,
            head,
            threads,
            c_stack,
            extension_modules,
            ..
        } = *self;
        let crashed = head.as_deref().is_some_and(|head| !head.starts_with("Timeout"));
        for thread in threads {
            thread.finish(&origin, crashed, sink);
        }
        if let Some(frames) = c_stack.filter(|frames| !frames.is_empty()) {
            sink.stack(
                "c-stack",
                Thread {
                    crashed,
                    frames,
                    ..new_thread(&origin)
                },
            );
        }
        if let Some(error) = head {
            let text = if crashed {
                format!("Fatal Python error: {error}")
            } else {
                error.clone()
            };
            let signal = signal_of(&error).map(str::to_owned);
            let what = FatalPythonError {
                error,
                signal,
                extension_modules,
            };
            sink.event(EventPayload::FatalPythonError(what), &origin, [first, last], &text);
        }
    }
}

impl Dump {
    fn thread_line(&mut self, text: &str) -> bool {
        if regex!(r"^\s*Current thread's C stack trace").is_match(text) {
            self.c_stack = Some(Vec::new());
            self.in_c_stack = true;
            return true;
        }
        let Some(thread) = parse_thread(text) else { return false };
        self.in_c_stack = false;
        self.threads.push(thread);
        true
    }

    fn frame_line(&mut self, text: &str, number: u64) -> bool {
        if self.in_c_stack {
            let frame = parse_native(text, number);
            let taken = frame.is_some();
            self.c_stack.get_or_insert_default().extend(frame);
            return taken || text.trim_start().starts_with('<');
        }
        let Some(thread) = self.threads.last_mut() else {
            return false;
        };
        if let Some(frame) = parse_python(text, number) {
            thread.frames.push(frame);
        } else if text.trim() == "..." {
            thread.cut = true;
        } else {
            return false;
        }
        true
    }

    fn closing_line(&mut self, text: &str) -> bool {
        if let Some(found) = regex!(r"^Extension modules: (.*?)(?: \(total: \d+\))?\s*$").captures(text) {
            let names = found.get(1).map_or("", |names| names.as_str());
            self.extension_modules = names.split(", ").take(EXTENSION_MODULES).map(str::to_owned).collect();
            return true;
        }
        // Said in brackets: `<Cannot show all threads while the GIL is disabled>`, `<no Python frame>`;
        // after the head of some errors: `Python runtime state: initialized`.
        let text = text.trim();
        (text.starts_with('<') && text.ends_with('>')) || text.starts_with("Python runtime state: ")
    }
}

impl DumpedThread {
    fn finish(self, origin: &Origin, crashed: bool, sink: &mut Sink) {
        let mut frames = self.frames;
        frames.truncate(sink.frame_limit());
        let thread = Thread {
            name: self.name,
            crashed: crashed && self.current,
            frames,
            // faulthandler stops after 100 frames and says `...`; how many are missing nobody knows.
            frames_omitted: self.cut.then_some(1),
            ..new_thread(origin)
        };
        match self.handle {
            Some(handle) => sink.thread(Thread {
                id: ThreadId::Label(handle),
                ..thread
            }),
            None => {
                sink.stack("stack", thread);
            }
        }
    }
}

/// `  File "path", line 7 in function`; the line may be `???`.
fn parse_python(text: &str, number: u64) -> Option<Frame> {
    let found = regex!(r#"^\s*File "((?:[^"\\]|\\.)*)", line (\d+|\?\?\?) in (.+?)\s*$"#).captures(text)?;
    Some(python_frame(&found, number))
}

/// `  Binary file "/lib/libc.so.6", at gsignal+0x1e [0x7f…]`; the symbol may be missing (`at +0x3c050`).
fn parse_native(text: &str, number: u64) -> Option<Frame> {
    let found = regex!(r#"^\s*Binary file "(.*?)"(?:, at (\S*?)(?:\+0x([0-9a-f]+))?)? \[0x([0-9a-f]+)\]\s*$"#)
        .captures(text)?;
    let hex = |index| found.get(index).and_then(|m| m.as_str().parse().ok());
    let symbol = found.get(2).map(|name| name.as_str()).filter(|name| !name.is_empty());
    Some(Frame {
        kind: FrameKind::Native,
        function: symbol.map(readable),
        module: found.get(1).map(|file| file.as_str().to_owned()),
        // With a symbol the number is relative to that, not to the file.
        offset: if symbol.is_none() { hex(3) } else { None },
        address: hex(4),
        at: Some(Place::Line([number, number])),
        ..Frame::default()
    })
}

fn signal_of(error: &str) -> Option<&'static str> {
    match error {
        "Segmentation fault" | "access violation" => Some("SIGSEGV"),
        "Aborted" => Some("SIGABRT"),
        "Bus error" => Some("SIGBUS"),
        "Floating point exception" | "Floating-point exception" => Some("SIGFPE"),
        "Illegal instruction" => Some("SIGILL"),
        _ => None,
    }
}
