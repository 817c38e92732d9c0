//! The places that a finding cites, shown as they are.

use serde_json::Value;
use whycrash_evidence::Evidence;
use whycrash_evidence::model::{FramePlace, Place};
use whycrash_plugin_host::{Citation, ReportHead};

use super::files::Files;
use super::frames;
use super::page::{Page, columns, cut, style};

/// Lines of one citation that are printed at most.
const LINES: u64 = 8;

/// Prints each citation: where it is, and what stands there.
pub fn citations(page: &mut Page, report: &ReportHead, citations: &[Citation], evidence: &Evidence, files: &Files) {
    for citation in citations {
        match &citation.at {
            Place::Line([first, last]) => lines(page, report, citation, files, [*first, *last]),
            Place::Frame(place) => frame(page, citation, evidence, place),
            Place::Event(number) => event(page, report, citation, evidence, files, *number),
            Place::Bytes([start, end]) => quoted(page, citation, &format!("bytes {start} to {end}")),
            Place::Fact(path) => fact(page, citation, evidence, path),
        }
    }
}

/// Name of the part of an artifact's text that a line is in, such as a cell of a notebook, where it has parts.
pub fn section<'r>(report: &'r ReportHead, artifact: &str, line: u64) -> Option<&'r str> {
    let head = report.artifacts.iter().find(|head| head.name == artifact)?;
    head.section(line)
}

/// `artifact, place` on a line of its own.
fn place(page: &mut Page, citation: &Citation, at: &str) {
    let name = if citation.artifact.is_empty() {
        "the report"
    } else {
        &citation.artifact
    };
    page.line(0, style::faint(&format!("{name}, {at}")));
}

fn quoted(page: &mut Page, citation: &Citation, at: &str) {
    place(page, citation, at);
    for line in citation.quote.lines().take(LINES as usize) {
        page.line(2, cut(line, page.room().saturating_sub(2)));
    }
}

fn lines(page: &mut Page, report: &ReportHead, citation: &Citation, files: &Files, [first, last]: [u64; 2]) {
    let at = if first == last {
        format!("line {first}")
    } else {
        format!("lines {first} to {last}")
    };
    let at = match section(report, &citation.artifact, first) {
        Some(section) => format!("{at} ({section})"),
        None => at,
    };
    let shown = files.lines(&citation.artifact, first, last.min(first.saturating_add(LINES - 1)));
    if shown.is_empty() {
        return quoted(page, citation, &at);
    }
    place(page, citation, &at);
    frames::listing(page, 0, &shown, None);
    if let Some(left) = last.checked_sub(first + LINES).map(|left| left + 1) {
        page.line(2, style::faint(&format!("… {left} more")));
    }
}

fn frame(page: &mut Page, citation: &Citation, evidence: &Evidence, at: &FramePlace) {
    let same =
        |thread: &&whycrash_evidence::model::Thread| thread.id == at.thread && thread.artifact == citation.artifact;
    let found = evidence
        .threads
        .iter()
        .find(same)
        .and_then(|thread| thread.frames.get(at.index));
    let Some(found) = found else {
        return quoted(page, citation, &format!("thread {}, frame {}", at.thread, at.index));
    };
    place(page, citation, &format!("thread {}", at.thread));
    frames::numbered(page, 2, at.index, found);
    frames::source(page, 4, found);
}

fn event(page: &mut Page, report: &ReportHead, citation: &Citation, evidence: &Evidence, files: &Files, number: usize) {
    let Some(event) = evidence.timeline.iter().find(|event| event.event == number) else {
        return quoted(page, citation, &format!("event {number}"));
    };
    match &event.at {
        Some(Place::Line([first, last])) => {
            let written = Citation {
                artifact: event.artifact.clone(),
                quote: event.text.clone(),
                ..citation.clone()
            };
            lines(page, report, &written, files, [*first, *last]);
        }
        _ => {
            place(page, citation, &format!("event {number}"));
            page.paragraph(2, &event.text);
        }
    }
}

/// A fact in a line: its value where that is a sentence, else `path = value`.
pub fn fact_text(citation: &Citation, evidence: &Evidence, path: &str) -> String {
    /// Words of which a sentence has more.
    const WORDS: usize = 3;
    let value = fact_value(citation, evidence, path);
    match value.split_whitespace().count() > WORDS {
        true => value,
        false => format!("{path} = {value}"),
    }
}

fn fact_value(citation: &Citation, evidence: &Evidence, path: &str) -> String {
    let value = serde_json::to_value(evidence)
        .ok()
        .and_then(|all| look_up(&all, path).cloned());
    match value {
        Some(Value::String(text)) => text,
        Some(value) => with_unit(path, &value),
        None => citation.quote.clone(),
    }
}

fn fact(page: &mut Page, citation: &Citation, evidence: &Evidence, path: &str) {
    let text = fact_value(citation, evidence, path);
    let name = if citation.artifact.is_empty() {
        String::new()
    } else {
        format!("{}, ", citation.artifact)
    };
    let name = format!("{name}{path} =");
    let room = page.room().saturating_sub(columns(&name) + 1);
    page.line(0, style::faint(&name).then(format!(" {}", cut(&text, room))));
}

/// Follows a dotted path into a value.
fn look_up<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        _ => value.get(step),
    })
}

/// Sizes of memory are what most numbers are: those large enough are also said in a unit one can read.
fn with_unit(path: &str, value: &Value) -> String {
    const READABLE: u64 = 1 << 20;
    let size = value
        .as_u64()
        .filter(|bytes| *bytes >= READABLE && path.contains("memory"));
    size.map_or_else(
        || value.to_string(),
        |bytes| format!("{bytes} ({})", indicatif::HumanBytes(bytes)),
    )
}
