//! What a handler of fatal signals prints before the process dies: Open MPI's, glog's, abseil's, Folly's, UCX's,
//! torch's, Java's, uWSGI's and that of glibc's catchsegv.
//!
//! * Open MPI: `*** Process received signal ***`, `Signal: Segmentation fault (11)`, `[ 0] lib.so(f+0x1f)[0x7f…]`
//! * glog: `*** SIGSEGV (@0x8) received by PID 7 (TID 0x7f…) from PID 8; stack trace: ***`, `    @     0x7f… f`
//! * abseil: `*** SIGSEGV received at time=1 on cpu 3 ***`, `    @     0x7f…         64  f()`
//! * Folly: `*** Signal 11 (SIGSEGV) (0x8) received by PID 7 (…) (code: address not mapped to object), stack trace: ***`
//! * UCX: `[host:7:0:9] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x8)`,
//!   ` 0 0x3ef20 f()  file.c:7`
//! * torch: `SIGSEGV(11), PID: 7, Thread 9: `, `frame #0: f + 0x1f (0x7f… in lib.so)`
//! * catchsegv (glibc before 2.35, `debug/segfault.c`): `*** Segmentation fault`, `Register dump:`, ` Trap: 0000000e … CR2:
//!   00000008`, `lib.so(f+0x1f)[0x7f…]`
//! * Triton: `Signal (11) received.`, ` 0# 0x7f… in lib.so` (Boost.Stacktrace)
//! * uWSGI: `!!! uWSGI process 7 got Segmentation Fault !!!`, `*** backtrace of 7 ***`, `lib.so(+0x1f) [0x7f…]`
//! * MATLAB: `   Segmentation violation detected at 2026-11-21 …`
//! * Julia: `[7] signal (11.1): Segmentation fault`
//! * Go: `SIGSEGV: segmentation violation`, `PC=0x7f… m=0 sigcode=1 addr=0x8`, or in one line behind a panic
//! * Java: `#  SIGSEGV (0xb) at pc=0x7f…, pid=7, tid=9`, `# C  [lib.so+0x1f]  f+0x8`, and further down in its
//!   `hs_err_pid7.log` the whole stack under `Native frames:`, and `siginfo: si_signo: 11 (SIGSEGV), si_code: 1
//!   (SEGV_MAPERR), si_addr: 0x28`

use super::cpp_stack;
use crate::Hex;
use crate::model::{Crash, EventPayload, Frame, FrameKind, Place, Thread};
use crate::readers::text::grammar::exit::{exit, number_of_signal, signal_name};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::{Sink, new_thread};
use crate::readers::text::{Block, Next, regex};

/// Opens a dump.
pub const RULE: Rule = Rule {
    literals: &[
        "*** Process received signal ***",
        "*** Segmentation fault",
        "*** Bus error",
        "*** Illegal instruction",
        "*** Floating point exception",
        ") received by PID ",
        "), see ",
        "!!! uWSGI process ",
        " received at time=",
        "Caught signal ",
        "), PID: ",
        ") at pc=0x",
        "Signal (",
        "signal (",
        " violation detected at ",
        "SIGSEGV: ",
        "SIGBUS: ",
        "SIGABRT: ",
        "SIGFPE: ",
        "SIGILL: ",
    ],
    read,
};

/// Signals that an instruction of the process itself causes. The code and the address tell of these alone.
const FAULTS: [&str; 4] = ["SIGILL", "SIGBUS", "SIGFPE", "SIGSEGV"];

/// Signals that a process raises when it gives up. Others come from outside.
const OWN: [&str; 2] = ["SIGABRT", "SIGTRAP"];

/// Addresses below are a null pointer and the offset of a member or an element.
const NULL_END: u64 = 64 << 10;

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    // Java writes all of it as comments.
    if line.is_quoted() && !line.text.starts_with("#  SIG") {
        return None;
    }
    let mut dump = Dump {
        origin: line.origin.clone(),
        lines: [line.number, line.number],
        text: line.text.to_owned(),
        signal: None,
        code: None,
        address: None,
        is_fetch: false,
        by_java: line.text.starts_with("#  SIG"),
        frames: Vec::new(),
    };
    if line.text.contains(" violation detected at ") {
        dump.signal = named(line.text);
    }
    let opened = line.text.trim() == "*** Process received signal ***"
        || named(line.text).is_some()
        || dump.names_signal(line.text);
    opened.then(|| Box::new(dump) as Box<dyn Block>)
}

