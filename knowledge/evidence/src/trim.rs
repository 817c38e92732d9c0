//! Makes evidence as small as it has to be, the least important first.
//!
//! First long quotations are cut, then the middles of deep stacks. If that is not enough, events and stacks are left
//! out: consequences and what was survived before failures, and of each kind those in the middle before the first and
//! the last ones. Stacks of events that stay, and of threads that crashed, stay longest.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use crate::Problem;
use crate::model::{Event, EventPayload, Evidence, Thread, ThreadId};

/// What an event's strings are cut to, and from which size of the event on.
const LONG_EVENT: u64 = 4 << 10;
const STRING_CHARS: usize = 1_000;

/// Frames that stay at the two ends of a deep stack.
const INNERMOST: usize = 24;
const OUTERMOST: usize = 8;

/// What was left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Events, by kind.
    pub events: BTreeMap<&'static str, u64>,
    /// Whole stacks.
    pub stacks: u64,
    /// Frames in the middle of stacks.
    pub frames: u64,
    /// Events of which only the beginnings of texts are kept.
    pub texts: u64,
}

impl Cut {
    /// The problem to tell, if anything was left out.
    pub fn problem(&self) -> Option<Problem> {
        (*self != Self::default()).then(|| Problem::new("limit-evidence-bytes", self.in_words()))
    }

    /// What was left out, in words.
    pub fn in_words(&self) -> String {
        let kinds = self.events.iter().map(|(kind, count)| format!("{count} {kind}"));
        let mut said: Vec<String> = Vec::new();
        if !self.events.is_empty() {
            said.push(format!("events ({})", kinds.collect::<Vec<_>>().join(", ")));
        }
        let counts = [
            (self.stacks, "stacks"),
            (self.frames, "frames in the middle of stacks"),
            (self.texts, "ends of long texts"),
        ];
        said.extend(
            counts
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, what)| format!("{count} {what}")),
        );
        format!(
            "left out, because there is more than a report has room for: {}",
            said.join("; ")
        )
    }
}

/// Trims events and stacks to so many bytes of JSON. Events keep their order and are numbered anew.
pub fn trim(evidence: &mut Evidence, most: usize) -> Cut {
    let mut cut = Cut::default();
    let most = most as u64;
    let (events, threads) = (&mut evidence.timeline, &mut evidence.threads);
    let size = |events: &[Event], threads: &[Thread]| json_bytes(&events) + json_bytes(&threads);
    if size(events, threads) <= most {
        return cut;
    }
    for event in events.iter_mut() {
        cut.texts += u64::from(shorten(event));
    }
    for thread in threads.iter_mut() {
        cut.frames += shallow(thread);
    }
    if size(events, threads) > most {
        leave_out_events(events, most / 2, &mut cut);
        let left = most.saturating_sub(json_bytes(&events));
        leave_out_threads(events, threads, left, &mut cut);
    }
    cut
}

