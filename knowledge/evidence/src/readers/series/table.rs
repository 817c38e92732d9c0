//! Rows of numbers as text: comma- or tab-separated values under the names of their columns, and lines of JSON, one
//! object a row.
//!
//! What has lines that are no rows is a log all the same, and read as one; its rows are read here as well.

use std::io;

use serde_json::{Map, Value};

use super::{Logged, TIMES, is_metric, is_one_of, number, step_order};
use crate::model::Place;
use crate::readers::lines::next_line;
use crate::readers::{Input, Reading, json, read_problem, text};
use crate::{ArtifactKind, Limits, Problem};

/// Bytes of a beginning that is not the whole text.
const CUT_BYTES: usize = 63 << 10;
/// Columns of a table.
const COLUMNS: usize = 1024;
/// Rows of a beginning that have to be numbers.
const ROWS: usize = 2;
/// Objects in objects that are looked into.
const DEPTH: usize = 3;
/// Longest text that a row of numbers has as a value beside them, such as the name of a phase.
const WORD_BYTES: usize = 64;

/// True for a text that starts like rows of numbers.
pub fn is_table(head: &[u8]) -> bool {
    let Some(lines) = whole_lines(head) else { return false };
    if is_state(head) {
        return true;
    }
    if head.starts_with(b"{") {
        return is_json_rows(&lines);
    }
    let Some((header, rows)) = lines.split_first() else {
        return false;
    };
    Columns::of(header).is_some_and(|columns| {
        let rows: Vec<_> = rows.iter().take(64).map(|row| columns.values(row)).collect();
        rows.len() >= ROWS && rows.iter().all(Option::is_some) && columns.are_of_a_training(&rows)
    })
}

/// The names of the columns of a table that starts so; none for what is no table.
pub(in crate::readers) fn names(head: &[u8]) -> Option<Vec<String>> {
    let lines = whole_lines(head)?;
    let (header, rows) = lines.split_first()?;
    let columns = Columns::of(header)?;
    let width = |row: &&str| quoted_cells(row, columns.separator) == columns.names.len();
    let is_table = columns.names.len() > 2 && !rows.is_empty() && rows.iter().take(64).all(width);
    is_table.then_some(columns.names)
}

/// How many values a row has, of which those that have the separator in them stand in quotation marks.
fn quoted_cells(row: &str, separator: char) -> usize {
    let mut is_quoted = false;
    let ends = row.chars().filter(|c| {
        is_quoted ^= *c == '"';
        *c == separator && !is_quoted
    });
    1 + ends.count()
}

/// The lines of a beginning that are whole.
fn whole_lines(head: &[u8]) -> Option<Vec<&str>> {
    let whole = match head.len() >= CUT_BYTES {
        true => head.get(..memchr::memrchr(b'\n', head)?)?,
        false => head,
    };
    let lines = std::str::from_utf8(whole).ok()?.lines();
    Some(lines.filter(|line| !line.trim().is_empty()).collect())
}

/// The state of a trainer of transformers (`trainer_state.json`), which has its log as a list of rows.
fn is_state(head: &[u8]) -> bool {
    let has = |name: &[u8]| memchr::memmem::find(head, name).is_some();
    head.starts_with(b"{") && has(b"\"log_history\"") && has(b"\"epoch\"")
}

fn is_json_rows(lines: &[&str]) -> bool {
    let rows: Vec<_> = lines
        .iter()
        .map(|line| text::record::members(line).as_ref().and_then(Row::of))
        .collect();
    let Some(rows) = rows.into_iter().collect::<Option<Vec<Row>>>() else {
        return false;
    };
    let is_summary = |row: &Row| row.has("_step") && (row.has("_runtime") || row.has("_timestamp"));
    match &rows[..] {
        [] => false,
        [row] => is_summary(row),
        rows => rows.iter().any(Row::is_of_a_training),
    }
}

/// Reads a table.
pub fn read(input: &Input, limits: &Limits) -> Reading {
    if is_state(input.head()) {
        return read_state(input, limits);
    }
    let mut table = Table::default();
    let torn = table.read(input, limits).err();
    if table.others > 0 {
        let mut reading = Reading {
            kind: Some(ArtifactKind::Log),
            ..text::read(input, limits)
        };
        table.logged.finish(input.name(), limits, &mut reading);
        return reading;
    }
    let mut reading = Reading::default();
    table.logged.finish(input.name(), limits, &mut reading);
    reading.problems.extend(table.cut);
    reading.problems.extend(torn.as_ref().map(read_problem));
    reading
}