/// The signal that the first line of catchsegv names.
fn named(text: &str) -> Option<&'static str> {
    if text.trim_start().starts_with("Segmentation violation detected at ") {
        return Some("SIGSEGV");
    }
    if regex!(r"^!!! uWSGI process \d+ got Segmentation Fault !!!$").is_match(text.trim_end()) {
        return Some("SIGSEGV");
    }
    match text.trim_end().strip_prefix("*** ")? {
        "Segmentation fault" => Some("SIGSEGV"),
        "Bus error" => Some("SIGBUS"),
        "Illegal instruction" => Some("SIGILL"),
        "Floating point exception" => Some("SIGFPE"),
        _ => None,
    }
}

#[derive(Debug)]
struct Dump {
    origin: Origin,
    lines: [u64; 2],
    text: String,
    signal: Option<&'static str>,
    code: Option<&'static str>,
    address: Option<Hex>,
    /// The processor was to read an instruction at the address.
    is_fetch: bool,
    /// Java's virtual machine wrote it, which tells much else in between.
    by_java: bool,
    frames: Vec<Frame>,
}

impl Dump {
    /// The line that names the signal and what else is known.
    fn names_signal(&mut self, text: &str) -> bool {
        let Some(found) = regex!(
            r"(?x) ^\s* (?: \[?SignalInfo:\ )? \*\*\*\ (?: Signal\ \d+\ \( )? (?P<name>SIG[A-Z]+) \)?\ (?: \(@?(?P<at>0x[0-9a-f]+)\)(?:,\ see\ \S+)?\ received\ by\ PID\ (?P<pid>\d+) (?:.*\(code:\ (?P<code>[^()]*))? | received\ at\ time=\d )
            | ^\[[^\]:]+:(?P<process>\d+)\s*:\d+:\d+\]\ Caught\ signal\ (?P<number>\d+)\ \((?P<words>[^()]*(?:\(nil\))?)
            | ^Signal\ \((?P<boost>\d+)\)\ received\.?\s*$
            | ^(?:\[(?P<julia_pid>\d+)\]\ )?signal\ \((?P<julia>\d+)(?:\.\d+)?\):\ [A-Z]
            | ^\[?(?:signal\ )?(?P<go>SIG[A-Z]+):\ (?:segmentation\ violation|bus\ error|abort|illegal\ instruction|floating-point\ exception)(?:\ code=(?P<go_code>0x[0-9a-f]+)\ addr=(?P<go_at>0x[0-9a-f]+)\ pc=0x[0-9a-f]+\])?\s*$
            | ^(?P<torch>SIG[A-Z]+)\(\d+\),\ PID:\ (?P<torch_pid>\d+),\ Thread\ \d+:
            | ^\#\s+(?P<java>SIG[A-Z]+)\ \(0x[0-9a-f]+\)\ at\ pc=0x[0-9a-f]+,\ pid=(?P<java_pid>\d+),\ tid="
        )
        .captures(text) else {
            return false;
        };
        let part = |name| found.name(name).map(|part: regex::Match| part.as_str());
        let name = ["name", "torch", "java", "go"].iter().find_map(|name| part(name));
        let number = || {
            ["number", "boost", "julia"]
                .iter()
                .find_map(|name| part(name))?
                .parse()
                .ok()
        };
        let number = name.map_or_else(number, number_of_signal);
        self.signal = number.and_then(signal_name);
        let pid = ["pid", "process", "torch_pid", "java_pid", "julia_pid"]
            .iter()
            .find_map(|name| part(name));
        self.origin.pid = pid.and_then(|pid| pid.parse().ok()).or(self.origin.pid);
        self.code = part("code").or(part("words")).and_then(code);
        self.code = self.code.or_else(|| self.code_of_go(part("go_code")?));
        self.address = part("at").or(part("go_at")).and_then(|at| at.parse().ok());
        if let Some(words) = part("words") {
            let address = words.rsplit_once("at address ").and_then(|(_, at)| address(at));
            // Zero is told also where the processor had no address to give.
            self.address = address.filter(|Hex(at)| self.code.is_some() || *at != 0);
        }
        self.signal.is_some()
    }

