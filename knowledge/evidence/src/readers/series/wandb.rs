//! The record of a run that Weights & Biases keeps beside the program (`run-ID.wandb`): what was printed, what was logged,
//! what the machine did meanwhile, and how the run ended.
//!
//! The file is a log as LevelDB writes it (`doc/log_format.md` there) behind a header of seven bytes: blocks of 32 KiB with
//! pieces of records, each with a CRC-32 of its type and bytes. A record is a message of Protocol Buffers
//! (`wandb/proto/wandb_internal.proto`). The text of it is what was printed, with a line for each row that was logged.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

use super::{Logged, TIMES, is_one_of, number};
use crate::model::{EndSign, Event, EventPayload, Place, ProcessExit, TextEnd};
use crate::readers::protobuf::{self, Field};
use crate::readers::rendered::{Rendered, as_shown};
use crate::readers::{Input, Reading, read_problem};
use crate::{Limits, Problem};

/// How a file begins: the name, a number, and the version.
const HEADER: &[u8; 7] = b":W&B\xe1\xbe\x00";
/// Bytes of a block.
const BLOCK_BYTES: u64 = 32 << 10;
/// Bytes before a piece of a record: its sum, its length and its type.
const PIECE_HEADER: u64 = 7;
/// Bytes of a record that is looked at.
const RECORD_BYTES: usize = 4 << 20;
/// Bytes of a line that was printed which are gathered before its end came.
const LINE_BYTES: usize = 64 << 10;
/// Rows of one run that are shown; all of them are read.
const ROWS: usize = 100_000;
/// Members of one row.
const MEMBERS: usize = 1024;

/// True for a file that starts like one.
pub fn is_run(head: &[u8]) -> bool {
    head.starts_with(HEADER)
}

/// The text of a run.
pub(in crate::readers) fn rendered(input: &Input, limits: &Limits) -> Option<Rendered> {
    Run::of(input, limits).ok().map(|run| run.text)
}

/// Reads a run.
pub fn read(input: &Input, limits: &Limits) -> Reading {
    let mut run = match Run::of(input, limits) {
        Ok(run) => run,
        Err(error) => return Reading::problem(read_problem(&error)),
    };
    let mut reading = run.text.read(input.name(), limits);
    run.logged.finish(input.name(), limits, &mut reading);
    if let Some((0, line)) = run.exit {
        reading.evidence.text_ends = vec![TextEnd {
            artifact: input.name().to_owned(),
            lines: line,
            sign: EndSign::ExitZero,
            at: Some(Place::Line([line; 2])),
            text: exit_words(0),
        }];
    } else if let Some((code, line)) = run.exit {
        let exit = ProcessExit {
            exit_code: Some(code),
            ..ProcessExit::default()
        };
        let timeline = &mut reading.evidence.timeline;
        timeline.push(Event {
            event: timeline.len(),
            text: exit_words(code),
            artifact: input.name().to_owned(),
            at: Some(Place::Line([line; 2])),
            ..Event::new(EventPayload::ProcessExit(exit))
        });
    }
    reading.problems.extend(run.damage);
    reading
}

fn exit_words(code: i32) -> String {
    format!("the run ended with exit code {code}")
}

struct Run {
    text: Rendered,
    logged: Logged,
    /// What was printed to each of the two streams since its last line ended.
    open: [String; 2],
    rows: usize,
    /// The code that the run ended with, and the line that says so.
    exit: Option<(i32, u64)>,
    damage: Option<Problem>,
}

impl Run {
    fn of(input: &Input, limits: &Limits) -> io::Result<Self> {
        let mut run = Self {
            text: Rendered::new(limits),
            logged: Logged::default(),
            open: Default::default(),
            rows: 0,
            exit: None,
            damage: None,
        };
        let mut records = Records {
            stream: input.stream()?,
            at: 0,
            record: Vec::new(),
            is_open: false,
        };
        run.damage = records.read(|record| run.add(record));
        run.end_lines();
        Ok(run)
    }

    /// Adds a record. The numbers are those of the fields of `Record`.
    fn add(&mut self, record: &[u8]) {
        for (number, field) in protobuf::fields(record) {
            let Some(message) = field.bytes() else { continue };
            match number {
                2 => self.add_row(message),
                4 | 13 => self.add_output(message),
                7 => self.add_stats(message),
                18 => self.add_exit(message),
                _ => {}
            }
        }
    }

    /// What was printed: the stream, and a piece of text.
    fn add_output(&mut self, output: &[u8]) {
        let is_stdout = protobuf::last(output, 1).and_then(Field::integer) == Some(1);
        let Some(piece) = protobuf::last(output, 3).and_then(Field::text) else {
            return;
        };
        let Some(open) = self.open.get_mut(usize::from(is_stdout)) else {
            return;
        };
        open.push_str(piece);
        if let Some((lines, rest)) = open.rsplit_once('\n') {
            let (lines, rest) = (as_shown(lines), rest.to_owned());
            *open = rest;
            self.text.tell(&lines);
        } else if open.len() > LINE_BYTES {
            self.text.tell(&as_shown(&std::mem::take(open)));
        }
    }

    fn end_lines(&mut self) {
        for open in std::mem::take(&mut self.open) {
            if !open.is_empty() {
                self.text.tell(&as_shown(&open));
            }
        }
    }

