//! Stacks as debuggers print them, and tools that print like them: gdb, systemd-coredump, eu-stack, LLVM.
//!
//! * gdb: `Program received signal SIGSEGV, Segmentation fault.`, `Thread 2 (Thread 0x7f… (LWP 9) "python"):`,
//!   `#0  0x7f… in f (x=0x0) at file.c:7`, `#1  0x7f… in g () from lib.so`
//! * systemd-coredump: `Process 9 (python) of user 0 terminated abnormally with signal 11/SEGV, processing...`,
//!   `Process 9 (python) of user 0 dumped core.`, `Stack trace of thread 9:`, `#0  0x7f… f (lib.so + 0x1520)`
//! * coredumpctl: `Signal: 11 (SEGV)`, and the same stacks
//! * eu-stack: `TID 9:`, `#0  0x7f… f`
//! * gdb's answers about the signal, as [`Answers`] has them
//! * lldb, as [`lldb`] has it
//! * LLVM: `Stack dump:`, ` #0 0x7f… f(int) (lib.so+0x1520)`

use regex::Captures;

use super::gdb_answers::Answers;
use super::lldb;
use crate::Hex;
use crate::model::{Crash, EventPayload, Frame, FrameKind, Place, Thread};
use crate::readers::text::grammar::exit::{exit, number_of_signal, signal_name};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::{Sink, new_thread};
use crate::readers::text::{Block, Next, regex};

/// Opens a listing.
pub const RULE: Rule = Rule {
    literals: &[
        " received signal SIG",
        " terminated with signal SIG",
        " terminated abnormally with signal ",
        ") of user ",
        "Stack trace of thread ",
        " (LWP ",
        "TID ",
        "Signal: ",
        "Stack dump",
        "stop reason = ",
        "[Thread debugging using libthread_db enabled]",
        "(gdb) bt",
        "(gdb) where",
        "(gdb) backtrace",
    ],
    read,
};

/// Signals at which a debugger stops a program that would have died of them.
const DEADLY: [&str; 5] = ["SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"];

/// Lines in a row (source, values of variables, commands) that tell nothing and end nothing.
const BETWEEN: u64 = 24;

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() {
        return None;
    }
    let mut listing = Listing {
        origin: line.origin.clone(),
        lines: [line.number; 2],
        text: line.text.to_owned(),
        signal: None,
        address: None,
        code: None,
        answers: Answers::default(),
        stacks: Vec::new(),
    };
    let opens = listing.head(line.text) || listing.attached(line.text);
    opens.then(|| Box::new(listing) as Box<dyn Block>)
}

#[derive(Debug)]
struct Listing {
    origin: Origin,
    lines: [u64; 2],
    text: String,
    signal: Option<&'static str>,
    /// What the signal was about.
    address: Option<Hex>,
    /// The signal's code, by its name.
    code: Option<&'static str>,
    answers: Answers,
    stacks: Vec<Stack>,
}

/// One thread's frames.
#[derive(Debug, Default)]
struct Stack {
    name: Option<String>,
    crashed: bool,
    /// The next frame is the one that a signal interrupted.
    interrupted: bool,
    frames: Vec<Frame>,
    /// Frames that it has by the number of the last one: people leave out the middle of a long stack.
    depth: u64,
}

impl Stack {
    /// Whether the thread was sent to where there is no code, which no process survives.
    fn is_at_null(&self) -> bool {
        self.frames.first().and_then(|frame| frame.address) == Some(Hex(0))
    }

    /// Whether the thread is ending its process.
    fn gives_up(&self) -> bool {
        let ends = |name: &str| ["ggml_abort", "abort", "__GI_abort"].contains(&name);
        let mut names = self.frames.iter().filter_map(|frame| frame.function.as_deref());
        names.any(ends)
    }
}

impl Listing {
    /// A line that says what the frames after it are.
    fn head(&mut self, text: &str) -> bool {
        self.signal_line(text) || self.thread_line(text) || self.lldb_line(text) || self.process_line(text)
    }

    /// gdb at a process that runs, as those call it that print their own stack when they give up, or what is pasted of
    /// an answer of gdb alone.
    fn attached(&mut self, text: &str) -> bool {
        let is_attached = text.trim_end() == "[Thread debugging using libthread_db enabled]"
            || regex!(r"^\(gdb\) (?:bt|where|backtrace)(?: full)?\s*$").is_match(text);
        if is_attached {
            self.stacks.push(Stack::default());
        }
        is_attached
    }

