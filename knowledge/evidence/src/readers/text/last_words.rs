//! The very last lines of a text, where programs say why they end without printing a traceback.
//!
//! A line that only names an exception, or only says that a command could not be run, is no sign in the middle of a log:
//! handlers, retries and documents print such lines. As the last thing that a log says it is how the program ended.

use std::collections::VecDeque;

use regex::Regex;

use super::line::{self, Line};
use super::sink::Sink;
use super::{blocks, progress, regex};
use crate::model::{Event, LastWords, Place, PythonException, What};

/// Lines that are kept, blank ones not counted, and bytes of each.
const LINES: usize = 16;
const LINE_BYTES: usize = 2 << 10;

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

    /// Puts what the last lines say, and nobody else has read, into the sink.
    pub fn read(&self, sink: &mut Sink) {
        let last = self.lines.back().map_or(0, |(number, _)| *number);
        if sink.events.iter().any(|event| is_traceback_near(event, last)) {
            return;
        }
        let settled = self.lines.iter().rposition(|(_, raw)| progress::is_progress(raw));
        for (number, raw) in self.lines.iter().skip(settled.map_or(0, |line| line + 1)) {
            let cleaned = line::clean(raw);
            let line = Line::new(*number, line::beginning(&cleaned));
            if line.is_quoted() || sink.events.iter().any(|event| tells_of(event, *number)) {
                continue;
            }
            if let Some(what) = exception(line.text).or_else(|| command(line.text)) {
                sink.event(what, &line.origin, [*number, *number], line.text);
            }
        }
    }
}

fn is_traceback_near(event: &Event, last: u64) -> bool {
    matches!(event.what, What::PythonException(_)) && progress::last_line(event).saturating_add(NEAR) > last
}

fn tells_of(event: &Event, number: u64) -> bool {
    matches!(event.last_at.as_ref().or(event.at.as_ref()), Some(Place::Line([first, last])) if (*first..=*last).contains(&number))
}

/// `AssertionError: batch size 30 != 32`, without a stack.
fn exception(text: &str) -> Option<What> {
    let (exception, message) = blocks::bare_exception(text)?;
    let is_figure = message.trim().parse::<f64>().is_ok();
    let goes_on = regex!(r"(?i)\b(?:retry|retrying|try again|trying again|ignor|skipp|continuing|falling back)")
        .is_match(message);
    (!is_figure && !goes_on).then(|| {
        What::PythonException(PythonException {
            exception: exception.to_owned(),
            message: message.to_owned(),
            ..PythonException::default()
        })
    })
}

/// What a shell, an interpreter, a parser of arguments or a container runtime says when it can not run a program.
fn command(text: &str) -> Option<What> {
    let forms: [(&str, &Regex); 4] = [
        (
            "usage",
            regex!(
                r"^\S+(?: \S+)?: error: (?:argument |unrecognized arguments|the following arguments|ambiguous option|invalid ).+$|^Error: (?:No such option|Missing (?:option|argument)|Invalid value).*$"
            ),
        ),
        (
            "shell",
            regex!(
                r"^(?:-?(?:bash|sh|zsh|dash)|/\S+|\S+\.sh): (?:line \d+: |\d+: )?.*: (?:command not found|not found|No such file or directory|Permission denied|cannot execute.*|Is a directory|Exec format error)$|^(?:exec|env|timeout|nohup|srun|slurmstepd): .*(?:No such file or directory|Permission denied|command not found)$"
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
                r"^(?:docker: )?Error response from daemon: .+$|^nvidia-container-cli: .+$|^FATAL: +\S.*$|^.*OCI runtime (?:create|exec) failed: .+$"
            ),
        ),
    ];
    let (family, _) = forms.iter().find(|(_, form)| form.is_match(text))?;
    Some(What::LastWords(LastWords {
        family: (*family).to_owned(),
        message: text.trim().to_owned(),
    }))
}