    /// A row that was logged.
    fn add_row(&mut self, history: &[u8]) {
        let items = items(history, 1);
        let step_of_record = protobuf::last(history, 2).and_then(Field::bytes);
        let of_record = step_of_record.and_then(|step| protobuf::last(step, 1)?.integer());
        let step = items.get("_step").and_then(|step| step.parse().ok()).or(of_record);
        // Of its own members the step alone tells something.
        let is_told = |name: &str| name == "_step" || !name.starts_with('_');
        let shown = items
            .iter()
            .filter(|(name, value)| is_told(name) && number(value).is_some());
        let shown = shown
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join(" ");
        let is_shown = self.rows < ROWS && self.text.show(&shown);
        self.rows += 1;
        let line = self.text.last_line();
        for (name, value) in &items {
            let is_axis = name.starts_with('_') || is_one_of(name, &TIMES);
            if let Some(value) = number(value).filter(|_| !is_axis) {
                let place = || {
                    (
                        Place::Line([if is_shown { line } else { line.max(1) }; 2]),
                        shown.clone(),
                    )
                };
                self.logged.add(name, step, value, place);
            }
        }
    }

    /// What the machine did at a moment.
    fn add_stats(&mut self, stats: &[u8]) {
        for (name, value) in items(stats, 3) {
            if let Some(value) = number(&value) {
                let line = self.text.last_line().max(1);
                let place = || (Place::Line([line; 2]), String::new());
                self.logged.add(&format!("system.{name}"), None, value, place);
            }
        }
    }

    fn add_exit(&mut self, exit: &[u8]) {
        self.end_lines();
        let code = protobuf::last(exit, 1).and_then(Field::integer).unwrap_or_default();
        let code = code as i64 as i32;
        if self.text.show(&exit_words(code)) {
            self.exit = Some((code, self.text.last_line()));
        }
    }
}

/// The items of a message by name, those of members joined by dots; what is JSON as it is written, without quotes.
fn items(message: &[u8], number: u64) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let items = protobuf::fields(message).filter(|(known, _)| *known == number);
    for item in items.filter_map(|(_, field)| field.bytes()).take(MEMBERS) {
        let (mut path, mut value) = (Vec::new(), None);
        for (number, field) in protobuf::fields(item) {
            match (number, field) {
                (1 | 2, field) => path.extend(field.text()),
                (5, Field::Varint(zigzag)) => value = Some(unfolded(zigzag).to_string()),
                (6, field) => value = field.float().map(|number| number.to_string()),
                (8 | 16, field) => value = field.text().map(|json| json.trim_matches('"').to_owned()),
                _ => {}
            }
        }
        path.retain(|part| !part.is_empty());
        if let Some(value) = value {
            found.insert(path.join("."), value);
        }
    }
    found
}

/// A signed integer of an encoding that keeps small ones short.
fn unfolded(zigzag: u64) -> i64 {
    let half = (zigzag >> 1).cast_signed();
    if zigzag & 1 == 1 { !half } else { half }
}

/// What a piece is of a record; 3 is one between the first and the last.
const FULL: u8 = 1;
const FIRST: u8 = 2;
const LAST: u8 = 4;

struct Records<R> {
    stream: R,
    /// Bytes that were read.
    at: u64,
    record: Vec<u8>,
    /// Whether the beginning of a record waits for its end.
    is_open: bool,
}

impl<R: BufRead> Records<R> {
    /// Hands out all records that are whole; what ended that early.
    fn read(&mut self, mut take: impl FnMut(&[u8])) -> Option<Problem> {
        let mut header = [0; HEADER.len()];
        if let Err(error) = self.fill(&mut header) {
            return Some(read_problem(&error));
        }
        loop {
            match self.piece(&mut take) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    let message =
                        "the record of the run ends early, as where its writer was killed; what came before was read";
                    return Some(Problem::new("unfinished", message));
                }
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    let message = format!(
                        "the record of the run is damaged before byte {}; what came before was read",
                        self.at
                    );
                    return Some(Problem::new("damaged", message));
                }
                Err(error) => return Some(read_problem(&error)),
            }
        }
    }

    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        self.stream.read_exact(buffer)?;
        self.at += buffer.len() as u64;
        Ok(())
    }

    /// Reads a piece: whether there was one.
    fn piece(&mut self, take: &mut impl FnMut(&[u8])) -> io::Result<bool> {
        if self.stream.fill_buf()?.is_empty() {
            return Ok(false);
        }
        let left = BLOCK_BYTES - self.at % BLOCK_BYTES;
        if left < PIECE_HEADER {
            let skipped = io::copy(&mut (&mut self.stream).take(left), &mut io::sink())?;
            self.at += skipped;
            return Ok(skipped == left);
        }
        let mut header = [0; PIECE_HEADER as usize];
        self.fill(&mut header)?;
        let [a, b, c, d, low, high, kind] = header;
        let length = usize::from(u16::from_le_bytes([low, high]));
        // What a writer left out at the end of a file that it had made room in.
        if header == [0; PIECE_HEADER as usize] {
            return Ok(false);
        }
        if length as u64 + PIECE_HEADER > left || !(FULL..=LAST).contains(&kind) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut data = vec![0; length];
        self.fill(&mut data)?;
        let mut sum = crc32fast::Hasher::new();
        sum.update(&[kind]);
        sum.update(&data);
        if sum.finalize() != u32::from_le_bytes([a, b, c, d]) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.add(kind, &data, take);
        Ok(true)
    }

    fn add(&mut self, kind: u8, data: &[u8], take: &mut impl FnMut(&[u8])) {
        if matches!(kind, FULL | FIRST) {
            self.record.clear();
            self.is_open = true;
        }
        self.is_open &= self.record.len() + data.len() <= RECORD_BYTES;
        if self.is_open {
            self.record.extend_from_slice(data);
        }
        if matches!(kind, FULL | LAST) {
            if self.is_open {
                take(&self.record);
            }
            self.is_open = false;
            self.record.clear();
        }
    }
}
