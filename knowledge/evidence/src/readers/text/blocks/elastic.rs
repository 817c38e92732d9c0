//! torchelastic's report on the console: every worker that failed, then the one that failed first.
//!
//! `@record` is not needed for it, so it is often all that is left of a worker that a signal killed. torchrun sends
//! the others SIGTERM itself: their −15 is its own doing.

use crate::model::{ElasticFailure, EventPayload};
use crate::readers::text::grammar::exit::signal_of_exit;
use crate::readers::text::line::Line;
use crate::readers::text::prefix::Origin;
use crate::readers::text::rules::{Rule, Rules};
use crate::readers::text::sink::Sink;
use crate::readers::text::time::Stamp;
use crate::readers::text::{Block, Next, regex};

/// Opens a report.
pub const RULE: Rule = Rule {
    literals: &["Root Cause (first observed failure):", "Failures:"],
    read,
};

/// What the agent logs about the worker that failed first, before it prints the report: in a log that was cut, or where
/// the agent was killed as well, that is all there is.
pub const FAILED_RULE: Rule = Rule {
    literals: &["failed (exitcode: "],
    read: read_failed,
};

/// The code of a process: those of Windows are told without a sign.
fn exit_code(code: i64) -> Option<i32> {
    let unsigned = || u32::try_from(code).ok().map(u32::cast_signed);
    i32::try_from(code).ok().or_else(unsigned)
}

/// `failed (exitcode: -11) local_rank: 0 (pid: 4711) of binary: /usr/bin/python`.
fn read_failed(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    let found =
        regex!(r"failed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<rank>\d+) \(pid: (?P<pid>\d+)\) of binary")
            .captures(line.text)?;
    let number = |name| found.name(name)?.as_str().parse::<i64>().ok();
    let exit_code = number("code").and_then(exit_code);
    let failure = Failure {
        what: ElasticFailure {
            local_rank: number("rank").and_then(|rank| u32::try_from(rank).ok()),
            exit_code,
            signal: exit_code.and_then(signal_of_exit).map(str::to_owned),
            root: true,
            ..ElasticFailure::default()
        },
        ..Failure::default()
    };
    let origin = Origin {
        pid: number("pid").and_then(|pid| u32::try_from(pid).ok()),
        ..line.origin.clone()
    };
    let text = failure.in_words();
    sink.event(
        EventPayload::ElasticFailure(failure.what),
        &origin,
        [line.number; 2],
        &text,
    );
    None
}

fn read(line: &Line, _: &mut Sink) -> Option<Box<dyn Block>> {
    let text = line.text.trim();
    if text != "Failures:" && text != "Root Cause (first observed failure):" {
        return None;
    }
    let root = text.starts_with("Root");
    Some(Box::new(Report {
        origin: line.origin.clone(),
        failures: Vec::new(),
        root,
    }))
}

#[derive(Debug)]
struct Report {
    origin: Origin,
    failures: Vec<Failure>,
    /// The items that follow are the first failure.
    root: bool,
}

#[derive(Debug, Default)]
struct Failure {
    lines: [u64; 2],
    rank: Option<u32>,
    pid: Option<u32>,
    stamp: Option<Stamp>,
    in_traceback: bool,
    /// Where its traceback names the exception.
    raised_at: Option<u64>,
    what: ElasticFailure,
}

impl Block for Report {
    fn next(&mut self, line: &Line) -> Next {
        let text = line.text.trim_end();
        if text.starts_with("====") {
            return Next::Last;
        }
        if text.starts_with("----") || text.trim() == "<NO_OTHER_FAILURES>" {
            return Next::More;
        }
        if text == "Root Cause (first observed failure):" {
            self.root = true;
            return Next::More;
        }
        if regex!(r"^\[\d+\]:$").is_match(text) {
            let what = ElasticFailure {
                root: self.root,
                ..ElasticFailure::default()
            };
            self.failures.push(Failure {
                lines: [line.number; 2],
                what,
                ..Failure::default()
            });
            return Next::More;
        }
        match self.failures.last_mut() {
            Some(failure) if text.starts_with("  ") || failure.in_traceback => {
                failure.lines[1] = line.number;
                failure.field(text, line.number)
            }
            _ => Next::Ended,
        }
    }

