//! How much of each kind is kept.

use std::collections::VecDeque;

use serde::Serialize;

use super::{STACKS, Sink};

/// Bytes that the events and stacks of one text may take while it is read, as JSON: each may quote lines at length, and
/// there may be many. One kind of events, or the stacks, may take a part of it.
const EVIDENCE_BYTES: u64 = 64 << 20;
const KIND_BYTES: u64 = EVIDENCE_BYTES / 8;

/// How many there are of a kind.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) kept: usize,
    pub(super) bytes: u64,
    /// Those that were recorded last, where only so many of the last ones are kept.
    pub(super) latest: VecDeque<usize>,
    /// Left out because there are too many; because they are too long.
    pub(super) dropped: u64,
    pub(super) oversized: u64,
}

impl Sink<'_> {
    /// Quarters of what there is room for that may be used by now: the last remains for the end of the text.
    fn quarters(&self) -> usize {
        if self.at_end { 4 } else { 3 }
    }

    /// How many of a kind may be kept by now.
    fn room(&self, kind: &'static str) -> usize {
        let most = match kind {
            STACKS => self.limits.threads,
            _ if self.events.len() < self.limits.events => self.limits.events_of_kind,
            _ => 0,
        };
        most - most / 4 * (4 - self.quarters())
    }

    /// Whether nothing of this kind is kept any more before the end of the text.
    pub fn is_full_of(&self, kind: &'static str) -> bool {
        let kept = self.kinds.get(kind).map_or(0, |of_kind| of_kind.kept);
        !self.at_end && kept >= self.room(kind)
    }

    /// Counts something of a kind that nobody looks at, because there is no room for it.
    pub fn leave_out(&mut self, kind: &'static str) {
        self.kinds.entry(kind).or_default().dropped += 1;
    }

    /// Makes room for something of a kind that is about to be recorded; false when there is none.
    pub(super) fn pay(&mut self, kind: &'static str, recorded: &impl Serialize) -> bool {
        let (count, parts) = (self.room(kind), self.quarters());
        let share = |bytes: u64| bytes / 4 * parts as u64;
        let size = crate::trim::json_bytes(recorded);
        let of_kind = self.kinds.entry(kind).or_default();
        let has_room = of_kind.kept < count;
        let fits = of_kind.bytes + size <= share(KIND_BYTES) && self.bytes + size <= share(EVIDENCE_BYTES);
        of_kind.dropped += u64::from(!has_room);
        of_kind.oversized += u64::from(has_room && !fits);
        if has_room && fits {
            of_kind.kept += 1;
            of_kind.bytes += size;
            self.bytes += size;
        }
        self.is_full |= !fits || of_kind.kept >= count;
        has_room && fits
    }
}
