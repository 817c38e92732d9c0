//! Python tracebacks, as the interpreter, `logging`, `multiprocessing` and torch print them (Python 3.6 to 3.14).
//!
//! They print the outermost call first; evidence has the innermost first. Source lines and the carets of 3.11 and
//! later are skipped, but for the line that a frame stands on. A traceback inside an exception group is a stack of its own.

use regex::Regex;

use super::{python_frame, quote_source};
use crate::model::{EventPayload, Frame, PythonException};
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::{Sink, new_thread};
use crate::readers::text::{Block, Next, regex};

/// Opens a traceback.
pub const RULE: Rule = Rule {
    literals: &[
        "Traceback (most recent call last):",
        "Exception in thread ",
        "Exception ignored in",
        "exception was never retrieved",
        "fits failed with the following error",
        "optimizations will not be enabled",
        "Process ",
        // A frame whose header is not there: the log is the end of a longer one.
        "\", line ",
    ],
    read,
};

/// Lines and bytes of one exception's message that are kept.
const MESSAGE_LINES: usize = 200;
const MESSAGE_BYTES: usize = 16 << 10;

/// Columns at which terminals and mail programs fold lines at the least.
const FOLDED: usize = 72;

/// The first line of a traceback.
pub const HEADER: &str = "Traceback (most recent call last):";
const CAUSE: &str = "The above exception was the direct cause of the following exception:";
const CONTEXT: &str = "During handling of the above exception, another exception occurred:";

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    // A progress bar may stand before the header on the same line.
    let text = line.text.trim_end();
    if text.ends_with(HEADER) && !line.is_quoted() && !text.trim_start().starts_with("Original ") {
        return Some(Box::new(Chain::new(line, Preface::default())));
    }
    if let Some(preface) = Preface::parse(text) {
        return Some(Box::new(Chain::new(line, preface)));
    }
    let frame = parse_frame(text, line.number).filter(|frame| frame.function.is_some())?;
    let mut chain = Chain::new(line, Preface::default());
    chain.beheaded = true;
    chain.now.frames.push(frame);
    Some(Box::new(chain))
}

/// Whether what stands below a line was printed because nobody was there to raise it to, or is only told of: Python's
/// words for what a destructor raises, asyncio's for a task that nobody waited for, scikit-learn's for fits that failed in
/// a search, xformers' for what it does without. The program goes on.
pub fn announces_ignored(text: &str) -> bool {
    text.starts_with("Exception ignored in")
        || regex!(
            r"(?:^|:)(?:Task|Future) exception was never retrieved$|^\d+ fits failed with the following error:$|some optimizations will not be enabled\.?$"
        )
        .is_match(text)
}

/// Whether a line is of a traceback, and not the one that names what was raised.
pub fn is_inside(text: &str) -> bool {
    text.starts_with(char::is_whitespace) || text.trim_end().ends_with(HEADER)
}

/// What the line before a traceback says about whose it is.
#[derive(Debug, Default)]
struct Preface {
    thread: Option<String>,
    ignored: bool,
    /// True until the traceback's own header has come.
    waiting: bool,
}

impl Preface {
    fn parse(text: &str) -> Option<Self> {
        let name = |pattern: &Regex| {
            pattern
                .captures(text)
                .and_then(|found| Some(found.get(1)?.as_str().to_owned()))
        };
        if announces_ignored(text) {
            return Some(Self {
                thread: None,
                ignored: true,
                waiting: true,
            });
        }
        let thread = name(regex!(r"^Exception in thread (\S.*?):?$")).or_else(|| name(regex!(r"^(Process \S+?):$")))?;
        Some(Self {
            thread: Some(thread),
            ignored: false,
            waiting: true,
        })
    }
}

#[derive(Debug, Default)]
struct Raised {
    first: u64,
    last: u64,
    frames: Vec<Frame>,
    omitted: u64,
    exception: String,
    message: Vec<String>,
    message_bytes: usize,
    /// The message goes on in the next line, whatever that starts with: what came so far ends in a colon.
    unfinished: bool,
    /// How the next exception of the chain follows from this one.
    relation: Option<String>,
}