    /// The lines of Open MPI that follow its first.
    fn told_apart(&mut self, text: &str) -> bool {
        if let Some((_, number)) = text.strip_prefix("Signal: ").and_then(|rest| rest.rsplit_once('(')) {
            self.signal = number.trim_end_matches(')').parse().ok().and_then(signal_name);
            text.clone_into(&mut self.text);
        } else if let Some(words) = text.strip_prefix("Signal code: ") {
            self.code = code(words);
        } else if let Some(address) = text.strip_prefix("Failing at address: ") {
            self.address = self::address(address);
        } else {
            return self.has_registers(text);
        }
        true
    }

    /// What catchsegv prints of the registers. The kind of the trap (13 is a general protection fault, which has no
    /// address; 14 a page fault, of which `CR2` is the address) is that of x86.
    fn has_registers(&mut self, text: &str) -> bool {
        // catchsegv, and uWSGI.
        if text == "Register dump:" || text.starts_with("*** backtrace of ") {
            self.signal = named(&self.text);
            return self.signal.is_some();
        }
        if let Some(found) =
            regex!(r"^ Trap: 0*(?P<trap>[0-9a-f]+) +Error: (?P<error>[0-9a-f]+) .*\bCR2: (?P<at>[0-9a-f]+)$")
                .captures(text)
        {
            match &found["trap"] {
                "d" => self.code = Some("SI_KERNEL"),
                "e" => {
                    self.address = format!("0x{}", &found["at"]).parse().ok();
                    // Bit 4 of the page fault's error code: the instruction itself was to be read there.
                    let error = u64::from_str_radix(&found["error"], 16).unwrap_or_default();
                    self.is_fetch = error & 0x10 != 0;
                }
                _ => {}
            }
            return true;
        }
        if let Some(found) =
            regex!(r"^PC=(?P<pc>0x[0-9a-f]+) m=\d+ sigcode=(?P<code>\d+)(?: addr=(?P<at>0x[0-9a-f]+))?").captures(text)
        {
            self.code = self.code_of_go(&found["code"]);
            self.address = found.name("at").and_then(|at| at.as_str().parse().ok());
            // The instruction itself could not be read.
            self.is_fetch = self.address.is_some() && found["pc"].parse().ok() == self.address;
            return true;
        }
        text == "signal arrived during cgo execution"
            || text == "Backtrace:"
            || regex!(r"^ (?:\w+: +|ST\(\d\) )[0-9a-f]").is_match(text)
    }

    /// The signal's code, of which Go prints the number (that of Linux).
    fn code_of_go(&self, number: &str) -> Option<&'static str> {
        match (self.signal?, number.trim_start_matches("0x")) {
            ("SIGSEGV", "1") => Some("SEGV_MAPERR"),
            ("SIGSEGV", "2") => Some("SEGV_ACCERR"),
            (_, "128" | "80") => Some("SI_KERNEL"),
            _ => None,
        }
    }

    /// Where the frame before it is, as Folly prints it on a line of its own.
    fn has_place(&mut self, text: &str) -> bool {
        let Some((file, line)) = text
            .strip_prefix("          ")
            .and_then(|place| place.trim().rsplit_once(':'))
        else {
            return false;
        };
        let (Some(frame), Ok(line)) = (self.frames.last_mut(), line.parse()) else {
            return false;
        };
        frame.file = Some(file.to_owned());
        frame.line = Some(line);
        true
    }

    /// What Java's log tells below its first lines: all native frames, of which those had the innermost one, and what the
    /// kernel said of the signal.
    fn told_by_java(&mut self, text: &str) -> bool {
        if text.starts_with("Native frames:") {
            self.frames.clear();
            return true;
        }
        let found =
            regex!(r"^siginfo: .*\bsi_code: -?\d+ \((?P<code>\w+)\)(?:, si_addr: (?P<at>0x[0-9a-f]+))?").captures(text);
        let Some(found) = found.filter(|_| self.address.is_none()) else {
            return false;
        };
        self.code = ["SEGV_MAPERR", "SEGV_ACCERR", "SI_KERNEL", "SI_USER", "SI_TKILL"]
            .into_iter()
            .find(|code| *code == &found["code"]);
        self.address = found.name("at").and_then(|at| at.as_str().parse().ok());
        true
    }

    fn line_of_java(&mut self, text: &str, number: u64) -> Next {
        /// Lines in a row of which nothing is kept.
        const BETWEEN: u64 = 64;
        if let Some(frame) = parse_frame(text, number) {
            self.frames.push(frame);
        } else if !self.told_by_java(text) && !is_between(text) {
            let is_over = number.saturating_sub(self.lines[1]) > BETWEEN;
            return if is_over { Next::Ended } else { Next::More };
        }
        self.lines[1] = number;
        Next::Quoted
    }

    fn has(&self, signals: &[&str]) -> bool {
        self.signal.is_some_and(|signal| signals.contains(&signal))
    }

    fn crash(&self) -> Crash {
        // A signal that somebody sent has the sender where a fault has the address.
        let is_fault = self.has(&FAULTS) && !matches!(self.code, Some("SI_USER" | "SI_TKILL"));
        let address = self.address.filter(|_| is_fault && self.code != Some("SI_KERNEL"));
        let is_null = |Hex(at): &Hex| self.signal == Some("SIGSEGV") && *at < NULL_END;
        let kind = match (address.as_ref(), self.code) {
            (Some(address), _) if is_null(address) => Some("null"),
            (Some(_), Some("SEGV_MAPERR")) => Some("unmapped"),
            (_, Some("SI_KERNEL")) if self.signal == Some("SIGSEGV") => Some("non-canonical"),
            _ => None,
        };
        Crash {
            signal: self.signal.map(str::to_owned),
            code: self.code.map(str::to_owned),
            address,
            address_kind: kind.map(str::to_owned),
            access: self.is_fetch.then(|| "execute".to_owned()),
            pid: self.origin.pid,
            rank: self.origin.rank,
            at: Some(Place::Line(self.lines)),
            ..Crash::default()
        }
    }
}

