//! The entries of a trace that are kept: before the last failed request, and at the end.

use std::collections::VecDeque;

use super::fold::{Action, Entry};

/// Entries that are kept at the end of a trace, and up to a failed request.
const LAST: usize = 4_096;
const BEFORE: usize = 1_024;

/// Entries with their numbers.
#[derive(Debug, Default)]
pub(super) struct Kept {
    last: VecDeque<(u64, Entry)>,
    /// Up to the last failed request, which is among them.
    before: Vec<(u64, Entry)>,
}

impl Kept {
    /// Takes the next entry.
    pub fn push(&mut self, number: u64, entry: &Entry) {
        if self.last.len() == LAST {
            self.last.pop_front();
        }
        self.last.push_back((number, *entry));
        if entry.action == Action::Oom {
            self.before.clear();
            let from = self.last.len().saturating_sub(BEFORE);
            self.before.extend(self.last.range(from..));
        }
    }

    /// Bytes that are held.
    pub fn bytes(&self) -> usize {
        (self.last.capacity() + self.before.capacity()) * size_of::<(u64, Entry)>()
    }

    /// At most so many of them, in order: a quarter of the room for those up to the failed request, where they are not
    /// among the last.
    pub fn entries(&self, most: usize) -> Vec<(u64, Entry)> {
        let last = tail(self.last.len(), most);
        let mut kept: Vec<(u64, Entry)> = self.last.range(last..).copied().collect();
        let Some(first) = kept.first().map(|(number, _)| *number) else {
            return kept;
        };
        let older: Vec<(u64, Entry)> = self
            .before
            .iter()
            .filter(|(number, _)| *number < first)
            .copied()
            .collect();
        let older = older.get(tail(older.len(), most / 4)..).unwrap_or_default();
        let left = tail(kept.len(), most.saturating_sub(older.len()));
        kept.splice(..left, older.iter().copied());
        kept
    }
}

/// Where the last `most` of so many begin.
fn tail(of: usize, most: usize) -> usize {
    of.saturating_sub(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::memory_snapshot::stacks::StackId;

    fn entry(action: Action) -> Entry {
        Entry {
            action,
            address: 0,
            size: 1,
            device_free: 0,
            stream: 0,
            pool: [0, 0],
            time_us: None,
            stack: StackId::NONE,
        }
    }

    fn of(length: u64, failed: u64) -> Kept {
        let mut kept = Kept::default();
        for number in 0..length {
            let action = if number == failed { Action::Oom } else { Action::Alloc };
            kept.push(number, &entry(action));
        }
        kept
    }

    fn numbers(kept: &Kept, most: usize) -> Vec<u64> {
        kept.entries(most).into_iter().map(|(number, _)| number).collect()
    }

    #[test]
    fn the_end_of_a_trace_and_what_led_to_a_failed_request_are_kept() {
        assert_eq!(numbers(&of(5, 9), 100), [0, 1, 2, 3, 4]);
        assert_eq!(numbers(&of(5, 4), 3), [2, 3, 4]);
        assert_eq!(numbers(&of(20, 6), 8), [5, 6, 14, 15, 16, 17, 18, 19]);
        let long = numbers(&of(10_000, 2_000), usize::MAX);
        assert_eq!((long[0], long[1_023], long[1_024]), (977, 2_000, 5_904));
        assert_eq!((long.len(), long.last()), (1_024 + 4_096, Some(&9_999)));
        assert_eq!(numbers(&of(10, 3), 0), [0; 0]);
        assert_eq!(numbers(&Kept::default(), 10), [0; 0]);
    }
}
