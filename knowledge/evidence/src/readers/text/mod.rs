//! Logs and everything else that is lines of text.
//!
//! One pass over the lines. A line that has none of the literals in [`rules`] and continues no open [`Block`] costs
//! one scan of its bytes; the grammars see only the others. What several writers printed into one artifact (ranks,
//! workers) is told apart by the tags their lines carry ([`prefix`]), and each such stream has its own open blocks.

mod blocks;
mod line;
mod prefix;
mod progress;
mod rules;
mod sink;
mod time;

mod grammar;

use std::collections::HashMap;
use std::io::{self, BufRead};

use line::Line;
use progress::Progress;
use rules::Rules;
use sink::Sink;

use super::lines::next_line;
use super::{Input, Reading, read_problem};
use crate::{Limits, Problem};

/// A fixed regular expression, compiled on first use.
macro_rules! regex {
    ($pattern:expr) => {{
        static REGEX: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| regex::Regex::new($pattern).expect("a fixed pattern"));
        &*REGEX
    }};
}
pub(crate) use regex;

/// What an open block says to the next line of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The line is part of it, and more may follow.
    More,
    /// The line is part of it, and only quotes (source code in a traceback): no other grammar may read it.
    Quoted,
    /// The line is its last.
    Last,
    /// The line is not part of it: it ended before.
    Ended,
}

/// Something that spans lines: a traceback, a dump, a report.
trait Block: std::fmt::Debug {
    /// Offers the next line of the stream.
    fn next(&mut self, line: &Line) -> Next;
    /// Puts what was gathered into the sink. Called once, after the last line.
    fn finish(self: Box<Self>, sink: &mut Sink);
}

/// A block that got no line for this long is over: its writer died in the middle of it.
const STALE_LINES: u64 = 5_000;

/// Reads a text artifact.
pub fn read(input: &Input, limits: &Limits) -> Reading {
    let mut reader = TextReader::new(input.name(), limits);
    let torn = input.stream().and_then(|stream| reader.read_all(stream, limits)).err();
    let mut reading = reader.finish();
    reading.problems.extend(torn.as_ref().map(read_problem));
    reading
}

/// Reads text that is part of something else.
pub(super) fn read_str(name: &str, text: &str, limits: &Limits) -> Reading {
    let mut reader = TextReader::new(name, limits);
    let torn = reader.read_all(text.as_bytes(), limits).err();
    let mut reading = reader.finish();
    reading.problems.extend(torn.as_ref().map(read_problem));
    reading
}

struct OpenBlock {
    block: Box<dyn Block>,
    /// The rule that opened it.
    rule: usize,
    last_line: u64,
}

/// How the open blocks took a line.
#[derive(Default)]
struct Taken {
    /// The rules whose blocks it is part of.
    by: Vec<usize>,
    /// One of them says that the line only quotes.
    quoted: bool,
}

struct TextReader<'a> {
    rules: &'static Rules,
    sink: Sink<'a>,
    open: HashMap<String, Vec<OpenBlock>>,
    progress: Progress,
    number: u64,
    /// Lines longer than the limit, and the first of them.
    cut_lines: u64,
    first_cut_line: Option<u64>,
    line_bytes: usize,
    problems: Vec<Problem>,
}

impl<'a> TextReader<'a> {
    fn new(name: &'a str, limits: &'a Limits) -> Self {
        Self {
            rules: Rules::get(),
            sink: Sink::new(name, limits),
            open: HashMap::new(),
            progress: Progress::default(),
            number: 0,
            cut_lines: 0,
            first_cut_line: None,
            line_bytes: limits.line_bytes,
            problems: Vec::new(),
        }
    }

    fn cut_problem(&self) -> Option<Problem> {
        let first = self.first_cut_line?;
        let message = format!(
            "{} lines are longer than {} bytes, the first of them line {first}; only their beginnings were looked at",
            self.cut_lines, self.line_bytes
        );
        Some(Problem::new("limit-line-bytes", message))
    }