impl Block for Dump {
    fn next(&mut self, line: &Line) -> Next {
        let text = line.text.trim_end();
        let is_end =
            text.starts_with("*** End of error message ***") || text.starts_with("=====") && text.ends_with("==");
        if is_end && !text.contains("backtrace") {
            return Next::Last;
        }
        if self.by_java {
            return self.line_of_java(text, line.number);
        }
        if let Some(frame) = parse_frame(text, line.number) {
            self.frames.push(frame);
        } else if !self.told_apart(text) && !self.has_place(text) && !is_between(text) {
            return Next::Ended;
        }
        self.lines[1] = line.number;
        // Some print frames as torch prints those of an exception.
        Next::Quoted
    }

    fn finish(mut self: Box<Self>, sink: &mut Sink) {
        let Some(signal) = self.signal else { return };
        let mut frames = std::mem::take(&mut self.frames);
        frames.truncate(sink.frame_limit());
        mark_interrupted(&mut frames);
        let thread = (!frames.is_empty()).then(|| {
            let thread = Thread {
                frames,
                crashed: true,
                ..new_thread(&self.origin)
            };
            sink.stack("signal-dump", thread)
        });
        let exit = exit(Some(signal.to_owned()), None);
        sink.event(EventPayload::ProcessExit(exit), &self.origin, self.lines, &self.text);
        if self.has(&FAULTS) || self.has(&OWN) {
            sink.crash(Crash { thread, ..self.crash() });
        }
    }
}

/// Marks the frame below the handler's: the one under the return from a signal, which is the C library's and has no name
/// of its own.
fn mark_interrupted(frames: &mut [Frame]) {
    const RETURNS: [&str; 4] = ["__restore_rt", "__kernel_rt_sigreturn", "killpg", "__sigaction"];
    const HANDLER: usize = 8;
    let is_return = |frame: &Frame| match (&frame.function, &frame.module) {
        (Some(function), _) => RETURNS.contains(&function.as_str()),
        (None, Some(module)) => module.contains("libc.so") || module.contains("libpthread"),
        (None, None) => false,
    };
    let found = frames.iter().take(HANDLER).position(is_return);
    if let Some(interrupted) = found.and_then(|at| frames.get_mut(at + 1)) {
        interrupted.signal = true;
    }
}

/// Lines that belong to a dump and tell nothing that is kept.
fn is_between(text: &str) -> bool {
    let text = text.trim_start();
    text.is_empty()
        || text == "#"
        || text.starts_with("# ")
        || text.starts_with("PC: @")
        || text.starts_with("==== backtrace (tid:")
        || text.starts_with("[address_is_readable=")
        || text.starts_with("BFD: ")
        || text.starts_with("@ ... and at least ")
}

