//! The report as tables see it.

use std::collections::BTreeSet;

use serde_json::Value;
use whycrash_plugin::{Citation, Event, Report};
use whycrash_recognise::{Happened, Surroundings};

/// Events asked for at a time.
const PAGE: u32 = 256;
/// Events of one kind that are looked at: the first ones are those that the others follow from.
const EVENTS: usize = 512;

/// A report whose events of some kinds were read.
pub struct Read<'r> {
    /// The report.
    pub report: &'r Report,
    /// Its events, for tables.
    pub happened: Vec<Happened>,
    events: Vec<Event>,
}

impl<'r> Read<'r> {
    /// Reads the events of these kinds.
    pub fn new(report: &'r Report, kinds: &BTreeSet<&str>) -> Self {
        let mut events: Vec<Event> = kinds.iter().flat_map(|kind| of_kind(report, kind)).collect();
        events.sort_by_key(|event| event.number);
        let happened = events.iter().map(happened).collect();
        Self {
            report,
            happened,
            events,
        }
    }

    /// A citation of an event, by its position among those that were read.
    pub fn cite(&self, position: usize) -> Citation {
        self.report.cite(&self.events[position])
    }
}

impl Surroundings for Read<'_> {
    fn context(&self, path: &str) -> Option<Value> {
        serde_json::from_str(&self.report.context(path)?).ok()
    }

    fn fact(&self, path: &str) -> Option<Value> {
        serde_json::from_str(&self.report.fact(path)?).ok()
    }

    fn events(&self) -> &[Happened] {
        &self.happened
    }
}

fn of_kind(report: &Report, kind: &str) -> Vec<Event> {
    let mut events = Vec::new();
    while events.len() < EVENTS {
        let first = u32::try_from(events.len()).unwrap_or(u32::MAX);
        let page = report.events(Some(kind), first, PAGE);
        let is_last = page.len() < PAGE as usize;
        events.extend(page);
        if is_last {
            break;
        }
    }
    events
}

fn happened(event: &Event) -> Happened {
    Happened {
        kind: event.kind.clone(),
        text: event.text.clone(),
        detail: serde_json::from_str(&event.detail).unwrap_or_default(),
        primary: event.primary,
        survived: event.survived,
    }
}