    fn finish(self: Box<Self>, sink: &mut Sink) {
        for failure in self.failures {
            let text = failure.in_words();
            let origin = Origin {
                rank: failure.rank,
                pid: failure.pid,
                stamp: failure.stamp.or_else(|| self.origin.stamp.clone()),
                ..self.origin.clone()
            };
            let raised = failure.raised_at.map(|at| (at, failure.what.message.clone()));
            sink.event(
                EventPayload::ElasticFailure(failure.what),
                &origin,
                failure.lines,
                &text,
            );
            if let Some((number, message)) = raised {
                read_message(&message, number, origin, sink);
            }
        }
    }
}

/// Reads what an exception says with the grammars of single lines: the worker's own output may be in a log that is not
/// here.
fn read_message(message: &str, number: u64, origin: Origin, sink: &mut Sink) {
    let line = Line {
        number,
        text: message,
        origin,
    };
    let rules = Rules::get();
    for (_, rule) in rules.of(rules.matching(message.as_bytes())) {
        if let Some(block) = (rule.read)(&line, sink) {
            block.finish(sink);
        }
    }
}

impl Failure {
    fn in_words(&self) -> String {
        let who = self
            .rank
            .map_or_else(|| "a worker".to_owned(), |rank| format!("rank {rank}"));
        let how = match (&self.what.signal, self.what.exit_code) {
            (Some(signal), _) => format!("was killed by {signal}"),
            (None, Some(code)) => format!("exited with code {code}"),
            (None, None) => "failed".to_owned(),
        };
        // Without an error file torchelastic only has advice to give.
        let said = Some(&self.what.message).filter(|said| !said.is_empty() && !said.starts_with("To enable traceback"));
        said.map_or_else(|| format!("{who} {how}"), |said| format!("{who} {how}: {said}"))
    }

    fn field(&mut self, text: &str, number: u64) -> Next {
        if self.in_traceback {
            // The worker's traceback is repeated here, margin and all; its last line names the exception.
            if !text.trim().is_empty() && !text.starts_with("   ") {
                text.trim().clone_into(&mut self.what.message);
                self.raised_at = Some(number);
            }
            return Next::Quoted;
        }
        let Some(found) = regex!(r"^  (\w+)\s*: ?(.*)$").captures(text) else {
            return Next::More;
        };
        let value = found.get(2).map_or("", |value| value.as_str()).trim();
        match found.get(1).map_or("", |name| name.as_str()) {
            "time" => {
                let halves = value.split_once('_');
                self.stamp = halves.map(|(date, clock)| Stamp::dated(date, clock, None));
            }
            "host" => self.what.host = Some(value.to_owned()),
            "rank" => {
                let ranks = regex!(r"^(\d+) \(local_rank: (\d+)\)").captures(value);
                let number = |index| ranks.as_ref()?.get(index)?.as_str().parse().ok();
                self.rank = number(1);
                self.what.local_rank = number(2);
            }
            "exitcode" => {
                let code = regex!(r"^(-?\d+) \(pid: (\d+)\)").captures(value);
                let number = |index| code.as_ref()?.get(index)?.as_str().parse::<i64>().ok();
                self.what.exit_code = number(1).and_then(exit_code);
                self.pid = number(2).and_then(|pid| u32::try_from(pid).ok());
                self.what.signal = self.what.exit_code.and_then(signal_of_exit).map(str::to_owned);
            }
            "error_file" => self.what.error_file = (value != "<N/A>").then(|| value.to_owned()),
            "traceback" => {
                value.clone_into(&mut self.what.message);
                self.in_traceback = value.starts_with("Traceback");
                if value.starts_with("Signal ") {
                    return Next::Quoted;
                }
            }
            _ => {}
        }
        if self.in_traceback { Next::Quoted } else { Next::More }
    }
}