/// Tracebacks joined by `cause` and `context` lines.
#[derive(Debug)]
struct Chain {
    origin: Origin,
    preface: Preface,
    done: Vec<Raised>,
    now: Raised,
    /// Blank lines since the exception line: they belong to the message only if more of it follows.
    blanks: usize,
    /// A `cause` or `context` line has come, its traceback has not.
    linked: bool,
    /// The line that numbers a member of an exception group has come, the member itself has not.
    member: bool,
    /// `torch.multiprocessing.spawn` has announced the traceback of the process that raised.
    announced: bool,
    /// The exception so far is a group: its first member comes next.
    is_group: bool,
    /// The log starts after the header: without a named exception this is no traceback.
    beheaded: bool,
    /// Whoever pasted it left something out: what follows belongs to the same story.
    elided: bool,
    /// The line before reached the width at which terminals fold: what follows may be the rest of it.
    is_wide: bool,
    /// Columns that the whole traceback is moved in by, as those do that print it as a part of what they say.
    indent: usize,
}

impl Chain {
    fn new(line: &Line, preface: Preface) -> Self {
        let now = Raised {
            first: line.number,
            last: line.number,
            ..Raised::default()
        };
        Self {
            origin: line.origin.clone(),
            preface,
            done: Vec::new(),
            now,
            blanks: 0,
            linked: false,
            member: false,
            announced: false,
            is_group: false,
            beheaded: false,
            elided: false,
            is_wide: false,
            indent: indent(line.text),
        }
    }

    /// A line of the stack, before the exception is named.
    fn stack_line(&mut self, line: &Line) -> Next {
        let text = ungroup(line.text);
        let was_wide = std::mem::replace(&mut self.is_wide, text.trim_end().chars().count() >= FOLDED);
        if let Some(frame) = parse_frame(text, line.number) {
            self.now.frames.push(frame);
            return Next::Quoted;
        }
        if let Some(found) = regex!(r"^\s*\[Previous line repeated (\d+) more times?\]").captures(text) {
            let repeated: u64 = found
                .get(1)
                .and_then(|count| count.as_str().parse().ok())
                .unwrap_or_default();
            self.now.omitted = self.now.omitted.saturating_add(repeated);
            return Next::Quoted;
        }
        if text.starts_with("    ") || text.trim().is_empty() && !self.now.frames.is_empty() {
            quote_source(&mut self.now.frames, text);
            return Next::Quoted;
        }
        match parse_exception(text) {
            Some((exception, _)) if self.beheaded && !is_named_like_an_error(exception) => Next::Ended,
            Some((exception, message)) => {
                exception.clone_into(&mut self.now.exception);
                self.now.last = line.number;
                if message.trim_end() == HEADER {
                    // Up to torch 1.1 a worker's exception is raised again with its whole traceback as the message.
                    self.next_raised(line, Some("original"));
                    return Next::Quoted;
                }
                self.now.unfinished = text.trim_end().ends_with(':');
                self.add_message(message);
                Next::More
            }
            None if self.now.frames.is_empty() && text.trim().is_empty() => Next::More,
            None if was_wide || text.trim_start().starts_with("File \"") => Next::Quoted,
            None => Next::Ended,
        }
    }

    fn add_message(&mut self, text: &str) {
        if self.now.message.len() < MESSAGE_LINES && self.now.message_bytes + text.len() <= MESSAGE_BYTES {
            self.now.message_bytes += text.len();
            self.now.message.push(text.to_owned());
        }
    }

    /// A line after the exception was named: more of its message, a link to the next one, or neither.
    fn message_line(&mut self, line: &Line) -> Next {
        let text = ungroup(line.text);
        let trimmed = text.trim();
        if trimmed.is_empty() {
            self.blanks += 1;
            return if self.blanks > 3 { Next::Ended } else { Next::More };
        }
        if ["...", "\u{2026}", "[...]"].contains(&trimmed) {
            self.elided = true;
            return Next::Quoted;
        }
        if std::mem::take(&mut self.elided) && parse_frame(text, line.number).is_some() {
            self.next_raised(line, Some("context"));
            return self.stack_line(line);
        }
        if let Some(relation) = link(trimmed) {
            self.now.relation = Some(relation.to_owned());
            self.linked = true;
            return Next::Quoted;
        }
        if trimmed.ends_with(HEADER) && trimmed != OF_CPP {
            return self.another_traceback(line, trimmed);
        }
        // A distributed checkpoint that failed: what each rank raised, behind what was made of it.
        if regex!(r"^Traceback \(most recent call last\): \(RANK \d+\)$").is_match(trimmed) {
            self.next_raised(line, Some("original"));
            return Next::Quoted;
        }
        if regex!(r"^-- Process \d+ terminated with the following error:$").is_match(trimmed) {
            self.announced = true;
            return Next::Quoted;
        }
        if let Some(found) = regex!(r"^\+-[+-]* (\d+) -+$").captures(trimmed) {
            self.member = true;
            self.is_group = found.get(1).is_some_and(|number| number.as_str() == "1");
            return Next::Quoted;
        }
        if std::mem::take(&mut self.member) {
            self.next_raised(line, None);
            return self.stack_line(line);
        }
        if self.now.exception.starts_with("ray.exceptions.") && parse_frame(text, line.number).is_some() {
            // The remote process's own traceback, without a header.
            self.next_raised(line, Some("original"));
            return self.stack_line(line);
        }
        let unfinished = std::mem::take(&mut self.now.unfinished) && self.blanks <= 1 && !text.starts_with("====");
        if self.linked || !(unfinished || self.continues_message(text) || is_group_line(line.text)) {
            return Next::Ended;
        }
        self.now.unfinished = trimmed.ends_with(':') && !is_group_line(line.text);
        for _ in 0..std::mem::take(&mut self.blanks) {
            self.add_message("");
        }
        self.now.last = line.number;
        if !regex!(r"^frame #\d+: ").is_match(text) && !is_group_line(line.text) {
            self.add_message(text);
        }
        Next::More
    }