/// Bytes that something takes as JSON.
pub(crate) fn json_bytes(value: &impl Serialize) -> u64 {
    let mut count = ByteCount(0);
    // What can not be written takes no room.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

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

/// Cuts the texts of an event that has long ones.
fn shorten(event: &mut Event) -> bool {
    json_bytes(event) > LONG_EVENT && event.payload.shorten(STRING_CHARS)
}

/// Takes out the middle of a deep stack.
fn shallow(thread: &mut Thread) -> u64 {
    let middle = thread.frames.len().saturating_sub(INNERMOST + OUTERMOST);
    if middle > 0 {
        thread.frames.drain(INNERMOST..INNERMOST + middle);
        thread.frames_omitted = Some(thread.frames_omitted.unwrap_or(0) + middle as u64);
    }
    middle as u64
}

/// Keeps the most important of these, as far as they fit; gives their positions.
fn fitting(order: &[usize], size: impl Fn(usize) -> u64, most: u64) -> HashSet<usize> {
    let mut left = most;
    let fits = order.iter().filter(|index| {
        // One more for the comma.
        let rest = left.checked_sub(size(**index) + 1);
        left = rest.unwrap_or(left);
        rest.is_some()
    });
    fits.copied().collect()
}

fn leave_out_events(events: &mut Vec<Event>, most: u64, cut: &mut Cut) {
    let order = by_importance(events);
    let kept = fitting(&order, |index| events.get(index).map_or(0, json_bytes), most);
    if kept.len() == events.len() {
        return;
    }
    let mut numbers = HashMap::new();
    for (index, event) in events.iter().enumerate() {
        if kept.contains(&index) {
            numbers.insert(event.event, numbers.len());
        } else {
            *cut.events.entry(event.payload.kind()).or_default() += 1;
        }
    }
    events.retain(|event| numbers.contains_key(&event.event));
    for event in events.iter_mut() {
        event.event = numbers.get(&event.event).copied().unwrap_or_default();
        event.echo_of = event.echo_of.and_then(|of| numbers.get(&of).copied());
    }
}

/// Failures first, and of each kind in turn the first, the last, the second, the last but one, ….
fn by_importance(events: &[Event]) -> Vec<usize> {
    let mut kinds: BTreeMap<(bool, &str), Vec<usize>> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        let is_minor = event.survived || !event.primary;
        kinds.entry((is_minor, event.payload.kind())).or_default().push(index);
    }
    let mut turns: Vec<(bool, usize, usize)> = Vec::new();
    for ((is_minor, _), indexes) in kinds {
        let turn = |position: usize| {
            let from_end = indexes.len() - 1 - position;
            (2 * position).min(2 * from_end + 1)
        };
        turns.extend(
            indexes
                .iter()
                .enumerate()
                .map(|(position, index)| (is_minor, turn(position), *index)),
        );
    }
    turns.sort_unstable();
    turns.into_iter().map(|(_, _, index)| index).collect()
}

fn leave_out_threads(events: &mut [Event], threads: &mut Vec<Thread>, most: u64, cut: &mut Cut) {
    let order = threads_by_importance(events, threads);
    let kept = fitting(&order, |index| threads.get(index).map_or(0, json_bytes), most);
    cut.stacks += (threads.len() - kept.len()) as u64;
    let mut index = 0;
    threads.retain(|_| {
        index += 1;
        kept.contains(&(index - 1))
    });
    let names: HashSet<(&str, &ThreadId)> = threads.iter().map(|thread| (&*thread.artifact, &thread.id)).collect();
    for event in events {
        let artifact = std::mem::take(&mut event.artifact);
        if let Some(stack) = stack_of(&mut event.payload)
            && !stack.as_ref().is_some_and(|id| names.contains(&(&*artifact, id)))
        {
            *stack = None;
        }
        event.artifact = artifact;
    }
}

/// Crashed threads first, then those of events, in the order of those; of the others the first and the last.
fn threads_by_importance(events: &mut [Event], threads: &[Thread]) -> Vec<usize> {
    let order = by_importance(events);
    let mut ranks: HashMap<(String, ThreadId), usize> = HashMap::new();
    for (rank, index) in order.into_iter().enumerate() {
        let Some(event) = events.get_mut(index) else { continue };
        if let Some(Some(id)) = stack_of(&mut event.payload).map(|stack| stack.clone()) {
            ranks.entry((event.artifact.clone(), id)).or_insert(rank);
        }
    }
    let key = |index: usize, thread: &Thread| {
        let rank = ranks.get(&(thread.artifact.clone(), thread.id.clone()));
        let turn = (2 * index).min(2 * (threads.len() - 1 - index) + 1);
        (!thread.crashed, rank.is_none(), rank.copied().unwrap_or(turn), index)
    };
    let mut keys: Vec<_> = threads
        .iter()
        .enumerate()
        .map(|(index, thread)| key(index, thread))
        .collect();
    keys.sort_unstable();
    keys.into_iter().map(|(.., index)| index).collect()
}

/// Where an event names its stack.
fn stack_of(what: &mut EventPayload) -> Option<&mut Option<ThreadId>> {
    match what {
        EventPayload::PythonException(exception) => Some(&mut exception.thread),
        EventPayload::NativeAbort(abort) => Some(&mut abort.thread),
        EventPayload::Sanitizer(report) => Some(&mut report.stack),
        _ => None,
    }
}