/// Reads the rows of a trainer's state. Their lines are where their first member stands.
fn read_state(input: &Input, limits: &Limits) -> Reading {
    let as_text = || Reading {
        kind: Some(ArtifactKind::Log),
        ..text::read(input, limits)
    };
    let Ok((bytes, None)) = json::bytes(input, limits) else {
        return as_text();
    };
    let whole = String::from_utf8_lossy(&bytes);
    let Ok(state) = json::parse::<Value>(text::record::with_quoted_names(&whole).as_bytes()) else {
        return as_text();
    };
    let mut table = Table::default();
    let lines: Vec<&str> = whole.lines().collect();
    let mut places = Places { lines: &lines, next: 0 };
    for row in state.get("log_history").and_then(Value::as_array).into_iter().flatten() {
        let Some(row) = row.as_object().and_then(Row::of) else {
            continue;
        };
        for (name, value) in &row.numbers {
            let line = if value.is_finite() { None } else { places.of(name) };
            let place = || {
                let number = line.unwrap_or(1);
                let index = usize::try_from(number).unwrap_or(usize::MAX) - 1;
                let said = lines.get(index).map(|line| line.trim()).unwrap_or_default();
                (Place::Line([number; 2]), said.to_owned())
            };
            table.add(&row, name, *value, place);
        }
    }
    let mut reading = Reading::default();
    table.logged.finish(input.name(), limits, &mut reading);
    reading
}

/// The lines of a document in which members are no numbers, one after the other.
struct Places<'t> {
    lines: &'t [&'t str],
    next: usize,
}

impl Places<'_> {
    fn of(&mut self, name: &str) -> Option<u64> {
        let written = format!("\"{name}\"");
        let is_there = |line: &&str| line.contains(&written) && (line.contains("NaN") || line.contains("Infinity"));
        let rest = self.lines.get(self.next..)?;
        let found = self.next + rest.iter().position(is_there)?;
        // Several may stand on one line.
        self.next = found;
        Some(found as u64 + 1)
    }
}

/// The numbers of a row by name.
#[derive(Debug, Default)]
struct Row {
    numbers: Vec<(String, f64)>,
    words: usize,
}

impl Row {
    /// The row that an object is; none for one that says more than numbers.
    fn of(members: &Map<String, Value>) -> Option<Self> {
        let mut row = Self::default();
        row.take("", members, DEPTH)?;
        let is_mostly_numbers = !row.numbers.is_empty() && row.words <= row.numbers.len();
        is_mostly_numbers.then_some(row)
    }

    fn take(&mut self, before: &str, members: &Map<String, Value>, depth: usize) -> Option<()> {
        for (name, value) in members {
            let name = if before.is_empty() {
                name.clone()
            } else {
                format!("{before}.{name}")
            };
            match value {
                Value::Number(number) => self.add(name, number.as_f64()?),
                Value::String(text) => match number(text) {
                    Some(value) => self.add(name, value),
                    None if text.len() <= WORD_BYTES || is_one_of(&name, &TIMES) => self.words += 1,
                    None => return None,
                },
                Value::Object(members) if depth > 0 => self.take(&name, members, depth - 1)?,
                _ => {}
            }
        }
        Some(())
    }

    fn add(&mut self, name: String, value: f64) {
        if self.numbers.len() < COLUMNS {
            self.numbers.push((name, value));
        }
    }

    fn has(&self, name: &str) -> bool {
        self.numbers.iter().any(|(known, _)| known == name)
    }

    fn is_of_a_training(&self) -> bool {
        let has_step = self.numbers.iter().any(|(name, _)| step_order(name).is_some());
        let has_metric = self.numbers.iter().any(|(name, _)| is_metric(name));
        has_metric || has_step && self.numbers.len() > 1
    }
}

/// A table while it is read.
#[derive(Debug, Default)]
struct Table {
    logged: Logged,
    /// The name of the step, by its order.
    step: Option<usize>,
    /// Lines that are no rows.
    others: u64,
    cut: Option<Problem>,
}

impl Table {
    fn read(&mut self, input: &Input, limits: &Limits) -> io::Result<()> {
        let mut stream = io::Read::take(input.stream()?, limits.text_bytes);
        let (mut raw, mut line, mut bytes) = (Vec::new(), 0, 0);
        let mut columns = None;
        let is_json = input.head().trim_ascii_start().starts_with(b"{");
        while let Some(read) = next_line(&mut stream, &mut raw, limits.line_bytes)? {
            line += 1;
            bytes += read.bytes;
            let text = String::from_utf8_lossy(&raw);
            let text = text.trim_start_matches('\u{feff}');
            if text.trim().is_empty() {
                continue;
            }
            if !is_json && columns.is_none() {
                columns = Columns::of(text);
                continue;
            }
            let row = match &columns {
                Some(columns) => columns.row(text),
                None => text::record::members(text).as_ref().and_then(Row::of),
            };
            match row {
                Some(row) => self.add_row(&row, line, text),
                None => self.others += 1,
            }
        }
        if bytes >= limits.text_bytes {
            let message = format!("the table was read up to line {line}; the rest is longer than the limit allows");
            self.cut = Some(Problem::new("limit-text-bytes", message));
        }
        Ok(())
    }

