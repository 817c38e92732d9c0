//! Jobs that make no progress: no output, and no process that uses its processor.
//!
//! A job that stands still for a few seconds is looked at once, which it does not notice, and what was seen is kept in
//! memory: should it fail while it waits, the report can say who waited for whom. Where a time for it is set, a job
//! that stands still for that long is looked at again, and gets a report of a hang while it hangs.

mod look;
mod looker;
mod process;
mod ras;
mod work;

use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::tree::Tree;
use look::Found;
use looker::Looker;
use work::Work;

pub use look::{Line, at as look_at};

/// How long a job stands still before it is looked at. Gradients and data come more often.
const LOOK_AFTER: Duration = Duration::from_secs(5);
/// How often progress is measured.
const MEASURE: Duration = Duration::from_secs(1);
/// A measurement that comes so late says that we did not run.
const GAP: Duration = Duration::from_secs(10);
/// Processes that are looked at, ranks' own first.
const PROCESSES: usize = 64;

/// Whether a job makes progress, and what it waited in when it made none.
#[derive(Debug)]
pub struct Stalls {
    hang_after: Option<Duration>,
    /// What each process had done when it was measured last, and what was printed.
    used: HashMap<u32, Work>,
    printed: u64,
    measured: Instant,
    /// When progress was made last.
    since: (Instant, Timestamp),
    /// Who looks, and since when the job had stood still then.
    looker: Option<(Looker, Timestamp)>,
    stage: Stage,
    seen: Option<Seen>,
}

/// How far a standstill has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// There is none, or it is new.
    New,
    /// It was looked at.
    Looked,
    /// It lasts so long that it is a hang, and is looked at again.
    Hang,
    /// The hang has been told of.
    Told,
}

/// A standstill that was looked at.
#[derive(Debug)]
struct Seen {
    /// Since when the job stood still; none where somebody looked once, so that nobody knows.
    since: Option<Timestamp>,
    at: Timestamp,
    /// When progress was made again.
    until: Option<Timestamp>,
    processes: Vec<(Map<String, Value>, Found)>,
    /// What others know, by the names of the artifacts.
    files: Vec<(String, String)>,
}

impl Stalls {
    /// Of a job that starts now; with how long it has to stand still for a report of a hang.
    pub fn new(hang_after: Option<Duration>) -> Self {
        Self {
            hang_after,
            used: HashMap::new(),
            printed: 0,
            measured: Instant::now(),
            since: (Instant::now(), Timestamp::now()),
            looker: None,
            stage: Stage::New,
            seen: None,
        }
    }

    /// What becomes readable when there is something to attend to.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.looker.as_ref().map(|(looker, _)| looker.descriptor())
    }

    /// Takes note of how things stand. True when a hang is to be told of, once a hang.
    pub fn attend(&mut self, tree: &Tree, printed: impl FnOnce() -> u64) -> bool {
        self.take_in(tree);
        if self.measured.elapsed() >= MEASURE {
            self.measure(tree, printed());
        }
        let is_told = self.stage == Stage::Hang && self.looker.is_none() && self.seen.is_some();
        if is_told {
            self.stage = Stage::Told;
        }
        is_told
    }

    /// Takes in what was seen, where whoever looked is done.
    fn take_in(&mut self, tree: &Tree) {
        let found = self
            .looker
            .as_mut()
            .and_then(|(looker, since)| Some((looker.found()?, *since)));
        if let Some((found, since)) = found {
            self.looker = None;
            self.note(tree, found, Some(since));
        }
    }

    /// Looks at a job that runs, now and to the end.
    pub fn look_now(tree: &Tree, lines: Vec<Line>) -> Self {
        let mut stalls = Self::new(None);
        stalls.stage = Stage::Told;
        stalls.note(tree, lines, None);
        stalls
    }

    fn measure(&mut self, tree: &Tree, printed: u64) {
        let elapsed = self.measured.elapsed();
        self.measured = Instant::now();
        let living = tree.living().into_iter();
        let used: HashMap<u32, Work> = living.filter_map(|pid| Some((pid, Work::of(pid)?))).collect();
        let is_busy = used
            .iter()
            .any(|(pid, now)| now.is_at_work(self.used.get(pid), elapsed));
        // Whoever was stopped, or asleep with the machine, knows nothing of that time.
        let went_on = is_busy || printed != self.printed || elapsed > GAP;
        self.used = used;
        self.printed = printed;
        if went_on {
            self.progress();
            return;
        }
        let idle = self.since.0.elapsed();
        let is_hang = self.hang_after.is_some_and(|after| idle >= after);
        let next = match self.stage {
            Stage::New | Stage::Looked if is_hang => Stage::Hang,
            Stage::New if idle >= LOOK_AFTER => Stage::Looked,
            _ => return,
        };
        if self.looker.is_none() {
            let pids: Vec<u32> = tree.living().into_iter().take(PROCESSES).collect();
            self.looker = Looker::start(&pids).map(|looker| (looker, self.since.1));
            self.stage = next;
        }
    }

    fn progress(&mut self) {
        self.since = (Instant::now(), Timestamp::now());
        self.stage = Stage::New;
        if let Some(seen) = &mut self.seen {
            seen.until.get_or_insert_with(Timestamp::now);
        }
    }

    fn note(&mut self, tree: &Tree, lines: Vec<Line>, since: Option<Timestamp>) {
        let mut seen = Seen {
            since,
            at: Timestamp::now(),
            until: (self.stage == Stage::New).then(Timestamp::now),
            processes: Vec::new(),
            files: Vec::new(),
        };
        for line in lines {
            match line {
                Line::Process(found) => seen.processes.push((tree.about(found.pid), found)),
                Line::File(name, text) => seen.files.push((name, text)),
            }
        }
        self.seen = Some(seen);
    }

    /// Takes note that somebody ended the job at a moment: what it did from then on is no progress. Whether it stood
    /// still until then, and was looked at.
    pub fn ended_at(&mut self, tree: &Tree, end: Timestamp) -> bool {
        self.take_in(tree);
        let Some(seen) = &mut self.seen else { return false };
        // It may have been measured a little before the signal was seen here.
        if seen.until.is_some_and(|until| until + MEASURE >= end) {
            seen.until = None;
        }
        seen.until.is_none()
    }

    /// The standstill that was looked at last, for the context.
    pub fn told(&self) -> Option<Value> {
        let seen = self.seen.as_ref()?;
        let end = seen.until.unwrap_or_else(Timestamp::now);
        let idle = seen.since.map(|since| end.duration_since(since).as_secs().max(0));
        let processes = seen.processes.iter().map(|(about, found)| {
            let mut told = about.clone();
            if let Ok(Value::Object(summary)) = serde_json::to_value(&found.summary) {
                told.extend(summary);
            }
            Value::Object(told)
        });
        Some(json!({
            "since": seen.since.map(|since| since.to_string()), "at": seen.at.to_string(),
            "until": seen.until.map(|until| until.to_string()),
            "idle_s": idle, "processes": processes.collect::<Vec<_>>(),
        }))
    }

    /// The stacks of each process and what others know, by the names of the artifacts.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let Some(seen) = &self.seen else { return Vec::new() };
        let with_stacks = seen.processes.iter().filter(|(_, found)| !found.stacks.is_empty());
        let stacks = with_stacks.filter_map(|(_, found)| {
            let stacks = serde_json::to_vec_pretty(&found.stacks).ok()?;
            Some((format!("stacks.{}.json", found.pid), stacks))
        });
        let others = seen
            .files
            .iter()
            .map(|(name, text)| (name.clone(), text.clone().into_bytes()));
        stacks.chain(others).collect()
    }
}
