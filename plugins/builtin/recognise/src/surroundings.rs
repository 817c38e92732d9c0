//! The report as tables see it.

use std::collections::BTreeSet;

use serde_json::Value;
use whycrash_plugin::{Citation, Event, Frame, Line, Owner, Report, Walk, cite};
use whycrash_recognise::{Framed, Happened, LINE, Surroundings, Table, as_exception};

use crate::lines;

/// Events asked for at a time.
const PAGE: u32 = 256;
/// Events of one kind that are looked at: the first ones are those that the others follow from.
const EVENTS: usize = 512;

/// Threads among which an event's stack is looked for, and frames of it that are looked at.
const THREADS: usize = 4096;
const FRAMES: usize = 512;

/// A report whose events of some kinds were read.
pub struct Read<'r> {
    /// The report.
    pub report: &'r Report,
    /// Its events, for tables, and behind them lines that tables ask for.
    pub happened: Vec<Happened>,
    /// Those that say what an exception says, as exceptions; with their places among the events.
    pub said: Vec<(usize, Happened)>,
    events: Vec<Event>,
    lines: Vec<Line>,
    kinds: BTreeSet<String>,
    /// Exceptions whose handler failed by a slip of its own.
    mishandled: BTreeSet<usize>,
}

impl<'r> Read<'r> {
    /// Reads the events of these kinds.
    pub fn new<'k>(report: &'r Report, kinds: impl IntoIterator<Item = &'k str>) -> Self {
        let read = Self {
            report,
            happened: Vec::new(),
            said: Vec::new(),
            events: Vec::new(),
            lines: Vec::new(),
            kinds: BTreeSet::new(),
            mishandled: BTreeSet::new(),
        };
        read.with(kinds)
    }

    /// Reads the events of these kinds too. Positions of events change.
    pub fn with<'k>(mut self, kinds: impl IntoIterator<Item = &'k str>) -> Self {
        let known = self.events.len();
        for kind in kinds.into_iter().filter(|kind| *kind != LINE) {
            if self.kinds.insert(kind.to_owned()) {
                self.events.extend(of_kind(self.report, kind));
            }
        }
        if self.events.len() == known {
            return self;
        }
        self.events.sort_by_key(|event| event.number);
        self.happened = self.events.iter().map(happened).collect();
        let places = self.happened.iter().enumerate();
        self.said = places
            .filter_map(|(place, event)| Some((place, as_exception(event)?)))
            .collect();
        let is_exception = |place: &usize| self.events[*place].kind == "python-exception";
        let exceptions: Vec<usize> = (0..self.events.len()).filter(is_exception).collect();
        self.mishandled.clear();
        for pair in exceptions.windows(2) {
            let [earlier, later] = [pair[0], pair[1]];
            if !is_end_of_chain(&self.events[earlier], &self.happened[earlier], &self.events[later]) {
                continue;
            }
            if is_slip(&self.happened[later]) {
                self.mishandled.insert(earlier);
            } else {
                self.happened[later].primary = true;
            }
        }
        self
    }

    /// Looks for the lines that tables ask for, once all events are read.
    pub fn with_lines<'t>(mut self, tables: impl Iterator<Item = &'t Table>) -> Self {
        self.lines = lines::lines(self.report, tables);
        if !self.lines.is_empty() {
            let events = lines::events(self.report);
            let happened = self.lines.iter().map(|line| lines::happened(line, &events));
            self.happened.extend(happened);
        }
        self
    }

    /// Whether what happened at this position is a line behind which the program went on.
    pub fn is_line_passed(&self, position: usize) -> bool {
        let line = position
            .checked_sub(self.events.len())
            .and_then(|place| self.lines.get(place));
        line.is_some_and(|line| lines::went_on(self.report, line))
    }

    /// The events that may be signs, with their places: what is said like an exception comes after the exceptions.
    pub fn signs(&self) -> impl Iterator<Item = (usize, &Happened)> {
        let said = self.said.iter().map(|(place, event)| (*place, event));
        self.happened.iter().enumerate().chain(said)
    }

    /// Whether the handler of an exception failed by a slip of its own, which then is no news.
    pub fn was_mishandled(&self, position: usize) -> bool {
        self.mishandled.contains(&position)
    }

    /// A citation of an event or a line, by its position among those that were read.
    pub fn cite(&self, position: usize) -> Citation {
        match self.events.get(position) {
            Some(event) => self.report.cite(event),
            None => cite::line(&self.lines[position - self.events.len()]),
        }
    }

    /// Citations of frames of an event's stack, by their positions in it.
    pub fn cite_frames(&self, position: usize, frames: &[usize]) -> Vec<Citation> {
        let Some(walk) = self.happened.get(position).and_then(|event| self.walk(event)) else {
            return Vec::new();
        };
        let stack: Vec<(u32, Frame)> = walk.frames().take(FRAMES).collect();
        let cited = frames.iter().filter_map(|frame| stack.get(*frame));
        cited.map(|(index, frame)| walk.cite(*index, frame)).collect()
    }

    /// The thread that an event names as its own; else the main one of a dump that a timer asked for, or the first that
    /// crashed.
    fn walk(&self, event: &Happened) -> Option<Walk<'r>> {
        let own = ["thread", "stack"]
            .iter()
            .find_map(|name| event.detail.get(name)?.as_str());
        let mut threads = self.report.walks().take(THREADS);
        if told_by_timer(event) {
            // All stacks were printed, the main thread's last.
            return threads.filter(|walk| walk.thread.artifact == event.artifact).last();
        }
        match own {
            Some(id) => threads.find(|walk| walk.thread.id == id && walk.thread.artifact == event.artifact),
            None => threads.next().filter(|walk| walk.thread.crashed),
        }
    }
}

fn told_by_timer(event: &Happened) -> bool {
    let error = event.detail.get("error").and_then(Value::as_str);
    event.kind == "fatal-python-error" && error.is_some_and(|error| error.starts_with("Timeout"))
}

/// Lines between two tracebacks of a chain.
const LINK: u64 = 8;

/// Whether an exception was raised while the one before it was handled. What was raised last is then a consequence in
/// time, and often the failure itself: what it was raised in may have been nothing but a probe.
fn is_end_of_chain(before: &Event, told: &Happened, event: &Event) -> bool {
    let link = told.detail.get("relation").and_then(Value::as_str);
    let is_near = before
        .lines
        .zip(event.lines)
        .is_some_and(|(before, event)| event.0 >= before.1 && event.0 - before.1 <= LINK);
    before.artifact == event.artifact
        && told.primary
        && !event.survived
        && is_near
        && matches!(link, Some("context" | "cause"))
}

/// A name that is not known yet where an exception is handled: what failed is what it was to handle.
fn is_slip(told: &Happened) -> bool {
    let exception = told.detail.get("exception").and_then(Value::as_str);
    matches!(exception, Some("NameError" | "UnboundLocalError"))
}

fn framed(frame: Frame) -> Framed {
    let whose = match frame.owner() {
        Owner::Program => "program",
        Owner::Library => "library",
        Owner::Machinery => "machinery",
    };
    Framed {
        world: frame.kind,
        whose: whose.to_owned(),
        function: frame.function,
        file: frame.file,
        line: frame.line,
        module: frame.module,
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

    fn stack(&self, event: &Happened) -> Vec<Framed> {
        let walk = self.walk(event);
        walk.map_or_else(Vec::new, |walk| {
            walk.frames().take(FRAMES).map(|(_, frame)| framed(frame)).collect()
        })
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
        artifact: event.artifact.clone(),
        primary: event.primary,
        survived: event.survived,
        ..Happened::default()
    }
}
