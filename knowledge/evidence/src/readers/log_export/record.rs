//! Records of an export: what was said, when and by whom.

use std::collections::HashSet;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{forms, kubernetes};
use crate::readers::rendered::as_shown;
use crate::readers::text;

/// Objects in objects that are looked into for records.
const DEPTH: usize = 5;

/// What one writer said at one time.
#[derive(Debug, Default)]
pub struct Record {
    pub time: Option<Timestamp>,
    /// Who said it: `pod/train-0/main`, `stream/app-7`; empty where nobody is named.
    pub writer: String,
    pub rank: Option<u64>,
    /// The lines, without the last line end.
    pub text: String,
    /// Whether a reader of lines finds all of that in a line that has the record.
    pub is_flat: bool,
    /// The next record of the writer goes on in the same line.
    pub goes_on: bool,
    /// Of what has the same time, it comes last.
    pub is_late: bool,
    /// It tells how things stand, and of nothing that happened.
    pub is_state: bool,
    /// Number of the list that it is in: each has an order of its own.
    pub list: usize,
}

impl Record {
    /// Whether it has what was said in an object of its own.
    pub fn is_nested(&self) -> bool {
        self.time.is_some() && !self.is_flat
    }

    /// What stands before its lines: when, and whose they are where there are several.
    pub fn prefix(&self, has_several: bool) -> String {
        let time = self.time.map_or_else(String::new, |time| format!("{time} "));
        let writer = match has_several && !self.writer.is_empty() {
            true => format!("[{}] ", self.writer),
            false => String::new(),
        };
        let rank = self.rank.map_or_else(String::new, |rank| format!("[rank{rank}]: "));
        format!("{time}{writer}{rank}")
    }

    /// Sets what was said. A record of a logger is the lines that it holds.
    pub fn say(&mut self, said: &str) {
        let said = said.strip_suffix('\n').unwrap_or(said);
        let inner = || {
            let is_record = said.trim_start().starts_with('{');
            let said = is_record.then(|| said.trim())?;
            let lines = text::record::traceback(said.as_bytes()).map(|lines| lines.join("\n"));
            lines.or_else(|| text::record::line(said))
        };
        self.text = as_shown(&inner().unwrap_or_else(|| said.to_owned()));
    }
}

/// The records of an export, while they are gathered.
#[derive(Debug, Default)]
pub struct Records {
    records: Vec<Record>,
    /// Objects that stand where records do and are none.
    others: usize,
    lists: usize,
    /// Bytes that the records may take, where they are bounded by nothing else; 0 where they are.
    pub room: u64,
    bytes: u64,
    /// There was no room for all: the oldest are left out.
    pub is_cut: bool,
}

/// Bytes that a record takes beside its text.
const RECORD_BYTES: usize = size_of::<Record>() + 32;

impl Records {
    /// Takes the records of a document.
    pub fn add(&mut self, document: &Value) {
        let is_other = !self.look_into(document, DEPTH);
        self.others += usize::from(is_other);
    }

    /// Takes the records of a document that stands in a line.
    pub fn add_line(&mut self, document: &Value, line: &[u8]) {
        let before = self.records.len();
        if self.look_into(document, DEPTH) {
            self.count(before);
        } else {
            self.add_other(line);
        }
    }

    /// Takes a line that is no record as it is.
    pub fn add_other(&mut self, line: &[u8]) {
        self.others += 1;
        let before = self.records.len();
        self.records.push(Record {
            text: as_shown(&String::from_utf8_lossy(line)),
            ..Record::default()
        });
        self.count(before);
    }

    /// Counts what came from this record on. What is oldest goes where there is no room.
    fn count(&mut self, from: usize) {
        let new = self.records.get(from..).unwrap_or_default();
        let bytes: usize = new.iter().map(|record| record.text.len() + RECORD_BYTES).sum();
        self.bytes += bytes as u64;
        if self.room > 0 && self.bytes > self.room && !is_newest_first(&self.records) {
            let half = self.records.len() / 2;
            let gone: usize = self
                .records
                .drain(..half)
                .map(|record| record.text.len() + RECORD_BYTES)
                .sum();
            self.bytes -= gone as u64;
            self.is_cut = true;
        }
    }

    /// Whether what follows is older than what there is no room for.
    pub fn is_full(&mut self) -> bool {
        let is_full = self.room > 0 && self.bytes > self.room;
        self.is_cut |= is_full;
        is_full
    }

    /// All of them; none where what was looked at is something else.
    pub fn finish(self) -> Option<Vec<Record>> {
        let count = self.records.len();
        (count > 0 && self.others * 9 <= count).then_some(self.records)
    }

    /// Takes the records of a value: whether it had any.
    fn look_into(&mut self, value: &Value, depth: usize) -> bool {
        let before = self.records.len();
        match value {
            Value::Array(items) => {
                self.lists += 1;
                let list = self.lists;
                for item in items {
                    let start = self.records.len();
                    let is_other = !self.look_into(item, depth) && item.is_object();
                    self.others += usize::from(is_other);
                    let new = self.records.get_mut(start..).unwrap_or_default();
                    new.iter_mut().for_each(|record| record.list = record.list.max(list));
                }
            }
            Value::Object(members) => self.look_into_object(value, members, depth),
            _ => {}
        }
        self.records.len() > before
    }

    fn look_into_object(&mut self, object: &Value, members: &Map<String, Value>, depth: usize) {
        let lists = [forms::stream(object), forms::table(object), kubernetes::records(object)];
        if let Some(records) = lists.into_iter().flatten().next() {
            self.lists += 1;
            let list = self.lists;
            self.records
                .extend(records.into_iter().map(|record| Record { list, ..record }));
        } else if let Some(record) = forms::record(object) {
            self.records.push(record);
        } else if depth > 0 {
            for member in members
                .values()
                .filter(|member| member.is_array() || member.is_object())
            {
                self.look_into(member, depth - 1);
            }
        }
    }
}

/// Whether a list begins with what came last.
pub fn is_newest_first(records: &[Record]) -> bool {
    let mut times = records.iter().filter_map(|record| record.time);
    let first = times.next();
    first.zip(times.next_back()).is_some_and(|(first, last)| first > last)
}

/// Whether several are named as writers.
pub fn has_several_writers(records: &[Record]) -> bool {
    let timed = records.iter().filter(|record| record.time.is_some());
    let writers: HashSet<&str> = timed.map(|record| record.writer.as_str()).collect();
    writers.len() > 1
}

/// The records oldest first. Of one time, they keep the order in which they were said.
pub fn in_order(mut records: Vec<Record>) -> Vec<Record> {
    for list in records.chunk_by_mut(|one, next| one.list == next.list) {
        if is_newest_first(list) {
            list.reverse();
        }
    }
    let mut last = None;
    let mut timed: Vec<(Option<Timestamp>, Record)> = records
        .into_iter()
        .map(|record| {
            last = record.time.or(last);
            (last, record)
        })
        .collect();
    timed.sort_by_key(|(time, record)| (*time, record.is_late));
    joined(timed.into_iter().map(|(_, record)| record))
}

/// Records whose lines were cut by who kept them, in one piece.
fn joined(records: impl Iterator<Item = Record>) -> Vec<Record> {
    let mut all: Vec<Record> = Vec::new();
    for record in records {
        match all.last_mut() {
            Some(last) if last.goes_on && last.writer == record.writer => {
                last.text.push_str(&record.text);
                last.goes_on = record.goes_on;
            }
            _ => all.push(record),
        }
    }
    all
}
