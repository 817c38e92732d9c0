//! Blocks and trace entries one by one, within bounds that all devices of a snapshot share.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::clusters::FRAMES;
use super::fold::{Action, Block, Entry, State};
use super::segments::Segment;
use super::stacks::{StackId, Stacks};
use super::trace::Trace;
use crate::Hex;
use crate::model::{MemoryBlock, MemoryDetail, TraceEntry};
use crate::readers::pickle::Heap;

/// What all devices of a snapshot may tell together.
const BLOCKS: usize = 8_192;
const ENTRIES: usize = 4_096;
const STACKS: usize = 512;

/// The stacks of one device as they are told: each once.
#[derive(Debug)]
struct ToldStacks<'a> {
    stacks: &'a Stacks,
    heap: &'a Heap,
    most: usize,
    told: HashMap<StackId, u32>,
    frames: Vec<Vec<String>>,
}

impl ToldStacks<'_> {
    /// Where the stack is told; none for one without frames, or beyond the bound.
    fn position(&mut self, stack: StackId) -> Option<u32> {
        if let Some(position) = self.told.get(&stack) {
            return Some(*position);
        }
        if self.frames.len() >= self.most {
            return None;
        }
        let frames = self.stacks.render(self.heap, stack, FRAMES);
        if frames.is_empty() {
            return None;
        }
        let position = u32::try_from(self.frames.len()).ok()?;
        self.frames.push(frames);
        self.told.insert(stack, position);
        Some(position)
    }
}

/// The blocks and entries of one of so many devices.
pub(super) fn detail(
    segments: &[&Segment],
    trace: Option<&Trace>,
    devices: usize,
    stacks: &Stacks,
    heap: &Heap,
) -> MemoryDetail {
    let share = |most: usize| most / devices.max(1);
    let mut told = ToldStacks {
        stacks,
        heap,
        most: share(STACKS),
        told: HashMap::new(),
        frames: Vec::new(),
    };
    let blocks = largest(segments, share(BLOCKS));
    let blocks = blocks
        .into_iter()
        .map(|(segment, block)| self::block(segment, block, &mut told));
    let blocks = blocks.collect();
    let entries = trace
        .map(|trace| trace.kept.entries(share(ENTRIES)))
        .unwrap_or_default();
    let entries = entries
        .into_iter()
        .map(|(number, entry)| self::entry(number, &entry, &mut told));
    MemoryDetail {
        blocks,
        trace: entries.collect(),
        stacks: told.frames,
        ..MemoryDetail::default()
    }
}

/// The largest blocks, by address.
fn largest<'a>(segments: &[&'a Segment], most: usize) -> Vec<(&'a Segment, &'a Block)> {
    let blocks = segments
        .iter()
        .flat_map(|segment| segment.blocks.iter().map(move |block| (*segment, block)));
    let mut blocks: Vec<_> = blocks.collect();
    if blocks.len() > most {
        blocks.sort_by_key(|(_, block)| (Reverse(block.size), block.address));
        blocks.truncate(most);
    }
    blocks.sort_by_key(|(_, block)| block.address);
    blocks
}

fn block(segment: &Segment, block: &Block, stacks: &mut ToldStacks<'_>) -> MemoryBlock {
    let state = match block.state {
        State::Allocated => "allocated",
        State::Pending => "pending-free",
        State::Inactive => "inactive",
    };
    MemoryBlock {
        address: Hex(block.address.unwrap_or(segment.address)),
        bytes: block.size,
        requested: block.requested,
        state: state.to_owned(),
        stream: Hex(segment.key.stream),
        private_pool: private(segment.key.pool),
        stack: stacks.position(block.stack),
    }
}

fn entry(number: u64, entry: &Entry, stacks: &mut ToldStacks<'_>) -> TraceEntry {
    let action = match entry.action {
        Action::Alloc => "alloc",
        Action::FreeRequested => "free-requested",
        Action::FreeCompleted => "free-completed",
        Action::SegmentAlloc => "segment-alloc",
        Action::SegmentFree => "segment-free",
        Action::SegmentMap => "segment-map",
        Action::SegmentUnmap => "segment-unmap",
        Action::Oom => "failed",
        Action::Other => "other",
    };
    TraceEntry {
        number,
        action: action.to_owned(),
        address: Hex(entry.address),
        bytes: entry.size,
        stream: Hex(entry.stream),
        private_pool: private(entry.pool),
        time_us: entry.time_us,
        stack: stacks.position(entry.stack),
    }
}

/// The default pool is written as zeros.
fn private(pool: [u64; 2]) -> Option<[u64; 2]> {
    (pool != [0, 0]).then_some(pool)
}
