//! The very last lines of a text, where programs say why they end without printing a traceback.
//!
//! A line that only names an exception, or only says that a command could not be run, is no sign in the middle of a
//! log: handlers, retries and documents print such lines. As the last thing that a log says it is how the program
//! ended.

use std::collections::VecDeque;

use regex::Regex;

use super::line::{self, Line};
use super::sink::Sink;
use super::{blocks, progress, regex};
use crate::model::{Event, EventPayload, LastWords, Place, PythonException};

/// Lines that are kept, blank ones not counted, and bytes of each.
const LINES: usize = 64;
/// Of those, the last ones among which a line that only names an exception is how the program ended. That a command
/// could not be run may be followed by what a launcher says of it.
const EXCEPTIONS: usize = 16;
const LINE_BYTES: usize = 2 << 10;

/// Lines at the very end, one of which may say that all went well.
const CLOSING: usize = 3;

/// Lines before the end in which a traceback was read: then it has the last word.
const NEAR: u64 = 64;

/// The last lines of a text.
#[derive(Debug, Default)]
pub struct End {
    lines: VecDeque<(u64, Vec<u8>)>,
}

impl End {
    /// Goes on to the next line.
    pub fn push(&mut self, number: u64, raw: &[u8]) {
        if raw.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let mut kept = if self.lines.len() < LINES {
            Vec::new()
        } else {
            self.lines.pop_front().map(|(_, line)| line).unwrap_or_default()
        };
        kept.clear();
        kept.extend_from_slice(raw.get(..LINE_BYTES).unwrap_or(raw));
        self.lines.push_back((number, kept));
    }

    /// The line, among the very last, by which everything went well: tests that passed, a process that ended with 0.
    pub fn all_is_well(&self) -> Option<u64> {
        let mut last = self.lines.iter().rev().take(CLOSING);
        let well = last.find(|(_, raw)| {
            let cleaned = line::clean(raw);
            is_well(Line::new(0, line::beginning(&cleaned)).text.trim_end())
        });
        well.map(|(number, _)| *number)
    }

    /// Puts what the last lines say, and nobody else has read, into the sink.
    pub fn read(&self, sink: &mut Sink) {
        let last = self.lines.back().map_or(0, |(number, _)| *number);
        let has_traceback = sink.events.iter().any(|event| is_traceback_near(event, last));
        let settled = self.lines.iter().rposition(|(_, raw)| progress::is_progress(raw));
        let last_ones = self.lines.len().saturating_sub(EXCEPTIONS);
        for (place, (number, raw)) in self.lines.iter().enumerate().skip(settled.map_or(0, |line| line + 1)) {
            let cleaned = line::clean(raw);
            let line = Line::new(*number, line::beginning(&cleaned));
            if line.is_quoted() || sink.events.iter().any(|event| tells_of(event, *number)) {
                continue;
            }
            let is_last = place >= last_ones && !has_traceback;
            let exception = is_last.then(|| exception(line.text)).flatten();
            let words = || command(line.text).filter(|words| !has_traceback || is_of_system(words));
            if let Some(what) = exception.or_else(|| words().map(EventPayload::LastWords)) {
                sink.event(what, &line.origin, [*number, *number], line.text);
            }
        }
    }
}

/// pytest, unittest and doctest where no test failed, and the words of launchers for an exit status of 0.
fn is_well(text: &str) -> bool {
    let has_failures = regex!(r"\b(?:failed|failures?|errors?)\b").is_match(text);
    let passed = regex!(
        r"^(?:=+ )?\d+ passed\b.*|^OK(?: \([\w=, ]+\))?$|^Test passed\.$|(?i)\b(?:exit(?:ed|ing)?|finished|ended|return(?:ed)?)\b(?: with)?(?: exit)?(?: code| status)?:? 0\.?$"
    );
    !has_failures && passed.is_match(text)
}

/// What the loader, the driver and the system said of the machine holds whatever the program then made of it.
fn is_of_system(words: &LastWords) -> bool {
    ["loader", "driver", "threads", "openmp"].contains(&words.family.as_str())
}

fn is_traceback_near(event: &Event, last: u64) -> bool {
    let is_own = matches!(&event.payload, EventPayload::PythonException(raised) if !raised.exception.ends_with("ChildFailedError"));
    is_own && progress::last_line(event).saturating_add(NEAR) > last
}

fn tells_of(event: &Event, number: u64) -> bool {
    matches!(event.last_at.as_ref().or(event.at.as_ref()), Some(Place::Line([first, last])) if (*first..=*last).contains(&number))
}