    fn add_row(&mut self, row: &Row, line: u64, text: &str) {
        for (name, value) in &row.numbers {
            let place = || (Place::Line([line; 2]), text.trim().to_owned());
            self.add(row, name, *value, place);
        }
    }

    fn add(&mut self, row: &Row, name: &str, value: f64, place: impl FnOnce() -> (Place, String)) {
        if step_order(name).is_some() || is_one_of(name, &TIMES) {
            return;
        }
        let steps = row
            .numbers
            .iter()
            .filter_map(|(name, value)| Some((step_order(name)?, *value)));
        let best = steps.min_by_key(|(order, _)| *order);
        if let Some((order, _)) = best {
            self.step = Some(self.step.map_or(order, |known| known.min(order)));
        }
        let step = best
            .filter(|(order, _)| Some(*order) == self.step)
            .and_then(|(_, step)| whole(step));
        self.logged.add(name, step, value, place);
    }
}

/// A number of a step.
fn whole(step: f64) -> Option<u64> {
    /// Up to where each whole number is one.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    ((0.0..EXACT).contains(&step) && step.fract() == 0.0).then_some(step as u64)
}

/// The names of the columns of a table.
#[derive(Debug)]
struct Columns {
    names: Vec<String>,
    separator: char,
    /// The column that tells of which of several devices a row is.
    device: Option<usize>,
}

impl Columns {
    fn of(header: &str) -> Option<Self> {
        let separator = *[',', '\t', ';'].iter().find(|separator| header.contains(**separator))?;
        let names: Vec<String> = cells(header, separator).map(str::to_owned).collect();
        let is_name = |name: &String| {
            let starts = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
            name.is_empty() || starts && name.len() <= WORD_BYTES && !name.contains(['{', '}', '"', '='])
        };
        let are_names = (2..=COLUMNS).contains(&names.len()) && names.iter().all(is_name);
        let named = names.iter().filter(|name| !name.is_empty()).count();
        let device = names
            .iter()
            .position(|name| is_one_of(name, &["index", "gpu", "device", "gpu_id"]));
        // The index of a table that pandas wrote has no name.
        (are_names && named + 1 >= names.len()).then_some(Self {
            names,
            separator,
            device,
        })
    }

    /// The numbers of a row, each column's where it has one; none for what is no row of the table.
    fn values(&self, row: &str) -> Option<Vec<Option<f64>>> {
        let cells: Vec<&str> = cells(row, self.separator).collect();
        if cells.len() != self.names.len() {
            return None;
        }
        let values: Vec<Option<f64>> = cells.iter().map(|cell| number(cell)).collect();
        let words = cells
            .iter()
            .zip(&values)
            .filter(|(cell, value)| !cell.is_empty() && value.is_none());
        let words: Vec<&str> = words.map(|(cell, _)| *cell).collect();
        let numbers = values.iter().flatten().count();
        let is_row = words.len() <= numbers && words.iter().all(|word| word.len() <= WORD_BYTES);
        is_row.then_some(values)
    }

    fn row(&self, row: &str) -> Option<Row> {
        let values = self.values(row)?;
        let device = self.device.and_then(|column| values.get(column).copied().flatten());
        let named = self.names.iter().enumerate().zip(values);
        let numbers = named.filter_map(|((column, name), value)| {
            let name = match device {
                Some(device) if Some(column) != self.device && step_order(name).is_none() => {
                    format!("{name} of {device}")
                }
                _ => name.clone(),
            };
            Some((name, value?))
        });
        Some(Row {
            numbers: numbers.collect(),
            words: 0,
        })
    }

    /// Whether rows are counted by steps, or tell by the time of what a training needs.
    fn are_of_a_training(&self, rows: &[Option<Vec<Option<f64>>>]) -> bool {
        let is_number = |column: usize| {
            let mut rows = rows.iter().flatten();
            rows.any(|row| row.get(column).copied().flatten().is_some())
        };
        let columns = || self.names.iter().enumerate();
        let has_step = columns().any(|(column, name)| step_order(name).is_some() && is_number(column));
        let has_time = columns().any(|(_, name)| is_one_of(name, &TIMES));
        let mut others = columns().filter(|(column, name)| step_order(name).is_none() && is_number(*column));
        let has_metric = columns().any(|(column, name)| is_number(column) && is_metric(name));
        has_step && others.next().is_some() || has_time && has_metric
    }
}

fn cells(row: &str, separator: char) -> impl Iterator<Item = &str> {
    row.trim_end_matches(['\r', '\n'])
        .split(separator)
        .map(|cell| cell.trim().trim_matches('"'))
}
