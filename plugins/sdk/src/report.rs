//! Reading a report a page at a time, as Rust iterators and types.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::facts::{CollectiveVerdict, Crash, EventDetail, MemorySnapshot, Series};
use crate::{Citation, Event, Frame, Line, Report, Thread, cite};

/// Entries asked for at a time.
const PAGE: u32 = 64;
/// Lines that [`Report::find`] returns at most.
const HITS: u32 = 64;
/// A traceback of recursion is cut to far less by Python itself.
const EVENT_LINES: u64 = 1024;
/// Lines at the end of an event among which the one is looked for that says what it says, and letters of that.
const LOOKED: u64 = 128;
const TOLD: usize = 160;

/// An event with its particulars.
#[derive(Clone, Debug)]
pub struct Told<T> {
    /// Where and when.
    pub event: Event,
    /// What.
    pub detail: T,
}

/// A thread, and its position among the report's threads.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    report: &'a Report,
    position: u32,
    /// The thread.
    pub thread: Thread,
}

impl Report {
    /// The value at a dotted path into the evidence, as this type; `None` when it is absent or of another form.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Option<T> {
        serde_json::from_str(&self.fact(path)?).ok()
    }

    /// How the process ended.
    pub fn crash(&self) -> Option<Crash> {
        self.get("crash")
    }

    /// Lines of all text artifacts that match; 64 at most.
    pub fn find(&self, pattern: &str) -> Result<Vec<Line>, String> {
        self.search(None, pattern, HITS)
    }

    /// The line with the `n` before it and the `n` behind it.
    pub fn around(&self, line: &Line, n: u32) -> Vec<Line> {
        let first = line.number.saturating_sub(u64::from(n)).max(1);
        let count = line.number.saturating_sub(first) + u64::from(n) + 1;
        self.lines(&line.artifact, first, u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// The lines that an event tells of, the first 1024; none where it is not of a text.
    pub fn lines_of(&self, event: &Event) -> Vec<Line> {
        let Some((first, last)) = event.lines else {
            return Vec::new();
        };
        let count = last.saturating_sub(first).saturating_add(1).min(EVENT_LINES);
        self.lines(&event.artifact, first, u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Events of one kind, oldest first, with their particulars.
    pub fn told<T: EventDetail>(&self) -> Vec<Told<T>> {
        pages(|first| self.events(Some(T::KIND), first, PAGE))
            .filter_map(|event| {
                Some(Told {
                    detail: serde_json::from_str(&event.detail).ok()?,
                    event,
                })
            })
            .collect()
    }

    /// All threads, the crashed one first.
    pub fn walks(&self) -> impl Iterator<Item = Walk<'_>> {
        pages(|first| self.threads(first, PAGE))
            .zip(0..)
            .map(|(thread, position)| Walk {
                report: self,
                position,
                thread,
            })
    }

    /// A citation of an event: of the line that tells it where it comes from a text, so that it can be opened there.
    pub fn cite(&self, event: &Event) -> Citation {
        let line = event.lines.and_then(|lines| self.telling_line(event, lines));
        line.map_or_else(|| cite::event(event), |line| cite::line(&line))
    }

    /// The line of an event that says what the event says, which of a traceback is the last; else its first one.
    fn telling_line(&self, event: &Event, (first, last): (u64, u64)) -> Option<Line> {
        let told = event.text.lines().next().unwrap_or_default().trim();
        let told: String = told.chars().take(TOLD).collect();
        let from = last.saturating_sub(LOOKED - 1).max(first);
        let count = u32::try_from(last.saturating_sub(from) + 1).ok()?;
        let mut end = self.lines(&event.artifact, from, count).into_iter().rev();
        let telling = end.find(|line| !told.is_empty() && line.text.contains(&told));
        telling.or_else(|| self.lines(&event.artifact, first, 1).into_iter().next())
    }

    /// A citation of a fact, if it is there.
    pub fn cite_fact(&self, path: &str) -> Option<Citation> {
        let value = self.fact(path)?;
        match serde_json::from_str(&value).ok()? {
            Value::Null => None,
            Value::String(text) => Some(cite::fact(path, &text)),
            _ => Some(cite::fact(path, &value)),
        }
    }

    /// The memory snapshots, one for each device.
    pub fn snapshots(&self) -> Vec<MemorySnapshot> {
        self.memory_snapshots()
            .iter()
            .filter_map(|text| serde_json::from_str(text).ok())
            .collect()
    }

    /// What a training loop logged over its steps: `series` by its index, or by its name.
    pub fn series(&self) -> Vec<Series> {
        let all = 0..self.count("series");
        all.filter_map(|index| self.get(&format!("series.{index}"))).collect()
    }

    /// What did not match across ranks, the first divergence first: `collectives.verdicts` by its index.
    pub fn verdicts(&self) -> Vec<CollectiveVerdict> {
        let verdicts = self.collectives(None);
        verdicts
            .iter()
            .filter_map(|text| serde_json::from_str(text).ok())
            .collect()
    }

    /// The context's value at a dotted path, when it is a text or a number: as text.
    pub fn context_text(&self, path: &str) -> Option<String> {
        match serde_json::from_str(&self.context(path)?).ok()? {
            Value::String(text) => Some(text),
            Value::Null => None,
            other => Some(other.to_string()),
        }
    }
}

impl Walk<'_> {
    /// Its frames with their indices, innermost first.
    pub fn frames(&self) -> impl Iterator<Item = (u32, Frame)> {
        pages(|first| self.report.frames(self.position, first, PAGE))
            .zip(0..)
            .map(|(frame, index)| (index, frame))
    }

    /// A citation of one of its frames.
    pub fn cite(&self, index: u32, frame: &Frame) -> Citation {
        cite::frame(&self.thread, index, frame)
    }
}

/// Everything a paged reader has, asked for only as far as it is used.
fn pages<T>(read: impl Fn(u32) -> Vec<T>) -> impl Iterator<Item = T> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let first = next?;
        let page = read(first);
        next = (page.len() == PAGE as usize).then(|| first + PAGE);
        Some(page)
    })
    .flatten()
}