/// `AssertionError: batch size 30 != 32`, without a stack.
fn exception(text: &str) -> Option<EventPayload> {
    // Java names the thread before.
    let text = regex!(r#"^Exception in thread "[^"]*" "#)
        .find(text)
        .map_or(text, |thread| text.get(thread.end()..).unwrap_or_default());
    let (exception, message) = blocks::bare_exception(text)?;
    let is_figure = message.trim().parse::<f64>().is_ok();
    let goes_on = regex!(r"(?i)\b(?:retry|retrying|try again|trying again|ignor|skipp|continuing|falling back)")
        .is_match(message);
    (!is_figure && !goes_on).then(|| {
        EventPayload::PythonException(PythonException {
            exception: exception.to_owned(),
            message: message.to_owned(),
            ..PythonException::default()
        })
    })
}

/// What a shell, an interpreter, a parser of arguments or a container runtime says when it can not run a program.
fn command(text: &str) -> Option<LastWords> {
    let forms: [(&str, &Regex); 11] = [
        (
            "usage",
            regex!(
                r"^\S+(?: \S+)?: error: (?:argument |unrecognized arguments|the following arguments|ambiguous option|invalid ).+$|^Error: (?:No such option|Missing (?:option|argument)|Invalid value).*$|^Could not override '.+$|^Error merging override .+$|^Cannot find primary config .+$|^In '.+': Could not find .+$"
            ),
        ),
        (
            "shell",
            regex!(
                r"(?i)^(?:-?(?:bash|sh|zsh|dash)|/\S+|\S+\.sh): (?:line \d+: |\d+: )?.*: (?:command not found|not found|No such file or directory|Permission denied|cannot execute.*|Is a directory|Exec format error)$|^\S+: line \d+: (?:syntax error\b.*|\S+: (?:unbound variable|bad substitution|parameter (?:null or )?not set)|unexpected EOF while .*)$|^(?:exec|env|timeout|nohup|srun|slurmstepd|standard_init_linux\.go\S*)[: ].*(?:No such file or directory|Permission denied|command not found|exec format error)$"
            ),
        ),
        (
            "interpreter",
            regex!(
                r"^\S*python[\d.]*: (?:can't open file|can't find '__main__'|No module named|Error while finding module) ?.*$"
            ),
        ),
        (
            "container",
            regex!(
                r"^(?:docker: )?Error response from daemon: .+$|^nvidia-container-cli: .+$|^FATAL: +\S.*$|^.*(?:OCI runtime|runc) (?:create|exec) failed: .+$"
            ),
        ),
        (
            "loader",
            regex!(
                r"^\S+: error while loading shared libraries: .+$|^\S+: (?:relocation error|symbol lookup error): .+$|^\S+: \S+: version `[^']+' not found \(required by .+\)$|^Could not load library \S+ Error: .+$|^Loaded runtime CuDNN library: .+$"
            ),
        ),
        (
            "threads",
            regex!(
                r"^OpenBLAS blas_thread_init: pthread_create failed .+$|^libgomp: Thread creation failed: .+$|^\S+: fork: (?:retry: )?(?:Resource temporarily unavailable|Cannot allocate memory)$"
            ),
        ),
        (
            "driver",
            regex!(r"^NVIDIA-SMI has failed because .+$|^Failed to initialize NVML: .+$"),
        ),
        (
            "stopped",
            regex!(
                r"(?i)^timeout: sending signal \w+ to command .+$|^.*\bspot (?:interruption|termination|preemption) notice\b.*$|^.*\binstance .{0,40}will be (?:reclaimed|terminated|preempted)\b.*$"
            ),
        ),
        (
            "build",
            regex!(
                r"^\s*error: command '\S+' failed with exit (?:code|status) \d+$|^\s*ERROR: Failed building wheel for \S+$|^ninja: build stopped: .+$"
            ),
        ),
        ("openmp", regex!(r"^OMP: Error #15: .+$")),
        (
            "scheduler",
            regex!(
                r"^(?:Message:\s+|.*\bEvicted\b.*\s)?The node was low on resource: .+$|^(?:=>> )?PBS: job killed: .+$|^TERM_[A-Z]+: job killed .+$|^(?:sbatch|srun|salloc): error: (?:Batch (?:script|job) .+|Unable to allocate resources: .+|[Ii]nvalid .+)$|^qsub: .+$"
            ),
        ),
    ];
    let (family, _) = forms.iter().find(|(_, form)| form.is_match(text))?;
    Some(LastWords {
        family: (*family).to_owned(),
        message: text.trim().to_owned(),
    })
}
