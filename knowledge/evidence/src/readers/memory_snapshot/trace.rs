//! Follows one device's trace entry by entry, keeping what the end needs and few entries.
//!
//! A trace is a ring: it may begin in the middle of the program's life, so levels are known only relative to its
//! beginning until the final state fixes them. Everything here is therefore a difference from the first entry; adding
//! the final level minus the final difference replays the trace backwards from the end.
//!
//! Sizes in a trace are what the program asked for; sizes of blocks are rounded up (to 512 bytes at least).

use std::collections::HashMap;

use super::curve::CurveBuilder;
use super::fold::{Action, Entry};
use super::kept::Kept;
use super::map::Frees;
use super::stacks::StackId;

/// An allocation made during the trace that is alive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live {
    pub size: u64,
    pub stack: StackId,
    /// Index of the entry that made it.
    pub event: u64,
}

/// Where the most was allocated, as a difference from the beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PeakMark {
    pub level: i64,
    /// Absent for the beginning itself.
    pub event: Option<u64>,
    pub time_us: Option<u64>,
}

/// The last failed request.
#[derive(Debug)]
pub(super) struct OomMark {
    pub entry: Entry,
    pub event: u64,
    /// Allocated, as a difference from the beginning.
    pub level: i64,
    /// What happened after it, to undo; absent when that was more than the cap.
    pub after: Option<Vec<Entry>>,
}

/// Bytes of one stack: now, and when the peak was reached last.
#[derive(Clone, Copy, Debug, Default)]
struct StackLevel {
    now: Level,
    at_peak: Level,
    /// Number of the peak that `at_peak` was taken at.
    peak: u64,
}

/// Bytes and blocks, as differences from the beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    pub bytes: i64,
    pub count: i64,
}

/// The running state of one device's trace.
#[derive(Debug)]
pub(super) struct Trace {
    pub events: u64,
    /// Allocated now, as a difference from the beginning.
    pub level: i64,
    pub peak: PeakMark,
    /// Allocated or waiting for another stream now, as a difference from the beginning.
    pub active: i64,
    pub peak_active: i64,
    pub live: HashMap<u64, Live>,
    pub oom: Option<OomMark>,
    pub oom_events: u64,
    pub curve: CurveBuilder,
    pub kept: Kept,
    /// Bytes allocated before the trace and freed during it.
    pub freed_unseen: Level,
    /// The latest frees.
    pub frees: Frees,
    /// Freed by the program, not yet completed.
    pending: HashMap<u64, u64>,
    /// Indexed by stack.
    stacks: Vec<StackLevel>,
    unseen: StackLevel,
    peaks: u64,
    after_cap: usize,
}

impl Trace {
    /// A trace that keeps at most `after_cap` entries after an out-of-memory entry.
    pub fn new(after_cap: usize) -> Self {
        Self {
            events: 0,
            level: 0,
            peak: PeakMark::default(),
            active: 0,
            peak_active: 0,
            live: HashMap::new(),
            oom: None,
            oom_events: 0,
            curve: CurveBuilder::default(),
            kept: Kept::default(),
            freed_unseen: Level::default(),
            frees: Frees::default(),
            pending: HashMap::new(),
            stacks: Vec::new(),
            unseen: StackLevel::default(),
            peaks: 1,
            after_cap,
        }
    }

    /// What is held now, in the units of [`crate::readers::pickle::Heap::held`].
    pub fn held(&self) -> usize {
        // A hash table holds a byte beside each place.
        let live = self.live.capacity() * (size_of::<(u64, Live)>() + 1);
        let pending = self.pending.capacity() * (size_of::<(u64, u64)>() + 1);
        let stacks = self.stacks.capacity() * size_of::<StackLevel>();
        let after = self.oom.as_ref().and_then(|oom| oom.after.as_ref());
        let after = after.map_or(0, |after| after.capacity() * size_of::<Entry>());
        (live + pending + stacks + after + self.frees.held() + self.curve.held() + self.kept.bytes()) / 32
    }

    /// Takes the next entry.
    pub fn push(&mut self, entry: &Entry) {
        let event = self.events;
        self.events += 1;
        self.note_for_oom(entry, event);
        self.kept.push(event, entry);
        match entry.action {
            Action::Alloc => self.alloc(entry, event),
            Action::FreeRequested => {
                self.free(entry, event);
                self.pending.insert(entry.address, entry.size);
            }
            // A ring may begin between the two, and `skip_actions` may leave the request out altogether: then this
            // is the free.
            Action::FreeCompleted => {
                if !self.complete(entry.address) {
                    self.free(entry, event);
                    self.active = self.active.saturating_sub(bytes(entry.size));
                }
            }
            Action::SegmentFree | Action::SegmentUnmap => self.frees.note(entry, event, None),
            Action::SegmentAlloc | Action::SegmentMap | Action::Oom | Action::Other => {}
        }
    }