    /// The next traceback: of the chain, of a group's member, or (`Original Traceback`) the worker's own inside the
    /// message of the exception that brought it to the parent.
    fn another_traceback(&mut self, line: &Line, header: &str) -> Next {
        let original = header.starts_with("Original ") || std::mem::take(&mut self.announced);
        let member = is_group_line(line.text);
        if !(self.linked || original || member) {
            return Next::Ended;
        }
        self.next_raised(line, original.then_some("original"));
        Next::Quoted
    }

    /// The exception so far is complete. A link may have said already how the next one follows from it.
    fn next_raised(&mut self, line: &Line, relation: Option<&str>) {
        let relation = if std::mem::take(&mut self.is_group) {
            Some("group")
        } else {
            relation
        };
        self.now.relation = self.now.relation.take().or(relation.map(str::to_owned));
        let next = Raised {
            first: line.number,
            last: line.number,
            ..Raised::default()
        };
        self.done.push(std::mem::replace(&mut self.now, next));
        self.linked = false;
        self.member = false;
        self.blanks = 0;
    }

    /// A rank's tag is on every line of its exception and on nothing else; without one, only what is known to follow
    /// in messages does.
    fn continues_message(&self, text: &str) -> bool {
        let tagged = self.origin.stream.contains("[rank") && !self.origin.stream.contains("glog");
        tagged
            || (self.is_graph_error()
                || self.is_of_a_layer()
                || self.is_of_a_pipeline()
                || self.is_of_paddle()
                || self.is_of_jittor())
                && self.blanks <= 1
            || text.starts_with([' ', '\t'])
            || text == OF_CPP
            || self.is_of_npu() && regex!(r"^(?:\(PID:\d|\[Error\]: |\[ERROR\] |E[A-Z0-9]\d{4}: )").is_match(text)
            || CONTINUATIONS.iter().any(|opener| text.starts_with(opener))
    }

    /// Keras puts what a layer raised between the layer's name and its arguments, with blank lines around it.
    fn is_of_a_layer(&self) -> bool {
        let is_begun = self
            .now
            .message
            .first()
            .is_some_and(|line| line.contains("encountered when calling "));
        let is_over =
            |line: &String| line.starts_with("Arguments received by") || line.starts_with("Call arguments received");
        is_begun && !self.now.message.iter().any(is_over)
    }

    /// DALI tells in which operator, and where that was defined, before what happened; its own stack follows.
    fn is_of_a_pipeline(&self) -> bool {
        let is_begun = self
            .now
            .message
            .first()
            .is_some_and(|line| line.starts_with("Critical error in pipeline"));
        is_begun && !self.now.message.iter().any(|line| line.starts_with("Stacktrace ("))
    }

    /// What Ascend's own log says of the failure stands below the call that failed.
    fn is_of_npu(&self) -> bool {
        let first = self.now.message.first();
        let begins = ["NPU function error", "call acl api failed", "HCCL error in"];
        first.is_some_and(|line| begins.iter().any(|words| line.contains(words)))
    }

    /// Jittor tells which operation it was about, and the reason last.
    fn is_of_jittor(&self) -> bool {
        let first = self.now.message.first();
        let is_begun = first.is_some_and(|line| {
            regex!(r"^\[f \d{4} [\d:.]+ \d+ \S+:\d+\]|^Wrong inputs arguments, Please refer to examples\(help\(")
                .is_match(line)
        });
        let is_over = |line: &String| line.starts_with("[Reason]: ") || line.starts_with("Failed reason:");
        is_begun && !self.now.message.iter().any(is_over)
    }

