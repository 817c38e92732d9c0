//! Events of an artifact that is parsed as a whole, under its limits.

use std::collections::HashMap;

use memchr::memmem;

use crate::model::{Event, EventPayload, Place};
use crate::{Limits, Problem};

/// Longest [`Event::text`].
const TEXT_CHARS: usize = 400;

/// What happened, each thing once: equal events are one with a count.
#[derive(Debug)]
pub(super) struct Events<'a> {
    artifact: &'a str,
    limits: &'a Limits,
    list: Vec<Event>,
    known: HashMap<String, usize>,
    bytes: u64,
    left_out: u64,
}

impl<'a> Events<'a> {
    pub fn new(artifact: &'a str, limits: &'a Limits) -> Self {
        Self {
            artifact,
            limits,
            list: Vec::new(),
            known: HashMap::new(),
            bytes: 0,
            left_out: 0,
        }
    }

    /// Adds an event that stands on these lines; `key` is what it is known by beside its kind and process.
    pub fn add(&mut self, key: &str, event: Event, lines: [u64; 2]) {
        let key = format!("{} {:?} {:?} {key}", event.payload.kind(), event.rank, event.pid);
        if let Some(known) = self.known.get(&key).and_then(|index| self.list.get_mut(*index)) {
            known.count += 1;
            known.last_at = Some(Place::Line(lines));
            if let EventPayload::Sanitizer(report) = &mut known.payload {
                report.count = known.count;
            }
            return;
        }
        self.bytes += crate::trim::json_bytes(&event);
        let most = self.limits.events.min(self.limits.events_of_kind);
        if self.list.len() >= most || self.bytes > self.limits.evidence_bytes as u64 {
            self.left_out += 1;
            return;
        }
        self.known.insert(key, self.list.len());
        let text = event.text.trim().chars().take(TEXT_CHARS).collect();
        self.list.push(Event {
            event: self.list.len(),
            artifact: self.artifact.to_owned(),
            at: Some(Place::Line(lines)),
            text,
            ..event
        });
    }

    /// All of them, and what did not fit.
    pub fn finish(self) -> (Vec<Event>, Option<Problem>) {
        let message = || {
            let (left_out, kept) = (self.left_out, self.list.len());
            format!("{left_out} further events were left out; the first {kept} are kept")
        };
        let problem = (self.left_out > 0).then(|| Problem::new("limit-events", message()));
        (self.list, problem)
    }
}

/// The lines of a text that is parsed as a whole, for values that do not know where they stand.
#[derive(Debug)]
pub(super) struct Locator<'t> {
    text: &'t [u8],
    /// Where the last search ended, and the number of the line there.
    at: usize,
    line: u64,
}

impl<'t> Locator<'t> {
    pub fn new(text: &'t [u8]) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// The line of the next place that has this string as JSON writes it, or of the first place at all; the first line
    /// where there is none.
    pub fn line_of(&mut self, value: &str) -> [u64; 2] {
        let written = serde_json::to_string(value).unwrap_or_default();
        let found = |from: usize| {
            let rest = self.text.get(from..).unwrap_or_default();
            Some(from + memmem::find(rest, written.as_bytes())?)
        };
        match found(self.at).or_else(|| found(0)) {
            Some(place) => {
                let line = self.line_at(place);
                self.at = place + written.len();
                [line; 2]
            }
            None => [1, 1],
        }
    }

    /// The line of the next place that has a member with this number, after the last place that was found.
    pub fn line_of_member(&mut self, name: &str, number: u32) -> Option<u64> {
        let rest = self.text.get(self.at..)?;
        let written = [format!("\"{name}\": {number}"), format!("\"{name}\":{number}")];
        let found = written
            .iter()
            .filter_map(|written| memmem::find(rest, written.as_bytes()))
            .min()?;
        Some(self.line_at(self.at + found))
    }

    /// The line of a byte; going on from one to the next costs what lies between.
    pub fn line_at(&mut self, place: usize) -> u64 {
        if place < self.at {
            (self.at, self.line) = (0, 1);
        }
        let passed = self.text.get(self.at..place).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', passed).count() as u64;
        self.at = place;
        self.line
    }
}
