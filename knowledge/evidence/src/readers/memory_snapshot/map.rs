//! Which addresses of a device belonged to whom.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};

use super::clusters::FRAMES;
use super::fold::{Action, Entry, State};
use super::segments::Segment;
use super::stacks::{StackId, Stacks};
use super::trace::{Live, Trace};
use crate::model::{MemoryMap, MemoryRange, MemoryState};
use crate::readers::pickle::Heap;

/// Blocks of one device that are kept, the largest; and segments.
const BLOCKS: usize = 4096;
const SEGMENTS: usize = 4096;
/// Frees of one device that are remembered, the latest.
const FREES: usize = 4096;

/// The latest frees of a trace.
#[derive(Debug, Default)]
pub(super) struct Frees(VecDeque<Freed>);

#[derive(Clone, Copy, Debug)]
struct Freed {
    entry: Entry,
    event: u64,
    allocated_by: StackId,
}

impl Frees {
    /// Notes what was freed, or given back to the driver.
    pub fn note(&mut self, entry: &Entry, event: u64, live: Option<&Live>) {
        if self.0.len() >= FREES {
            self.0.pop_front();
        }
        self.0.push_back(Freed {
            entry: *entry,
            event,
            allocated_by: live.map_or(StackId::NONE, |live| live.stack),
        });
    }

    /// What is held, in bytes.
    pub fn held(&self) -> usize {
        self.0.capacity() * size_of::<Freed>()
    }
}

/// The map of one device: blocks in use stand above what was freed before, and that above the segments around both.
pub(super) fn map(segments: &[&Segment], trace: Option<&Trace>, stacks: &Stacks, heap: &Heap) -> MemoryMap {
    let mut map = Builder {
        stacks,
        heap,
        known: HashMap::new(),
        map: MemoryMap {
            events: trace.map_or(0, |trace| trace.events),
            ..MemoryMap::default()
        },
    };
    map.in_use(segments);
    if let Some(trace) = trace {
        for freed in trace.frees.0.iter().rev() {
            map.freed(freed);
        }
    }
    for segment in segments.iter().take(SEGMENTS) {
        map.add(segment.address, segment.size, MemoryState::Unused, segment.key.stream);
    }
    map.map
}

struct Builder<'a> {
    stacks: &'a Stacks,
    heap: &'a Heap,
    known: HashMap<StackId, usize>,
    map: MemoryMap,
}

impl Builder<'_> {
    fn in_use(&mut self, segments: &[&Segment]) {
        let blocks = segments
            .iter()
            .flat_map(|segment| segment.blocks.iter().map(|block| (block, segment.key.stream)));
        let mut blocks: Vec<_> = blocks.filter(|(block, _)| block.state != State::Inactive).collect();
        blocks.sort_by_key(|(block, _)| (Reverse(block.size), block.address));
        for (block, stream) in blocks.into_iter().take(BLOCKS) {
            let state = match block.state {
                State::Pending => MemoryState::Pending,
                State::Allocated | State::Inactive => MemoryState::Allocated,
            };
            let allocated_by = self.stack(block.stack);
            let range = self.add(block.address.unwrap_or(0), block.size, state, stream);
            range.allocated_by = allocated_by;
        }
    }

    fn freed(&mut self, freed: &Freed) {
        let entry = &freed.entry;
        let state = match entry.action {
            Action::SegmentFree | Action::SegmentUnmap => MemoryState::Returned,
            _ => MemoryState::Freed,
        };
        let (allocated_by, freed_by) = (self.stack(freed.allocated_by), self.stack(entry.stack));
        let range = self.add(entry.address, entry.size, state, entry.stream);
        range.allocated_by = allocated_by;
        range.freed_by = freed_by;
        range.freed_event = Some(freed.event);
        range.freed_us = entry.time_us;
    }

    fn add(&mut self, address: u64, bytes: u64, state: MemoryState, stream: u64) -> &mut MemoryRange {
        let range = MemoryRange {
            address,
            bytes,
            state,
            stream,
            allocated_by: None,
            freed_by: None,
            freed_event: None,
            freed_us: None,
        };
        self.map.ranges.push_mut(range)
    }

    fn stack(&mut self, id: StackId) -> Option<usize> {
        if id == StackId::NONE {
            return None;
        }
        Some(*self.known.entry(id).or_insert_with(|| {
            self.map.stacks.push(self.stacks.render(self.heap, id, FRAMES));
            self.map.stacks.len() - 1
        }))
    }
}
