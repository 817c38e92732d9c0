//! What the allocator looked like when a request failed.
//!
//! A dump is often made later: an `except` clause or a trainer's teardown frees memory first, and the final state then
//! shows room that the failed request did not have. So the entries after the failure are undone, latest first.

use std::collections::BTreeMap;

use super::fold::{Action, Entry, State};
use super::segments::{PoolKey, SMALL_REQUEST, Segment};

/// Every block is a multiple of this many bytes (`kMinBlockSize` of the allocator).
const BLOCK_BYTES: u64 = 512;

/// Free memory that a request could have used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usable {
    pub reserved: u64,
    pub inactive: u64,
    pub largest: u64,
}

/// What the allocator held when the request `oom` failed, given the final `segments` of its device and the trace
/// entries `after` the failure.
pub(super) fn usable(segments: &[&Segment], oom: &Entry, after: &[Entry]) -> Usable {
    let mut state = Replay::new(segments);
    for entry in after.iter().rev() {
        state.undo(entry);
    }
    state.usable(PoolKey {
        stream: oom.stream,
        pool: oom.pool,
        small: oom.size <= SMALL_REQUEST,
    })
}

/// Ranges by address.
#[derive(Debug, Default)]
struct Replay {
    held: BTreeMap<u64, Held>,
    /// Sizes of blocks in use.
    used: BTreeMap<u64, u64>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    size: u64,
    key: PoolKey,
    /// Free memory of less is part of the block before it: the allocator does not split that off (`should_split`).
    smallest_gap: u64,
}

impl Held {
    /// Only small and expandable segments are split to the last block.
    fn new(size: u64, key: PoolKey, expandable: bool) -> Self {
        let smallest_gap = if key.small || expandable {
            BLOCK_BYTES
        } else {
            SMALL_REQUEST + 1
        };
        Self {
            size,
            key,
            smallest_gap,
        }
    }
}

impl Replay {
    fn new(segments: &[&Segment]) -> Self {
        let mut state = Self::default();
        for segment in segments {
            let held = Held::new(segment.size, segment.key, segment.expandable == Some(true));
            state.held.insert(segment.address, held);
            let used = segment.blocks.iter().filter(|block| block.state != State::Inactive);
            state
                .used
                .extend(used.filter_map(|block| Some((block.address?, block.size))));
        }
        state
    }

    fn undo(&mut self, entry: &Entry) {
        match entry.action {
            Action::Alloc => {
                self.used.remove(&entry.address);
            }
            Action::FreeCompleted => {
                let size = entry.size.checked_next_multiple_of(BLOCK_BYTES).unwrap_or(entry.size);
                self.used.insert(entry.address, size);
            }
            Action::SegmentAlloc | Action::SegmentMap => self.release(entry.address, entry.size),
            Action::SegmentFree | Action::SegmentUnmap => self.hold(entry),
            Action::FreeRequested | Action::Oom | Action::Other => {}
        }
    }

    /// Puts a range back that was given to the driver. A trace does not say which size class it was of: small segments
    /// are 2 MiB, and no large one is. A range that was unmapped belongs to the segment it was cut out of: with what is
    /// left of that on either side it is one again.
    fn hold(&mut self, entry: &Entry) {
        let mut key = PoolKey {
            stream: entry.stream,
            pool: entry.pool,
            small: entry.size <= 2 << 20,
        };
        let (mut start, mut end) = (entry.address, entry.address.saturating_add(entry.size));
        if entry.action == Action::SegmentUnmap {
            let of_same_stream = |held: &Held| held.key.stream == entry.stream;
            let before = self.held.range(..start).next_back().map(|(at, held)| (*at, *held));
            if let Some((at, held)) = before
                && at.saturating_add(held.size) == start
                && of_same_stream(&held)
            {
                (start, key) = (at, held.key);
            }
            if let Some(held) = self.held.get(&end).copied()
                && of_same_stream(&held)
                && (start == entry.address || held.key == key)
            {
                self.held.remove(&end);
                end = end.saturating_add(held.size);
                key = held.key;
            }
        }
        let expandable = entry.action == Action::SegmentUnmap;
        self.held.insert(start, Held::new(end - start, key, expandable));
    }

    /// Takes a range away that was not held yet, cutting the segment it lies in.
    fn release(&mut self, address: u64, size: u64) {
        let Some((start, held)) = self
            .held
            .range(..=address)
            .next_back()
            .map(|(start, held)| (*start, *held))
        else {
            return;
        };
        let end = start.saturating_add(held.size);
        let cut_end = address.saturating_add(size).min(end);
        if address >= end {
            return;
        }
        self.held.remove(&start);
        if address > start {
            self.held.insert(
                start,
                Held {
                    size: address - start,
                    ..held
                },
            );
        }
        if end > cut_end {
            self.held.insert(
                cut_end,
                Held {
                    size: end - cut_end,
                    ..held
                },
            );
        }
    }

    fn usable(&self, key: PoolKey) -> Usable {
        let mut usable = Usable::default();
        for (start, held) in &self.held {
            usable.reserved = usable.reserved.saturating_add(held.size);
            if held.key == key {
                self.add_gaps(*start, held, &mut usable);
            }
        }
        usable
    }

    /// Adds what is free between the blocks in use of one segment.
    fn add_gaps(&self, start: u64, held: &Held, usable: &mut Usable) {
        let end = start.saturating_add(held.size);
        let mut free_from = start;
        let mut gap = |from: u64, to: u64| {
            let gap = to.saturating_sub(from);
            if gap < held.smallest_gap {
                return;
            }
            usable.inactive = usable.inactive.saturating_add(gap);
            usable.largest = usable.largest.max(gap);
        };
        for (block, size) in self.used.range(start..end) {
            gap(free_from, *block);
            free_from = free_from.max(block.saturating_add(*size));
        }
        gap(free_from, end);
    }
}