/// Open MPI's and glibc's `[ 0] lib.so(f+0x1f)[0x7f…]`, glog's and abseil's `@ 0x7f… f`, UCX's `0 0x3ef f()  file.c:7`,
/// torch's `frame #0: …`.
fn parse_frame(text: &str, number: u64) -> Option<Frame> {
    if let Some((_, frame)) = cpp_stack::parse_frame(text, number) {
        return Some(frame);
    }
    let found = regex!(
        r"(?x) ^\s* (?:(?:\[\ ?\d+\]|\d+)\ + (?:\[\d+,\d+\]<stderr>:)?)? (?P<module>/?[^\s()\[\]]+) (?:\((?P<symbol>[^()+]*)(?:\+(?P<offset>0x[0-9a-f]+))?\))?\ ?\[(?P<at>0x[0-9a-f]+)\]$
        | ^\s*\d+\#\ (?:(?P<boost_at>0x[0-9A-Fa-f]+)|(?P<boost>\S.*?))\ in\ (?P<boost_module>\S+)$
        | ^\s+@\ +(?P<pc>(?:0x)?[0-9a-f]+)\ + (?:\d+\ +|\(unknown\)\ +)? (?P<name>\S.*?)$
        | ^\s*\d+\ +(?P<in>0x[0-9a-f]+)\ + (?P<function>\S.*?)\(\)\ + (?P<file>\S*):(?P<line>\d+)$
        | ^(?:\#\ )?[CVJj]\s+\[(?P<library>[^\]+]+)\+(?P<place>0x[0-9a-f]+)\]\s*(?P<called>[^\s+]+)?"
    )
    .captures(text)?;
    let part = |name| {
        let part = found.name(name).map(|part: regex::Match| part.as_str());
        part.filter(|text| !text.is_empty())
    };
    let symbol = ["symbol", "name", "function", "called", "boost"]
        .iter()
        .find_map(|name| part(name));
    let file = part("file").filter(|file| *file != "???");
    Some(Frame {
        kind: FrameKind::Native,
        function: symbol.filter(|name| *name != "(unknown)").map(super::readable),
        module: ["module", "library", "boost_module"]
            .iter()
            .find_map(|name| part(name))
            .map(str::to_owned),
        // With a symbol the number is relative to that, not to the file.
        offset: part("offset")
            .filter(|_| symbol.is_none())
            .or(part("place"))
            .and_then(|offset| offset.parse().ok()),
        address: ["at", "pc", "boost_at"]
            .iter()
            .find_map(|name| part(name))
            .and_then(|at| at.parse().ok()),
        line: file.and(part("line")).and_then(|line| line.parse().ok()),
        file: file.map(str::to_owned),
        at: Some(Place::Line([number, number])),
        ..Frame::default()
    })
}

/// An address, and how the C library prints a null pointer.
fn address(text: &str) -> Option<Hex> {
    let text = text.trim();
    text.parse()
        .ok()
        .or_else(|| text.starts_with("(nil)").then_some(Hex(0)))
}

/// The signal's code by name, from the words of Open MPI, Folly or UCX.
fn code(words: &str) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 14] = [
        ("address not mapped", "SEGV_MAPERR"),
        ("invalid permissions", "SEGV_ACCERR"),
        ("nonexisting physical address", "BUS_ADRERR"),
        ("non-existant physical address", "BUS_ADRERR"),
        ("invalid address alignment", "BUS_ADRALN"),
        ("integer divide-by-zero", "FPE_INTDIV"),
        ("integer divide by zero", "FPE_INTDIV"),
        ("integer overflow", "FPE_INTOVF"),
        ("floating point divide-by-zero", "FPE_FLTDIV"),
        ("floating point overflow", "FPE_FLTOVF"),
        ("invalid floating point operation", "FPE_FLTINV"),
        ("(128)", "SI_KERNEL"),
        ("(-6)", "SI_TKILL"),
        ("(kill, sigsend", "SI_USER"),
    ];
    let words = words.to_ascii_lowercase();
    let known = KNOWN.iter().find(|(told, _)| words.contains(told));
    known.map(|(_, code)| *code)
}
