//! Logs and everything else that is lines of text.
//!
//! One pass over the lines. A line that has none of the literals in [`rules`] and continues no open [`Block`] costs
//! one scan of its bytes; the grammars see only the others. What several writers printed into one artifact (ranks,
//! workers) is told apart by the tags their lines carry ([`prefix`]), and each such stream has its own open blocks.
//!
//! A log may be made of nothing but failures. Those that are told again are recognised by the shapes of their lines
//! ([`known`]) and counted ([`sink`]), and so are those that differ in numbers once there is no room for what they tell
//! of; of those that differ, the grammars read as many as [`allowance`] lets them, and those at the end ([`tail`]).

mod allowance;
mod blocks;
mod cuts;
mod ending;
mod follow;
mod grammar;
mod hash;
mod identity;
mod known;
mod last_words;
mod line;
mod prefix;
mod progress;
pub(in crate::readers) mod record;
mod rules;
mod severity;
mod shape;
mod sink;
mod stream;
mod tags;
mod tail;
pub(crate) mod time;

use std::collections::HashMap;
use std::io::{self, BufRead};

pub(in crate::readers) use grammar::divergence::quantity;
pub(in crate::readers) use grammar::exit::signal_of_exit;
pub(in crate::readers) use line::without_escapes;

use allowance::{Allowance, RuleSet};
use cuts::Cuts;
use known::{Known, Path};
use last_words::End;
use line::Line;
use progress::Progress;
use rules::Rules;
use sink::Sink;
use stream::{OpenBlock, Stream};
use tags::Tags;
use tail::Tail;

use super::data_set::is_data_set;
use super::lines::next_line;
use super::{Input, Reading, read_problem};
use crate::model::TextEnd;
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

/// Bytes of lines that the open blocks of one stream, and those of all streams, may have taken.
const BLOCK_BYTES: usize = 8 << 20;
const OPEN_BYTES: usize = 16 << 20;

/// Bytes of lines, over all streams, that wait until it is certain that they were read before.
const HELD_BYTES: usize = 8 << 20;

/// Which lines of a text are read. Every line is offered once, in order.
pub(super) trait LineFilter {
    /// Whether the line is read.
    fn takes(&mut self, line: &[u8]) -> bool;
}

/// All of them.
struct Every;

impl LineFilter for Every {
    fn takes(&mut self, _: &[u8]) -> bool {
        true
    }
}

/// Endings of names of documents, sources and changes to them. They quote failures and have none.
const DOCUMENTS: [&str; 12] = [
    "md", "rst", "adoc", "ipynb", "tex", "html", "diff", "patch", "py", "cu", "cpp", "rs",
];

fn is_document(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| DOCUMENTS.contains(&ending.as_str()))
}

/// Whether it is a page that a program wrote of its own failure.
fn is_report(input: &Input) -> bool {
    let mut beginning = [0; blocks::REPORT_HEADING.len()];
    let read = input
        .stream()
        .and_then(|mut stream| io::Read::read_exact(&mut stream, &mut beginning));
    read.is_ok() && beginning == *blocks::REPORT_HEADING.as_bytes()
}

/// Reads a text artifact.
pub fn read(input: &Input, limits: &Limits) -> Reading {
    let quoting = if is_document(input.name()) && !is_report(input) {
        Some("it is a document by its name")
    } else {
        is_data_set(input.head()).then_some("it is a data set by the names of its columns")
    };
    if let Some(why) = quoting {
        let what = format!("{why}: what it quotes is not taken for what happened");
        return Reading {
            problems: vec![Problem::new("document", what)],
            ..Reading::default()
        };
    }
    read_filtered(input, limits, &mut Every)
}

/// Reads those lines of a text artifact that the filter takes.
pub(super) fn read_filtered(input: &Input, limits: &Limits, filter: &mut impl LineFilter) -> Reading {
    let mut reader = TextReader::new(input.name(), limits);
    let torn = input
        .stream()
        .and_then(|stream| reader.read_all(stream, limits, filter))
        .err();
    let mut reading = reader.finish();
    reading.problems.extend(torn.as_ref().map(read_problem));
    reading
}