    /// What each stack had alive at the peak, of what was allocated during the trace; and, as the last value, how
    /// much older memory had been freed by then (as negative numbers).
    pub fn at_peak(&self) -> (impl Iterator<Item = (StackId, Level)> + '_, Level) {
        let level = |stack: &StackLevel| {
            if stack.peak < self.peaks {
                stack.now
            } else {
                stack.at_peak
            }
        };
        let stacks = self
            .stacks
            .iter()
            .enumerate()
            .map(move |(index, stack)| (StackId(index as u32), level(stack)));
        (stacks.filter(|(_, level)| level.bytes > 0), level(&self.unseen))
    }

    fn note_for_oom(&mut self, entry: &Entry, event: u64) {
        if entry.action == Action::Oom {
            self.oom_events += 1;
            self.oom = Some(OomMark {
                entry: *entry,
                event,
                level: self.level,
                after: Some(Vec::new()),
            });
        } else if let Some(OomMark {
            after: after_slot @ Some(_),
            ..
        }) = &mut self.oom
            && let Some(after) = after_slot
        {
            if after.len() < self.after_cap {
                after.push(*entry);
            } else {
                *after_slot = None;
            }
        }
    }

    fn alloc(&mut self, entry: &Entry, event: u64) {
        // Where frees are not recorded, an address handed out again must have been freed.
        if let Some(size) = self.forget(entry.address) {
            self.active = self.active.saturating_sub(size);
        }
        self.complete(entry.address);
        self.live.insert(
            entry.address,
            Live {
                size: entry.size,
                stack: entry.stack,
                event,
            },
        );
        let size = bytes(entry.size);
        self.level = self.level.saturating_add(size);
        self.active = self.active.saturating_add(size);
        self.peak_active = self.peak_active.max(self.active);
        let peaks = self.peaks;
        self.stack(entry.stack).change(size, 1, peaks);
        if self.level > self.peak.level {
            self.peak = PeakMark {
                level: self.level,
                event: Some(event),
                time_us: entry.time_us,
            };
            self.peaks += 1;
        }
        self.curve.push(event, entry.time_us, self.level);
    }

    fn free(&mut self, entry: &Entry, event: u64) {
        self.frees.note(entry, event, self.live.get(&entry.address));
        if self.forget(entry.address).is_none() {
            let size = bytes(entry.size);
            self.level = self.level.saturating_sub(size);
            self.freed_unseen.bytes = self.freed_unseen.bytes.saturating_add(size);
            self.freed_unseen.count += 1;
            self.unseen.change(-size, -1, self.peaks);
        }
        self.curve.push(event, entry.time_us, self.level);
    }

    /// Ends the life of the allocation at `address`, if the trace saw it begin, and gives its size.
    fn forget(&mut self, address: u64) -> Option<i64> {
        let live = self.live.remove(&address)?;
        let size = bytes(live.size);
        self.level = self.level.saturating_sub(size);
        let peaks = self.peaks;
        self.stack(live.stack).change(-size, -1, peaks);
        Some(size)
    }

    /// Ends the wait of what was freed at `address`, if it waited.
    fn complete(&mut self, address: u64) -> bool {
        let waited = self.pending.remove(&address);
        self.active = self.active.saturating_sub(bytes(waited.unwrap_or(0)));
        waited.is_some()
    }

    fn stack(&mut self, id: StackId) -> &mut StackLevel {
        let index = id.0 as usize;
        if self.stacks.len() <= index {
            self.stacks.resize(index + 1, StackLevel::default());
        }
        &mut self.stacks[index]
    }
}

impl StackLevel {
    /// Changes the level, keeping what it was at the latest peak (the `peaks`-th).
    fn change(&mut self, bytes: i64, count: i64, peaks: u64) {
        if self.peak < peaks {
            self.at_peak = self.now;
            self.peak = peaks;
        }
        self.now.bytes = self.now.bytes.saturating_add(bytes);
        self.now.count += count;
    }
}

/// No real size comes near the end of the range.
fn bytes(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
