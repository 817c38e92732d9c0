//! Where grammars put what they found.

use std::collections::HashMap;

use serde::Serialize;

use super::prefix::Origin;
use crate::model::{Event, Place, Thread, ThreadId, What};
use crate::{Limits, Problem};

/// Longest [`Event::text`].
const TEXT_CHARS: usize = 400;

/// Bytes that the events and stacks of one text may take, as JSON: each may quote lines at length, and there may be many.
const EVIDENCE_BYTES: u64 = 64 << 20;

/// Events and threads of one artifact, under its limits.
#[derive(Debug)]
pub struct Sink<'a> {
    limits: &'a Limits,
    artifact: &'a str,
    /// What happened, with the stream it was read from.
    pub events: Vec<(Event, String)>,
    pub threads: Vec<Thread>,
    /// The last line of any event.
    pub newest_line: u64,
    labels: HashMap<&'static str, usize>,
    /// Events that repeat are one event with a count: where the first of each is.
    repeated: HashMap<String, usize>,
    events_dropped: u64,
    threads_dropped: u64,
    /// Whether the latest event was recorded.
    last_kept: bool,
    /// Bytes that events and stacks may still take.
    bytes_left: u64,
    /// Events and stacks left out because of that.
    oversized: u64,
    /// What grammars know and can not read: the first of each kind.
    unread: Vec<Problem>,
}

impl<'a> Sink<'a> {
    pub fn new(artifact: &'a str, limits: &'a Limits) -> Self {
        Self {
            limits,
            artifact,
            events: Vec::new(),
            threads: Vec::new(),
            newest_line: 0,
            labels: HashMap::new(),
            repeated: HashMap::new(),
            events_dropped: 0,
            threads_dropped: 0,
            last_kept: false,
            bytes_left: EVIDENCE_BYTES,
            oversized: 0,
            unread: Vec::new(),
        }
    }

    /// Frames a thread may have.
    pub fn frame_limit(&self) -> usize {
        self.limits.frames
    }

    /// Records an event that stands in these lines.
    pub fn event(&mut self, what: What, origin: &Origin, lines: [u64; 2], text: &str) {
        self.last_kept = false;
        if self.events.len() >= self.limits.events {
            self.events_dropped += 1;
            return;
        }
        if !self.pay(&what) {
            return;
        }
        let (time, time_note) = origin
            .stamp
            .clone()
            .map_or((None, None), |stamp| (stamp.time, stamp.note));
        let event = Event {
            time,
            time_note,
            rank: origin.rank,
            pid: origin.pid,
            text: shorten(text),
            artifact: self.artifact.to_owned(),
            at: Some(Place::Line(lines)),
            ..Event::new(what)
        };
        self.events.push((event, origin.stream.clone()));
        self.last_kept = true;
        self.newest_line = self.newest_line.max(lines[1]);
    }

    /// Records an event unless an equal one (by `key`) is there already; then gives that one to count.
    pub fn repeated_event(
        &mut self,
        key: String,
        what: What,
        origin: &Origin,
        line: u64,
        text: &str,
    ) -> Option<&mut What> {
        if let Some(&index) = self.repeated.get(&key) {
            return self.events.get_mut(index).map(|(event, _)| &mut event.what);
        }
        self.event(what, origin, [line, line], text);
        if self.last_kept {
            self.repeated.insert(key, self.events.len() - 1);
        }
        None
    }

    /// Completes the event that was recorded last, if it was not dropped.
    pub fn amend_last(&mut self, what: What, lines: [u64; 2]) {
        if self.last_kept
            && let Some((event, _)) = self.events.last_mut()
        {
            event.what = what;
            event.at = Some(Place::Line(lines));
            self.newest_line = self.newest_line.max(lines[1]);
        }
    }

    /// Records a stack and gives it a name of its own, such as `traceback-2`.
    pub fn stack(&mut self, stem: &'static str, thread: Thread) -> ThreadId {
        let count = self.labels.entry(stem).or_default();
        *count += 1;
        let id = ThreadId::Label(format!("{stem}-{count}"));
        self.thread(Thread {
            id: id.clone(),
            ..thread
        });
        id
    }

    /// Records a stack that names itself.
    pub fn thread(&mut self, thread: Thread) {
        if self.threads.len() >= self.limits.threads {
            self.threads_dropped += 1;
            return;
        }
        if !self.pay(&thread) {
            return;
        }
        self.threads.push(Thread {
            artifact: self.artifact.to_owned(),
            ..thread
        });
    }

    /// Takes the size of something that is about to be recorded off what is left; false when it does not fit.
    fn pay(&mut self, recorded: &impl Serialize) -> bool {
        let mut count = ByteCount(0);
        let counted = serde_json::to_writer(&mut count, recorded);
        let left = self.bytes_left.checked_sub(count.0).filter(|_| counted.is_ok());
        self.oversized += u64::from(left.is_none());
        self.bytes_left = left.unwrap_or(self.bytes_left);
        left.is_some()
    }

    /// Notes something that is known and can not be read, once.
    pub fn problem(&mut self, problem: Problem) {
        if self.unread.iter().all(|known| known.code != problem.code) {
            self.unread.push(problem);
        }
    }

    /// What did not fit, and what could not be read.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = self.unread.clone();
        if self.events_dropped > 0 {
            problems.push(Problem::new(
                "limit-events",
                format!(
                    "{} further events were left out; the first {} are kept",
                    self.events_dropped,
                    self.events.len()
                ),
            ));
        }
        if self.threads_dropped > 0 {
            problems.push(Problem::new(
                "limit-threads",
                format!(
                    "{} further stacks were left out; the first {} are kept",
                    self.threads_dropped,
                    self.threads.len()
                ),
            ));
        }
        if self.oversized > 0 {
            problems.push(Problem::new(
                "limit-evidence-bytes",
                format!(
                    "{} further events and stacks were left out: those kept quote {EVIDENCE_BYTES} bytes already",
                    self.oversized
                ),
            ));
        }
        problems
    }
}

/// Counts what is written.
struct ByteCount(u64);

impl std::io::Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// An empty stack of this process.
pub fn new_thread(origin: &Origin) -> Thread {
    Thread {
        id: ThreadId::Label(String::new()),
        name: None,
        rank: origin.rank,
        pid: origin.pid,
        crashed: false,
        artifact: String::new(),
        frames: Vec::new(),
        frames_omitted: None,
    }
}

fn shorten(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(TEXT_CHARS) {
        Some((cut, _)) => format!("{}…", text.get(..cut).unwrap_or_default()),
        None => text.to_owned(),
    }
}
