//! Lines of the texts, for tables that ask for them.

use std::collections::BTreeSet;

use serde_json::json;
use whycrash_plugin::{Artifact, Event, Line, Report};
use whycrash_recognise::{Happened, LINE, LineSearch, Table, Wording};

/// Lines that are looked at because they have a pattern's words.
const LOOKED_AT: u32 = 512;
/// Lines kept of each pattern: the first ones are those that the others follow from.
const KEPT: usize = 32;
/// Bytes of lines that all searches together may bring, of 64 MiB that the host hands over.
const BROUGHT: usize = 16 << 20;
/// Half of the fuel that the host has for a run, which searching may use up, and what it charges for a byte of a pattern
/// and for a line; 16 bytes of text are one unit.
const FUEL: u64 = 500_000_000;
const PATTERN_BYTE: u64 = 10_000;
const LINE_OF_TEXT: u64 = 5;
/// Events that may stand where a line does.
const EVENTS: u32 = 4096;
/// Lines behind a line among which a program that goes on shows it.
const BEHIND: u32 = 512;
/// Lines of progress that mean that it did; fewer may be another process's.
const ENOUGH: usize = 3;

/// The lines that the tables ask for, each once, in the order of the tables.
pub fn lines<'t>(report: &Report, tables: impl Iterator<Item = &'t Table>) -> Vec<Line> {
    let asked: Vec<LineSearch> = tables.flat_map(LineSearch::all).collect();
    if asked.is_empty() {
        return Vec::new();
    }
    let texts: Vec<Artifact> = report
        .artifacts()
        .into_iter()
        .filter(|artifact| artifact.lines > 0)
        .collect();
    let through: u64 = texts
        .iter()
        .map(|text| text.bytes / 16 + text.lines * LINE_OF_TEXT)
        .sum();
    let is_log = |line: &Line| {
        texts
            .iter()
            .any(|text| text.name == line.artifact && text.kind != "context")
    };
    let (mut lines, mut known) = (Vec::new(), BTreeSet::new());
    let (mut fuel, mut brought) = (FUEL, 0);
    for search in asked {
        let costs = through + search.words.len() as u64 * PATTERN_BYTE;
        if costs > fuel || brought > BROUGHT {
            whycrash_plugin::log!("the texts are too long to be searched for the lines of all tables");
            break;
        }
        fuel -= costs;
        let found = report.search(None, &search.words, LOOKED_AT).unwrap_or_else(|flaw| {
            whycrash_plugin::log!("no line is looked for with {}: {flaw}", search.words);
            Vec::new()
        });
        brought += found.iter().map(|line| line.text.len()).sum::<usize>();
        let matching = found
            .into_iter()
            .filter(|line| is_log(line) && search.is_in(&line.text));
        for line in matching.take(KEPT) {
            if known.insert((line.artifact.clone(), line.number)) {
                lines.push(line);
            }
        }
    }
    lines
}

/// A line as tables see it. Where events stand, it is what they are: a consequence, or something that the process
/// survived.
pub fn happened(line: &Line, events: &[Event]) -> Happened {
    let is_there = |event: &&Event| {
        let is_inside = |(first, last): (u64, u64)| (first..=last).contains(&line.number);
        event.artifact == line.artifact && event.lines.is_some_and(is_inside)
    };
    let there: Vec<&Event> = events.iter().filter(is_there).collect();
    Happened {
        kind: LINE.to_owned(),
        text: line.text.clone(),
        detail: json!({ "artifact": line.artifact }),
        artifact: line.artifact.clone(),
        primary: there.is_empty() || there.iter().any(|event| event.primary),
        survived: !there.is_empty() && there.iter().all(|event| event.survived),
        ..Happened::default()
    }
}

/// The events that lines may stand in.
pub fn events(report: &Report) -> Vec<Event> {
    report.events(None, 0, EVENTS)
}

/// Whether the lines behind a line show that the program went on: those that a training loop prints while it does.
pub fn went_on(report: &Report, line: &Line) -> bool {
    const PROGRESS: &str = r#"(?i)\b(?:step|epoch|iter|iteration|batch|loss|global_step)\b["']?[ =:/#\[\]]{0,4}\d|\d(?:it/s|s/it)\b|HTTP/\d(?:\.\d)?" [23]\d\d\b"#;
    let Ok(progress) = Wording::new(&[], PROGRESS) else {
        return false;
    };
    let behind = report.lines(&line.artifact, line.number + 1, BEHIND);
    behind
        .iter()
        .filter(|line| progress.is_in(&line.text))
        .take(ENOUGH)
        .count()
        == ENOUGH
}