    /// lldb's line above a thread's frames, which has the signal as well.
    fn lldb_line(&mut self, text: &str) -> bool {
        let Some(head) = lldb::head(text) else {
            return false;
        };
        let number = head.signal.as_deref().and_then(number_of_signal);
        let signal = number.and_then(signal_name).filter(|signal| DEADLY.contains(signal));
        // A breakpoint, a step, or a thread that others stopped.
        if signal.is_none() && self.stacks.is_empty() {
            return false;
        }
        if self.signal.is_none() {
            (self.signal, self.address) = (signal, head.address.filter(|_| signal.is_some()));
            self.code = head.code;
        }
        self.stacks.push(Stack {
            name: head.name,
            crashed: signal.is_some(),
            ..Stack::default()
        });
        true
    }

    /// What systemd writes of a process that dumps its core. It does so of every process of the machine.
    fn process_line(&mut self, text: &str) -> bool {
        let Some(found) = regex!(
            r"^Process (\d+) \((?:[\w.-]*python[\d.]*|pt_\S+|ray::.*|torchrun)\) of user \d+ (?:dumped core\.|terminated abnormally with signal (\d+)/)"
        )
        .captures(text) else {
            return false;
        };
        self.origin.pid = found[1].parse().ok();
        let number = found.get(2).and_then(|number| number.as_str().parse().ok());
        self.signal = number.and_then(signal_name).or(self.signal);
        true
    }

    fn signal_line(&mut self, text: &str) -> bool {
        let Some(found) = regex!(
            r#"(?x) ^(?:\(gdb\)\ )? (?:Program|Thread\ \d+(?:\ ".*")?)\ (?:received|terminated\ with)\ signal\ (?P<name>SIG[A-Z]+),
            | ^\s*Signal:\ (?P<number>\d+)\ \([A-Z]+\)"#
        )
        .captures(text) else {
            return false;
        };
        let part = |name| found.name(name).map(|part: regex::Match| part.as_str());
        let number = part("name").map_or_else(|| part("number")?.parse().ok(), number_of_signal);
        let signal = number.and_then(signal_name).filter(|signal| DEADLY.contains(signal));
        if signal.is_none() {
            return false;
        }
        self.signal = self.signal.or(signal);
        self.stacks.push(Stack {
            crashed: part("name").is_some(),
            ..Stack::default()
        });
        true
    }

    /// gdb lets the program handle the signal, as Java's virtual machine does with faults that it causes itself. One that
    /// dies of it is told of once more.
    fn goes_on(&mut self, text: &str) -> bool {
        let goes_on = text.trim_end() == "Continuing." && self.stacks.iter().all(|stack| stack.frames.is_empty());
        if goes_on {
            (self.signal, self.address, self.code) = (None, None, None);
            self.stacks.clear();
        }
        goes_on
    }

    fn thread_line(&mut self, text: &str) -> bool {
        let Some(found) = regex!(
            r#"(?x) ^(?P<gdb>Thread)\ \d+\ \((?:Thread\ 0x[0-9a-f]+\ )?\(?LWP\ \d+\)?(?:\ "(?P<name>[^"]*)")?\)(?:\ \(.*\))?:
            | ^\s*(?P<dumped>Stack\ trace\ of\ thread)\ \d+:
            | ^TID\ \d+:$
            | ^(?P<llvm>Stack\ dump(?:\ without\ symbol\ names\ .*)?:)"#
        )
        .captures(text) else {
            return false;
        };
        // The first thread of a dumped core is the one that crashed.
        let is_first = self.stacks.iter().all(|stack| stack.frames.is_empty());
        self.stacks.push(Stack {
            name: found.name("name").map(|name| name.as_str().to_owned()),
            crashed: found.name("llvm").is_some() || found.name("dumped").is_some() && is_first,
            ..Stack::default()
        });
        true
    }

    fn lldb_frame(&mut self, text: &str, number: u64) -> bool {
        let Some(((index, frame), stack)) = lldb::frame(text, number).zip(self.stacks.last_mut()) else {
            return false;
        };
        if index == 0 {
            stack.frames.clear();
        }
        stack.depth = index.saturating_add(1);
        stack.frames.push(frame);
        true
    }

    fn frame_line(&mut self, text: &str, number: u64) -> bool {
        let Some(found) =
            regex!(r"^\s*#(?P<index>\d+)\s+(?:(?P<at>0x[0-9a-f]+)\s+(?:in\s+)?)?(?P<rest>\S.*?)\s*$").captures(text)
        else {
            return false;
        };
        let Some(stack) = self.stacks.last_mut() else {
            return false;
        };
        // The same stack once more, as after a stop and then by `bt`.
        if &found["index"] == "0" {
            stack.frames.clear();
        }
        stack.depth = found["index"].parse::<u64>().map_or(0, |index| index.saturating_add(1));
        if &found["rest"] == "<signal handler called>" {
            stack.crashed = true;
            stack.interrupted = true;
            return true;
        }
        stack.frames.push(Frame {
            signal: std::mem::take(&mut stack.interrupted),
            ..frame(&found, number)
        });
        true
    }
}

