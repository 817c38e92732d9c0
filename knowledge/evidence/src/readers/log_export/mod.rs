//! Logs as log stores hand them out: JSON whose records have a time and what was said.
//!
//! Each record becomes the lines that a program wrote, with the time and, where an export has those of several, the pod
//! or stream before them, oldest first, as a log would have them. What [`forms`] has no row for is no export, and read as
//! the text that it is.

mod forms;
mod kubernetes;
mod record;

use serde_json::Value;

use super::rendered::Rendered;
use super::{Input, Reading, json, text};
use crate::{ArtifactKind, Limits};

/// Bytes of a beginning that is not the whole text.
const CUT_BYTES: usize = 63 << 10;

/// True for JSON that starts like an export.
pub(super) fn is_export(head: &[u8]) -> bool {
    if !matches!(head.first(), Some(b'{' | b'[')) {
        return false;
    }
    match lines_of_json(head) {
        Some(lines) => is_better_rendered(&lines),
        None => forms::may_be(head) || kubernetes::may_be(head),
    }
}

/// The documents of a text that has one a line, as far as they are whole; none where it is one document. A text that has
/// other lines as well is a log, and has none of them.
fn lines_of_json(head: &[u8]) -> Option<Vec<Value>> {
    let is_cut = head.len() >= CUT_BYTES;
    let mut lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').collect();
    if is_cut {
        lines.pop();
    }
    let mut lines = lines
        .into_iter()
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty());
    let mut values = vec![object(lines.next()?)?];
    for line in lines {
        match object(line) {
            Some(value) => values.push(value),
            None => return Some(Vec::new()),
        }
    }
    (is_cut || values.len() > 1).then_some(values)
}

fn object(line: &[u8]) -> Option<Value> {
    serde_json::from_slice(line).ok().filter(Value::is_object)
}

/// Whether records that stand one a line need more than to be read line by line: they have what was said in objects of
/// their own, come newest first, or are of several writers.
fn is_better_rendered(lines: &[Value]) -> bool {
    let Some(records) = record::all(lines) else {
        return false;
    };
    let is_nested = records.iter().any(|record| !record.is_flat);
    is_nested || record::is_newest_first(&records) || record::has_several_writers(&records)
}

/// The text of an export; none where it is none after all, or too long to be held as a whole.
pub(super) fn rendered(input: &Input, limits: &Limits) -> Option<Rendered> {
    let (bytes, torn) = json::bytes(input, limits).ok()?;
    let (documents, damage) = json::documents(&bytes);
    if torn.is_some() || damage.is_some() {
        return None;
    }
    let documents: Vec<Value> = documents.into_iter().map(|(_, document)| document).collect();
    let records = record::in_order(record::all(&documents)?);
    let has_several = record::has_several_writers(&records);
    let mut rendered = Rendered::new(limits);
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
    Some(rendered)
}

/// Reads an export.
pub(super) fn read(input: &Input, limits: &Limits) -> Reading {
    let Some(mut rendered) = rendered(input, limits) else {
        return Reading {
            kind: Some(ArtifactKind::Log),
            ..text::read(input, limits)
        };
    };
    rendered.read(input.name(), limits)
}