    /// Paddle puts a stack of C++ between the class, which is Python's nearest, and what happened.
    fn is_of_paddle(&self) -> bool {
        let has = |start: &str| self.now.message.iter().any(|line| line.trim_start().starts_with(start));
        has(OF_CPP) && !has("(at ")
    }

    /// `TensorFlow` tells at length where in the graph an operation stands, and names it in the last line.
    fn is_graph_error(&self) -> bool {
        let last = self.now.message.last().map(|line| line.trim_end());
        let is_over = last.is_some_and(|line| line.ends_with(']') && line.contains("[Op:"));
        self.now.exception.contains("errors_impl.") && !is_over
    }
}

/// Above Paddle's stack of C++.
const OF_CPP: &str = "C++ Traceback (most recent call last):";

/// How lines start that belong to the message before them.
const CONTINUATIONS: [&str; 28] = [
    "CUDA kernel errors might",
    "HIP kernel errors might",
    "For debugging consider passing",
    "Compile with `TORCH_USE_CUDA_DSA`",
    "Compile with `TORCH_USE_HIP_DSA`",
    "Search for `cuda",
    "Device-side assertion tracking",
    "The CUDA driver logged",
    "GPU device may be out of range",
    "Exception raised from ",
    "frame #",
    "<omitting python frames>",
    "Last error:",
    "nccl",
    "Parameter indices which did not",
    "Parameters which did not receive",
    "making sure all `forward`",
    "In addition, you can set",
    "If you already have done",
    "from user code:",
    "Set TORCHDYNAMO_VERBOSE",
    "Set TORCH_LOGS",
    "You can suppress this exception",
    "#",
    "Original error",
    "Please file an issue with the following",
    "Unsupported operand",
    // HDF5 prints the time in the middle of its message, with the line's end that `ctime` gives it.
    ", filename = ",
];

impl Block for Chain {
    fn next(&mut self, line: &Line) -> Next {
        let moved_back = (self.indent > 0).then(|| Line {
            number: line.number,
            text: without_indent(line.text, self.indent),
            origin: line.origin.clone(),
        });
        let line = moved_back.as_ref().unwrap_or(line);
        if self.preface.waiting {
            if line.text.trim_end().ends_with(HEADER) {
                self.preface.waiting = false;
                self.indent = indent(line.text);
                return Next::Quoted;
            }
            // Of some a line is all that is printed.
            let describes = self.preface.ignored
                && (regex!(r"^(?:future|task): <").is_match(line.text) || bare_exception(line.text).is_some());
            return if describes { Next::Quoted } else { Next::Ended };
        }
        if self.now.exception.is_empty() {
            return self.stack_line(line);
        }
        self.message_line(line)
    }

    fn finish(self: Box<Self>, sink: &mut Sink) {
        let Self {
            origin,
            preface,
            mut done,
            now,
            beheaded,
            ..
        } = *self;
        let is_nothing = beheaded && done.is_empty() && now.exception.is_empty();
        if preface.waiting || is_nothing {
            return;
        }
        done.push(now);
        // The last of a chain; of a group, the first member.
        let ends_chain = |raised: &Raised| !raised.exception.is_empty() && raised.relation.is_none();
        let is_group = done.iter().any(|raised| raised.relation.as_deref() == Some("group"));
        let uncaught = if is_group {
            done.iter().position(ends_chain)
        } else {
            done.iter().rposition(ends_chain)
        };
        for (index, raised) in done.into_iter().enumerate() {
            raised.finish(&origin, &preface, Some(index) == uncaught, sink);
        }
    }
}

