//! Where events of interest stand in a timeline, so that the first or the last of them is found without going through
//! it.

use std::collections::HashMap;
use std::hash::Hash;

use crate::model::Event;

/// Positions in the timeline, in order, by some key.
#[derive(Debug)]
pub(super) struct Places<K>(HashMap<K, Vec<usize>>);

impl<K> Default for Places<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Places<K> {
    /// Adds a position behind all others.
    pub fn add(&mut self, key: K, position: usize) {
        self.0.entry(key).or_default().push(position);
    }

    pub fn first(&self, key: &K) -> Option<usize> {
        self.0.get(key)?.first().copied()
    }

    pub fn last(&self, key: &K) -> Option<usize> {
        self.0.get(key)?.last().copied()
    }

    /// The first one behind a position.
    pub fn after(&self, key: &K, position: usize) -> Option<usize> {
        let places = self.0.get(key)?;
        places.get(places.partition_point(|place| *place <= position)).copied()
    }
}

/// What an event may be of one process with: their process ids tell, or else their ranks, or else nothing does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Like {
    All,
    Pid(u32),
    Rank(Option<u32>),
    NoPid,
    NoPidButRank(Option<u32>),
}

/// Positions by the process that an event tells of, within some scope.
#[derive(Debug)]
pub(super) struct ByProcess<S>(Places<(S, Like)>);

impl<S> Default for ByProcess<S> {
    fn default() -> Self {
        Self(Places::default())
    }
}

impl<S: Copy + Eq + Hash> ByProcess<S> {
    /// Adds an event behind all others.
    pub fn add(&mut self, scope: S, event: &Event, position: usize) {
        let mut add = |like| self.0.add((scope, like), position);
        add(Like::All);
        add(Like::Rank(event.rank));
        match event.pid {
            Some(pid) => add(Like::Pid(pid)),
            None => {
                add(Like::NoPid);
                add(Like::NoPidButRank(event.rank));
            }
        }
    }

    /// Which lists together have all events of the same process.
    fn lists(event: &Event) -> Vec<Like> {
        match (event.pid, event.rank) {
            (Some(pid), None) => vec![Like::Pid(pid), Like::NoPid],
            (Some(pid), rank) => vec![Like::Pid(pid), Like::NoPidButRank(rank), Like::NoPidButRank(None)],
            (None, None) => vec![Like::All],
            (None, rank) => vec![Like::Rank(rank), Like::Rank(None)],
        }
    }

    pub fn first(&self, scope: S, event: &Event) -> Option<usize> {
        let lists = Self::lists(event).into_iter();
        lists.filter_map(|like| self.0.first(&(scope, like))).min()
    }

    pub fn last(&self, scope: S, event: &Event) -> Option<usize> {
        let lists = Self::lists(event).into_iter();
        lists.filter_map(|like| self.0.last(&(scope, like))).max()
    }

    /// The first one behind a position.
    pub fn after(&self, scope: S, event: &Event, position: usize) -> Option<usize> {
        let lists = Self::lists(event).into_iter();
        lists.filter_map(|like| self.0.after(&(scope, like), position)).min()
    }
}

/// Positions of events that have some number, to find the first one with another number than some event.
#[derive(Debug, Default)]
pub(super) struct Others {
    places: Vec<(usize, u32)>,
    /// Of each place, the index of the next one whose number differs; as far as it is known.
    next: Vec<usize>,
}

impl Others {
    /// Adds an event behind all others.
    pub fn add(&mut self, number: u32, position: usize) {
        self.places.push((position, number));
    }

    /// To be called after the last event was added, and before [`Self::after`].
    pub fn finish(&mut self) {
        let mut next = vec![self.places.len(); self.places.len()];
        for index in (0..self.places.len().saturating_sub(1)).rev() {
            let differs =
                self.places.get(index).map(|place| place.1) != self.places.get(index + 1).map(|place| place.1);
            let of_next = next.get(index + 1).copied().unwrap_or_default();
            if let Some(place) = next.get_mut(index) {
                *place = if differs { index + 1 } else { of_next };
            }
        }
        self.next = next;
    }

    /// The first one behind a position whose number is another one.
    pub fn after(&self, number: Option<u32>, position: usize) -> Option<usize> {
        let index = self.places.partition_point(|place| place.0 <= position);
        let first = self.places.get(index)?;
        if Some(first.1) != number {
            return Some(first.0);
        }
        self.places.get(*self.next.get(index)?).map(|place| place.0)
    }
}

/// The first event, and the first one with another number than that.
#[derive(Debug, Default)]
pub(super) struct FirstTwo {
    first: Option<(usize, u32)>,
    other: Option<usize>,
}

impl FirstTwo {
    /// Adds an event behind all others.
    pub fn add(&mut self, number: u32, position: usize) {
        match self.first {
            None => self.first = Some((position, number)),
            Some((_, first)) if first != number && self.other.is_none() => self.other = Some(position),
            Some(_) => {}
        }
    }

    /// The first one whose number is another one.
    pub fn except(&self, number: Option<u32>) -> Option<usize> {
        let (position, first) = self.first?;
        if Some(first) == number {
            self.other
        } else {
            Some(position)
        }
    }
}

/// Ranges of lines within one artifact, asked for in the order of lines.
#[derive(Debug, Default)]
pub(super) struct Ranges(HashMap<String, Vec<(usize, [u64; 2])>>);

impl Ranges {
    /// Adds the event at a position.
    pub fn add(&mut self, artifact: &str, position: usize, lines: [u64; 2]) {
        match self.0.get_mut(artifact) {
            Some(ranges) => ranges.push((position, lines)),
            None => {
                self.0.insert(artifact.to_owned(), vec![(position, lines)]);
            }
        }
    }

    /// The last one that begins before a line and reaches it. What ends before is of no use to later lines.
    pub fn around(&mut self, artifact: &str, line: u64) -> Option<usize> {
        let ranges = self.0.get_mut(artifact)?;
        while ranges.last().is_some_and(|(_, lines)| lines[1] < line) {
            ranges.pop();
        }
        let mut open = ranges.iter().rev().filter(|(_, lines)| lines[1] >= line);
        open.find(|(_, lines)| lines[0] < line).map(|(position, _)| *position)
    }
}

#[cfg(test)]
mod tests {
    use super::ByProcess;
    use crate::model::{Event, EventPayload, ProcessExit};

    /// A process, as far as an event tells which.
    type Process = (Option<u32>, Option<u32>);

    /// Whether two events may be of one process: their process ids tell, or else their ranks, or else nothing does.
    fn same(a: Process, b: Process) -> bool {
        match (a.0.zip(b.0), a.1.zip(b.1)) {
            (Some((a, b)), _) | (None, Some((a, b))) => a == b,
            (None, None) => true,
        }
    }

    #[test]
    fn the_lists_of_an_event_are_those_of_its_process() {
        let numbers = [None, Some(1), Some(2)];
        let processes = || numbers.into_iter().flat_map(|pid| numbers.map(|rank| (pid, rank)));
        let event = |(pid, rank): Process| Event {
            rank,
            pid,
            ..Event::new(EventPayload::ProcessExit(ProcessExit::default()))
        };
        for one in processes() {
            for other in processes() {
                let mut places = ByProcess::default();
                places.add((), &event(other), 7);
                let found = places.first((), &event(one)).is_some();
                assert_eq!(found, same(one, other), "{one:?} {other:?}");
                assert_eq!(places.last((), &event(one)).is_some(), found);
                assert_eq!(places.after((), &event(one), 6).is_some(), found);
                assert_eq!(places.after((), &event(one), 7), None);
            }
        }
    }
}
