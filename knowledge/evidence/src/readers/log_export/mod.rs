//! Logs as log stores hand them out: JSON whose records have a time and what was said.
//!
//! Each record becomes the lines that a program wrote, with the time and, where an export has those of several, the pod
//! or stream before them, oldest first, as a log would have them. What [`forms`] has no row for is no export, and read as
//! the text that it is.

mod forms;
mod kubernetes;
mod record;

use std::io;

use serde_json::Value;

use self::record::{Record, Records};
use super::lines::next_line;
use super::rendered::Rendered;
use super::{Input, Reading, json, text};
use crate::{ArtifactKind, Limits, Problem};

/// Bytes of a beginning that is not the whole text.
const CUT_BYTES: usize = 63 << 10;

/// True for JSON that starts like an export.
pub(super) fn is_export(head: &[u8]) -> bool {
    if !matches!(head.first(), Some(b'{' | b'[')) {
        return false;
    }
    match records_by_line(head) {
        Some(records) => is_better_rendered(records),
        None => forms::may_be(head) || kubernetes::may_be(head),
    }
}

/// The records of a text that has one document a line, and may have other lines as well, as far as it is whole; none where
/// it is one document.
fn records_by_line(head: &[u8]) -> Option<Records> {
    let is_cut = head.len() >= CUT_BYTES;
    let mut lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').collect();
    if is_cut {
        lines.pop();
    }
    let lines: Vec<&[u8]> = lines
        .into_iter()
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty())
        .collect();
    object(lines.first()?)?;
    let mut records = Records::default();
    for line in &lines {
        match object(line) {
            Some(value) => records.add_line(&value, line),
            None => records.add_other(line),
        }
    }
    (is_cut || lines.len() > 1).then_some(records)
}

fn object(line: &[u8]) -> Option<Value> {
    serde_json::from_slice(line).ok().filter(Value::is_object)
}

/// Whether records that stand one a line need more than to be read line by line: they have what was said in objects of
/// their own, come newest first, or are of several writers.
fn is_better_rendered(records: Records) -> bool {
    let Some(records) = records.finish() else {
        return false;
    };
    let is_nested = records.iter().any(Record::is_nested);
    is_nested || record::is_newest_first(&records) || record::has_several_writers(&records)
}

/// The text of an export; none where it is none after all.
///
/// # Errors
/// When it is one document that is too long to be parsed.
pub(super) fn rendered(input: &Input, limits: &Limits) -> Result<Option<Rendered>, Problem> {
    let head = input.head();
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let mut rendered = Rendered::new(limits);
    let mut records = Records::default();
    if records_by_line(head).is_some() {
        records.room = limits.resident_bytes / 2;
        if add_lines(input, limits, &mut records).is_err() {
            return Ok(None);
        }
        if records.is_cut {
            rendered.cut();
        }
    } else {
        let (bytes, torn) = json::bytes(input, limits)?;
        let (documents, damage) = json::documents(&bytes);
        match damage {
            Some(problem) if problem.code == json::TOO_MANY => return Err(problem),
            damage if torn.is_some() || damage.is_some() => return Ok(None),
            _ => documents.iter().for_each(|(_, document)| records.add(document)),
        }
    }
    let Some(records) = records.finish() else {
        return Ok(None);
    };
    let records = record::in_order(records);
    let has_several = record::has_several_writers(&records);
    for record in &records {
        let before = record.prefix(has_several);
        let mut lines = record.text.split('\n');
        let has_room = match record.is_state {
            true => lines.all(|line| rendered.show_line(&before, line)),
            false => lines.all(|line| rendered.tell_line(&before, line)),
        };
        if !has_room {
            break;
        }
    }
    Ok(Some(rendered))
}

/// Takes the records of a text that has one a line; any other line stays as it is.
fn add_lines(input: &Input, limits: &Limits, records: &mut Records) -> io::Result<()> {
    let mut stream = io::Read::take(input.stream()?, limits.text_bytes);
    let mut line = Vec::new();
    while next_line(&mut stream, &mut line, limits.line_bytes)?.is_some() {
        let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line).trim_ascii_end();
        match object(text) {
            Some(value) => records.add_line(&value, text),
            None if text.is_empty() => {}
            None => records.add_other(text),
        }
        if records.is_full() {
            break;
        }
    }
    Ok(())
}

/// Reads an export.
pub(super) fn read(input: &Input, limits: &Limits) -> Reading {
    let as_log = |problem: Option<Problem>| {
        let mut reading = Reading {
            kind: Some(ArtifactKind::Log),
            ..text::read(input, limits)
        };
        reading.problems.extend(problem);
        reading
    };
    match rendered(input, limits) {
        Ok(Some(mut rendered)) => rendered.read(input.name(), limits),
        Ok(None) => as_log(None),
        Err(problem) => as_log(Some(problem)),
    }
}