/// Reads text that is part of something else.
pub(super) fn read_str(name: &str, text: &str, limits: &Limits) -> Reading {
    let mut reading = read_lines(name, text.as_bytes(), limits, &mut Every);
    reading.evidence.text_ends.clear();
    reading
}

/// Reads those lines of a text in memory that the filter takes.
pub(super) fn read_lines(name: &str, text: &[u8], limits: &Limits, filter: &mut impl LineFilter) -> Reading {
    let mut reader = TextReader::new(name, limits);
    let torn = reader.read_all(text, limits, filter).err();
    let mut reading = reader.finish();
    reading.problems.extend(torn.as_ref().map(read_problem));
    reading
}

struct TextReader<'a> {
    rules: &'static Rules,
    sink: Sink<'a>,
    /// The streams that have something open.
    streams: HashMap<StreamId, Stream>,
    tags: Tags,
    known: Known,
    allowance: Allowance,
    tail: Tail,
    progress: Progress,
    end: End,
    /// Lines that were taken from the text.
    number: u64,
    /// Bytes of lines that open blocks took, and of lines that wait.
    open_bytes: usize,
    held_bytes: usize,
    cuts: Cuts,
    problems: Vec<Problem>,
    /// Kept for their memory: the numbers of the line at hand, a path, a line that has waited.
    numbers: Vec<u64>,
    spare: Option<Box<Path>>,
    oldest: Vec<u8>,
}

/// A line of which the prefix is parsed, with its shape.
struct Seen<'l> {
    line: &'l Line<'l>,
    raw: &'l [u8],
    shape: u64,
    /// The rules of which it has a literal.
    rules: RuleSet,
    stream: StreamId,
}

/// What is known of the next line of a text.
#[derive(Default)]
struct Ahead {
    /// The rules of which it has a literal, where that was looked up together with those of the line before.
    rules: Option<RuleSet>,
    /// Why there is none.
    torn: Option<io::Error>,
}

impl Ahead {
    /// The rules of a line, and with them those of the next one, where all of that is in memory.
    fn look(&mut self, rules: &Rules, raw: &[u8], stream: &mut impl BufRead, cap: usize) -> RuleSet {
        let buffer = stream.fill_buf().unwrap_or_else(|error| {
            self.torn = Some(error);
            &[]
        });
        let end = memchr::memchr(b'\n', buffer).filter(|end| *end <= cap);
        let Some(next) = end.and_then(|end| buffer.get(..end)) else {
            return rules.matching(raw);
        };
        let [of_line, of_next] = rules.matching_both(raw, next);
        self.rules = Some(of_next);
        of_line
    }
}

/// The hash of a stream's name.
type StreamId = u64;

impl<'a> TextReader<'a> {
    fn new(name: &'a str, limits: &'a Limits) -> Self {
        Self {
            rules: Rules::get(),
            sink: Sink::new(name, limits),
            streams: HashMap::new(),
            tags: Tags::default(),
            known: Known::default(),
            allowance: Allowance::new(),
            tail: Tail::default(),
            progress: Progress::default(),
            end: End::default(),
            number: 0,
            open_bytes: 0,
            held_bytes: 0,
            cuts: Cuts::default(),
            problems: Vec::new(),
            numbers: Vec::new(),
            spare: None,
            oldest: Vec::new(),
        }
    }