impl Raised {
    fn finish(self, origin: &Origin, preface: &Preface, uncaught: bool, sink: &mut Sink) {
        let mut frames = self.frames;
        // A task that somebody cancelled: servers print it of clients that went away. Where something else was raised
        // for it, that is what counts.
        let is_cancelled = uncaught && self.exception.ends_with("CancelledError");
        let ignored = preface.ignored || is_cancelled || frames.first().is_some_and(is_of_a_printer);
        frames.reverse();
        let omitted = self.omitted + frames.len().saturating_sub(sink.frame_limit()) as u64;
        frames.truncate(sink.frame_limit());
        let thread = (!frames.is_empty()).then(|| {
            let mut thread = new_thread(origin);
            thread.name.clone_from(&preface.thread);
            thread.crashed = uncaught && !ignored;
            thread.frames = frames;
            thread.frames_omitted = (omitted > 0).then_some(omitted);
            sink.stack("traceback", thread)
        });
        if thread.is_none() && self.exception.is_empty() {
            return;
        }
        let message = self.message.join("\n");
        let text = match message.lines().map(str::trim).find(|line| !line.is_empty()) {
            Some(first) => format!("{}: {first}", self.exception),
            None if self.exception.is_empty() => "a traceback that was cut before it named its exception".to_owned(),
            None => self.exception.clone(),
        };
        let what = PythonException {
            exception: self.exception,
            message: message.trim_end().to_owned(),
            thread,
            source: None,
            relation: self.relation,
            process: preface.thread.clone(),
            ignored,
        };
        sink.event(
            EventPayload::PythonException(what),
            origin,
            [self.first, self.last],
            &text,
        );
    }
}

/// Whether the outermost frame is of code that only prints what its callees raise: `multiprocessing` does so with the
/// finalizers that it runs when a process ends (`multiprocessing/util.py`).
fn is_of_a_printer(outermost: &Frame) -> bool {
    let is_in = |file: &str| (outermost.file.as_deref()).is_some_and(|path| path.ends_with(file));
    outermost.function.as_deref() == Some("_run_finalizers") && is_in("multiprocessing/util.py")
}

/// A line that is nothing but an exception and its message: `AssertionError: batch size 30 != 32`, `MemoryError`.
pub fn bare_exception(text: &str) -> Option<(&str, &str)> {
    if text.starts_with(char::is_whitespace) {
        return None;
    }
    let (exception, message) = parse_exception(text.trim_end())?;
    (exception.len() > "Error".len() && is_named_like_an_error(exception)).then_some((exception, message))
}

/// Whether a name is that of an exception's class, going by the name alone.
fn is_named_like_an_error(exception: &str) -> bool {
    [
        "Error",
        "Exception",
        "Interrupt",
        "Exit",
        "Failed",
        "Failure",
        "Timeout",
        "Expired",
        "BrokenProcessPool",
    ]
    .iter()
    .any(|ending| exception.ends_with(ending))
        || ["errors.", "exceptions."]
            .iter()
            .any(|module| exception.contains(module))
}

/// How an exception follows from the one before, in the line between the two.
pub fn link(text: &str) -> Option<&'static str> {
    match text {
        CAUSE => Some("cause"),
        CONTEXT => Some("context"),
        _ => None,
    }
}

/// Columns before a traceback's header.
fn indent(header: &str) -> usize {
    let header_alone = header.trim_start();
    if header_alone.starts_with(HEADER) {
        header.len() - header_alone.len()
    } else {
        0
    }
}

/// A line without the columns that a traceback is moved in by, if it is.
fn without_indent(text: &str, indent: usize) -> &str {
    match text.as_bytes().get(..indent) {
        Some(margin) if margin.iter().all(u8::is_ascii_whitespace) => text.get(indent..).unwrap_or(text),
        _ => text,
    }
}

/// Takes off the margin that exception groups draw: `  | `, `  +-+---------------- 1 ----------------`.
fn ungroup(text: &str) -> &str {
    match regex!(r"^\s*(?:\| ?|\+ )").find(text) {
        Some(margin) => text.get(margin.end()..).unwrap_or_default(),
        None => text,
    }
}

fn is_group_line(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("| ") || text.starts_with("+-") || text == "|"
}

/// `  File "path", line 7, in function`; a syntax error's has no function.
fn parse_frame(text: &str, number: u64) -> Option<Frame> {
    let found = regex!(r#"^\s*File "(.*?)", line (\d+)(?:, in (.*?))?\s*$"#).captures(text)?;
    Some(python_frame(&found, number))
}

/// `module.Class: message`, `Class`.
fn parse_exception(text: &str) -> Option<(&str, &str)> {
    let found = regex!(r"^\s{0,4}([A-Za-z_][\w.]*(?:<locals>\.)?[\w.]*)(?:: ?(.*))?$").captures(text)?;
    let name = found.get(1)?.as_str();
    // `INFO: …` or `step: 7` after a traceback that was cut is no exception.
    let named_like_a_class = name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        && name.contains(|c: char| c.is_ascii_lowercase());
    (named_like_a_class || name.contains('.')).then(|| (name, found.get(2).map_or("", |message| message.as_str())))
}