impl Block for Listing {
    fn next(&mut self, line: &Line) -> Next {
        let (text, number) = (line.text, line.number);
        if !self.head(text)
            && !self.frame_line(text, number)
            && !self.lldb_frame(text, number)
            && !self.answers.take(text)
            && !self.goes_on(text)
        {
            let is_over = line.number.saturating_sub(self.lines[1]) > BETWEEN;
            return if is_over { Next::Ended } else { Next::More };
        }
        self.lines[1] = line.number;
        Next::Quoted
    }

    fn finish(self: Box<Self>, sink: &mut Sink) {
        let Self {
            origin,
            lines,
            text,
            signal,
            address,
            code,
            answers,
            mut stacks,
        } = *self;
        // Where nobody names the signal, a stack may tell it.
        let told: [(fn(&Stack) -> bool, _); 2] = [(Stack::gives_up, "SIGABRT"), (Stack::is_at_null, "SIGSEGV")];
        let signal = signal.or_else(|| {
            told.iter().find_map(|(tells, signal)| {
                stacks.iter_mut().find(|stack| tells(stack))?.crashed = true;
                Some(*signal)
            })
        });
        let (mut crashed, mut at_null) = (None, false);
        for mut stack in stacks.into_iter().filter(|stack| !stack.frames.is_empty()) {
            let omitted = stack.depth.saturating_sub(stack.frames.len() as u64);
            stack.frames.truncate(sink.frame_limit());
            let is_at_null = stack.is_at_null();
            let thread = Thread {
                name: stack.name,
                crashed: stack.crashed,
                frames: stack.frames,
                frames_omitted: (omitted > 0).then_some(omitted),
                ..new_thread(&origin)
            };
            let id = sink.stack("debugger", thread);
            if stack.crashed && crashed.is_none() {
                crashed = Some(id);
                at_null = is_at_null;
            }
        }
        let Some(signal) = signal.map(str::to_owned) else {
            return;
        };
        let exit = exit(Some(signal.clone()), None);
        sink.event(EventPayload::ProcessExit(exit), &origin, lines, &text);
        // The processor was sent to where there is no code.
        let null = at_null && signal == "SIGSEGV";
        let kind = if null {
            Some("null")
        } else {
            answers.address_kind(address)
        };
        sink.crash(Crash {
            code: answers.code(&signal).or(code.map(str::to_owned)),
            signal: Some(signal),
            address: null.then_some(Hex(0)).or(address).or(answers.address()),
            address_kind: kind.map(str::to_owned),
            access: null.then(|| "execute".to_owned()),
            thread: crashed,
            pid: origin.pid,
            rank: origin.rank,
            at: Some(Place::Line(lines)),
            ..Crash::default()
        });
    }
}

/// The function of a line that says where a program stands: `0x7f… in f (x=0) at file.c:7`, with a frame's number or
/// without.
pub fn function_of(text: &str) -> Option<&str> {
    let found = regex!(r"^(?:#\d+\s+)?0x[0-9a-f]+ in (.+?)(?: \(.*)?$").captures(text)?;
    Some(found.get(1)?.as_str())
}

/// What follows the address: `f (lib.so + 0x1520)` or `f (x=0x0) at file.c:7`, `f () from lib.so`.
fn frame(found: &Captures, number: u64) -> Frame {
    let rest = &found["rest"];
    let told = regex!(r"^(?P<function>.*?)\s*\((?P<module>[^()\s]+?)\s?\+\s?(?P<offset>0x[0-9a-f]+)\)$")
        .captures(rest)
        .or_else(|| {
            // Where a library has no names, gdb has an empty one, or none: `() at /lib/libcuda.so.1`.
            regex!(r"^\(\) (?:at|from) (?P<module>\S+)$").captures(rest)
        })
        .or_else(|| {
            regex!(
                r"^(?P<function>.+?)(?: \(.*?\))?(?: at (?P<file>\S+?):(?P<line>\d+)| (?:from|at) (?P<module>\S+))?$"
            )
            .captures(rest)
        });
    let part = |name| {
        let part = told.as_ref()?.name(name)?;
        Some(part.as_str()).filter(|text| !text.is_empty())
    };
    Frame {
        kind: FrameKind::Native,
        // eu-stack adds the version of a symbol: `poll@@GLIBC_2.2.5`.
        function: part("function")
            .and_then(|name| name.split('@').next())
            .filter(|name| !["", "??", "n/a"].contains(name))
            .map(super::readable),
        module: part("module").map(str::to_owned),
        offset: part("offset").and_then(|offset| offset.parse().ok()),
        address: found.name("at").and_then(|at| at.as_str().parse().ok()),
        file: part("file").map(str::to_owned),
        line: part("line").and_then(|line| line.parse().ok()),
        at: Some(Place::Line([number, number])),
        ..Frame::default()
    }
}