    fn read_all(&mut self, stream: impl BufRead, limits: &Limits, filter: &mut impl LineFilter) -> io::Result<()> {
        let mut stream = stream.take(limits.text_bytes.saturating_add(1));
        let mut raw = Vec::new();
        let mut bytes = 0;
        let mut ahead = Ahead::default();
        let indent = line::indent(stream.fill_buf()?);
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
            line::move_back(&mut raw, indent);
            let rules = ahead.rules.take();
            if !filter.takes(&raw) {
                continue;
            }
            if read.cut {
                self.cuts.line(self.number);
            }
            self.allowance.earn(read.bytes);
            self.end.push(self.number, &raw);
            let rules = rules.unwrap_or_else(|| ahead.look(self.rules, &raw, &mut stream, limits.line_bytes));
            self.take(&raw, rules);
            if let Some(torn) = ahead.torn.take() {
                return Err(torn);
            }
        }
        Ok(())
    }

    /// Reads a line, or, once not everything is kept, another one that has waited.
    fn take(&mut self, raw: &[u8], rules: RuleSet) {
        if self.allowance.refused == 0 && !self.sink.is_full() {
            self.line(self.number, raw, rules);
            return;
        }
        self.tail.push(self.number, raw, rules);
        let mut oldest = std::mem::take(&mut self.oldest);
        while self.tail.is_over()
            && let Some((number, rules)) = self.tail.pop(&mut oldest)
        {
            self.line(number, &oldest, rules);
        }
        self.oldest = oldest;
    }

    fn line(&mut self, number: u64, raw: &[u8], rules: RuleSet) {
        if number.is_multiple_of(STALE_LINES) {
            self.close_stale(number);
        }
        match record::traceback(raw) {
            Some(lines) => lines
                .iter()
                .for_each(|line| self.single(number, line.as_bytes(), self.rules.matching(line.as_bytes()))),
            None => self.single(number, raw, rules),
        }
    }

    fn single(&mut self, number: u64, raw: &[u8], rules: RuleSet) {
        if rules == 0 && self.streams.is_empty() {
            self.plain_line(number, raw);
            return;
        }
        self.look_at(number, raw, rules, Self::follow);
    }

    /// Parses the prefix and takes the shape of a line.
    fn look_at(&mut self, number: u64, raw: &[u8], rules: RuleSet, then: impl FnOnce(&mut Self, &Seen)) {
        let cleaned = line::clean(raw);
        let text = line::beginning(&cleaned);
        if text.len() < cleaned.len() {
            self.cuts.line(number);
        }
        let mut line = Line::new(number, text);
        line.text = self.tags.strip(&line);
        line.origin.rank = line.origin.rank.or(self.sink.section_rank);
        self.numbers.clear();
        let shape = shape::shape(line.text, &mut self.numbers);
        let seen = Seen {
            line: &line,
            raw,
            shape,
            rules,
            stream: hash::of(&line.origin.stream),
        };
        then(self, &seen);
    }

    /// A line that no grammar reads.
    fn plain_line(&mut self, number: u64, raw: &[u8]) {
        let is_telling = !self.streams.is_empty();
        self.progress.plain_line(number, raw, is_telling, &mut self.sink);
    }

    /// Has the grammars read a line.
    fn read(&mut self, seen: &Seen) {
        let Seen { line, raw, .. } = seen;
        let open = match self.streams.remove(&seen.stream) {
            Some(Stream::Open { blocks, path }) => Some((blocks, path)),
            _ => None,
        };
        if open.is_none() && seen.rules == 0 {
            self.plain_line(line.number, raw);
            return;
        }
        let rules = seen.rules;
        let opened = open.iter().flat_map(|(blocks, _)| blocks);
        if !self
            .allowance
            .spend(opened.fold(rules, |set, block| set | 1 << block.rule), raw.len())
        {
            if let Some((blocks, path)) = open {
                self.finish_blocks(blocks, path);
            }
            return;
        }
        let (mut blocks, mut path) = open.unwrap_or_else(|| {
            let mut path = self.spare.take().unwrap_or_default();
            path.begin(&line.origin);
            (Vec::new(), path)
        });
        self.sink.told.clear();
        self.sink.has_new_stack = false;
        self.sink.has_new_state = false;
        let (told, kept) = self.sink.tally();
        let was_open = !blocks.is_empty();
        let taken = stream::offer(&mut blocks, line, &mut self.sink);
        if was_open && blocks.is_empty() && taken.by == 0 {
            path.add_told(&mut self.sink);
            self.open_bytes -= path.taken_bytes;
            self.known.learn(&path, Some(seen.shape));
            path.begin(&line.origin);
        }
        if taken.by != 0 || seen.rules != 0 {
            path.push(seen.shape, &self.numbers, line.number);
        }
        let (open, told_before) = (blocks.len(), self.sink.tally().0);
        if seen.rules != 0 && !taken.quoted {
            blocks.extend(stream::open(self.rules, rules & !taken.by, line, &mut self.sink));
        }
        let (told_by_now, kept_by_now) = self.sink.tally();
        // A word that a grammar looks for makes no less of a line that it then does not read.
        let is_read = taken.by != 0 || taken.quoted || blocks.len() > open || told_by_now > told_before;
        if !is_read {
            self.plain_line(line.number, raw);
        }
        if told_by_now > told && kept_by_now == kept {
            self.allowance.told_nothing_new();
        }
        path.add_told(&mut self.sink);
        self.put_back(seen, blocks, path);
    }

    /// After a line that the grammars have read: remembers the path, and keeps the stream while it has a block open.
    fn put_back(&mut self, seen: &Seen, blocks: Vec<OpenBlock>, mut path: Box<Path>) {
        if blocks.is_empty() {
            self.open_bytes -= path.taken_bytes;
            if !path.is_empty() {
                self.known.learn(&path, None);
            }
            self.spare = Some(path);
            return;
        }
        self.known.goes_on(&path);
        path.taken_bytes += seen.raw.len();
        self.open_bytes += seen.raw.len();
        if path.taken_bytes > BLOCK_BYTES || self.open_bytes > OPEN_BYTES {
            self.cuts.block(seen.line.number);
            self.finish_blocks(blocks, path);
            return;
        }
        self.streams.insert(seen.stream, Stream::Open { blocks, path });
    }

    fn finish_blocks(&mut self, blocks: Vec<OpenBlock>, path: Box<Path>) {
        self.open_bytes -= path.taken_bytes;
        for open in blocks {
            open.block.finish(&mut self.sink);
        }
        self.spare = Some(path);
    }

    fn close_stale(&mut self, number: u64) {
        let oldest = number.saturating_sub(STALE_LINES);
        let stale = self.streams.iter().filter(|(_, stream)| stream.last_line() < oldest);
        let stale = stale.map(|(stream, _)| *stream).collect();
        self.close(stale);
    }

    /// Closes streams in the order of their names, so that stacks are named the same every time.
    fn close(&mut self, mut streams: Vec<StreamId>) {
        let name = |stream: &StreamId| self.streams.get(stream).map(|stream| stream.path().stream.clone());
        streams.sort_by_cached_key(name);
        for stream in streams {
            self.read_held(stream);
            if let Some(Stream::Open { blocks, path }) = self.streams.remove(&stream) {
                self.finish_blocks(blocks, path);
            }
        }
    }

    fn finish(mut self) -> Reading {
        self.allowance.refresh();
        self.sink.at_end();
        let mut raw = Vec::new();
        while let Some((number, rules)) = self.tail.pop(&mut raw) {
            self.line(number, &raw, rules);
        }
        self.close(self.streams.keys().copied().collect());
        let well = self.end.all_is_well();
        let text_end = ending::text_end(&self.end, well.as_ref(), self.number);
        match well {
            Some(end) => {
                self.sink.settled = self.sink.settled.max(end.line);
                self.sink.came_to_its_end = end.line;
                self.sink.said_well = end.said;
                self.sink.tests_passed = end.tests_passed;
            }
            None => self.end.read(&mut self.sink),
        }
        if let Some(left) = self.end.left() {
            self.sink.said_well = left;
        }
        progress::mark_survivors(&mut self.sink);
        let mut reading = Reading::default();
        let limits = self.sink.limits();
        let refused = self.allowance.refused;
        let artifact = self.sink.artifact().to_owned();
        reading.problems.extend(self.cuts.problems(limits.line_bytes, refused));
        reading.problems.append(&mut self.problems);
        reading.evidence.communicators = self.sink.take_communicators();
        reading.evidence.crash = self.sink.take_crash();
        let (events, threads, problems) = self.sink.finish();
        reading.problems.extend(problems);
        reading.evidence.timeline = events;
        reading.evidence.threads = threads;
        reading.evidence.text_ends = vec![TextEnd { artifact, ..text_end }];
        reading
            .problems
            .extend(crate::trim::trim(&mut reading.evidence, limits.evidence_bytes).problem());
        reading
    }
}