    fn read_all(&mut self, stream: impl BufRead, limits: &Limits) -> io::Result<()> {
        let mut stream = stream.take(limits.text_bytes.saturating_add(1));
        let mut raw = Vec::new();
        let mut bytes = 0;
        while let Some(read) = next_line(&mut stream, &mut raw, limits.line_bytes)? {
            bytes += read.bytes;
            if bytes > limits.text_bytes {
                self.problems.push(Problem::new(
                    "limit-text-bytes",
                    format!(
                        "the text was read up to line {}; the rest is longer than the limit allows",
                        self.number
                    ),
                ));
                break;
            }
            self.number += 1;
            if read.cut {
                self.first_cut_line.get_or_insert(self.number);
                self.cut_lines += 1;
            }
            self.line(&raw);
        }
        Ok(())
    }

    fn line(&mut self, raw: &[u8]) {
        let triggered = self.rules.is_match(raw);
        if !triggered && self.open.is_empty() {
            if !self.progress.is_settled(&self.sink) {
                self.progress.plain_line(self.number, raw, &self.sink);
            }
            return;
        }
        let cleaned = line::clean(raw);
        let line = Line::new(self.number, &cleaned);
        let taken = self.continue_blocks(&line);
        if taken.quoted {
            return;
        }
        if triggered {
            self.apply_rules(&line, raw, &taken.by);
        } else if taken.by.is_empty() {
            self.progress.plain_line(self.number, raw, &self.sink);
        }
    }

    /// Offers the line to the open blocks of its stream.
    fn continue_blocks(&mut self, line: &Line) -> Taken {
        let mut taken = Taken::default();
        let mut still_open = Vec::new();
        for mut open in self.open.remove(&line.origin.stream).unwrap_or_default() {
            let next = open.block.next(line);
            if next != Next::Ended {
                taken.by.push(open.rule);
                taken.quoted |= next == Next::Quoted;
            }
            match next {
                Next::More | Next::Quoted => still_open.push(OpenBlock {
                    last_line: line.number,
                    ..open
                }),
                Next::Last | Next::Ended => open.block.finish(&mut self.sink),
            }
        }
        if !still_open.is_empty() {
            self.open.insert(line.origin.stream.clone(), still_open);
        }
        if line.number.is_multiple_of(STALE_LINES) {
            self.close_stale();
        }
        taken
    }

    /// Applies the rules whose literals the line has. A line that a block took starts no second block of its kind.
    fn apply_rules(&mut self, line: &Line, raw: &[u8], taken_by: &[usize]) {
        for (index, rule) in self.rules.matching(raw) {
            if taken_by.contains(&index) {
                continue;
            }
            if let Some(block) = (rule.read)(line, &mut self.sink) {
                let opened = OpenBlock {
                    block,
                    rule: index,
                    last_line: line.number,
                };
                self.open.entry(line.origin.stream.clone()).or_default().push(opened);
            }
        }
    }

    fn close_stale(&mut self) {
        let oldest = self.number.saturating_sub(STALE_LINES);
        let stale: Vec<String> = self
            .open
            .iter()
            .filter(|(_, blocks)| blocks.iter().all(|open| open.last_line < oldest))
            .map(|(stream, _)| stream.clone())
            .collect();
        for stream in stale {
            self.close(&stream);
        }
    }

    fn close(&mut self, stream: &str) {
        for open in self.open.remove(stream).unwrap_or_default() {
            open.block.finish(&mut self.sink);
        }
    }

    fn finish(mut self) -> Reading {
        let mut streams: Vec<String> = self.open.keys().cloned().collect();
        streams.sort();
        for stream in streams {
            self.close(&stream);
        }
        let mut reading = Reading::default();
        reading.problems.extend(self.cut_problem());
        reading.problems.extend(self.problems);
        reading.problems.extend(self.sink.problems());
        self.progress.mark_survivors(&mut self.sink);
        reading.evidence.threads = self.sink.threads;
        reading.evidence.timeline = self.sink.events.into_iter().map(|(event, _)| event).collect();
        reading.evidence.timeline.sort_by_key(progress::first_line);
        for (number, event) in reading.evidence.timeline.iter_mut().enumerate() {
            event.event = number;
        }
        reading
    }
}
