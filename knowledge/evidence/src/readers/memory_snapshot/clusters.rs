//! Live memory by the stack that allocated it.

use std::collections::HashMap;

use super::fold::{Block, State};
use super::segments::Segment;
use super::stacks::{StackId, Stacks};
use super::trace::Trace;
use crate::model::AllocationCluster;
use crate::readers::pickle::Heap;

/// Clusters reported; the rest is small.
const CLUSTERS: usize = 32;
/// Frames reported of a stack.
pub(super) const FRAMES: usize = 24;
/// Parts a trace is divided into for growth.
const PARTS: u64 = 8;

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    bytes: u64,
    count: u64,
    /// Bytes alive at the end by the part of the trace that allocated them; the first is before the trace.
    by_part: [u64; PARTS as usize + 1],
}

impl Sum {
    fn add(&mut self, bytes: u64, count: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.count = self.count.saturating_add(count);
    }
}

/// What is alive at the end.
pub(super) fn alive(
    segments: &[&Segment],
    trace: Option<&Trace>,
    stacks: &Stacks,
    heap: &Heap,
) -> Vec<AllocationCluster> {
    let mut sums: HashMap<StackId, Sum> = HashMap::new();
    for block in allocated(segments) {
        let sum = sums.entry(block.stack).or_default();
        sum.add(block.size, 1);
        let part = trace.map_or(0, |trace| part(trace, block));
        sum.by_part[part] = sum.by_part[part].saturating_add(block.size);
    }
    let growth = trace.is_some_and(|trace| trace.events > 0);
    largest(sums, growth, stacks, heap)
}

/// What was alive when the most was allocated: what the trace saw allocated and not yet freed, and what is older than
/// the trace, which is known by its stack if it is still alive and as a sum if it was freed later.
pub(super) fn alive_at_peak(
    segments: &[&Segment],
    trace: &Trace,
    stacks: &Stacks,
    heap: &Heap,
) -> Vec<AllocationCluster> {
    let mut sums: HashMap<StackId, Sum> = HashMap::new();
    let (by_stack, freed_before) = trace.at_peak();
    for (stack, level) in by_stack {
        sums.entry(stack)
            .or_default()
            .add(bytes(level.bytes), bytes(level.count));
    }
    for block in allocated(segments).filter(|block| !is_of_trace(trace, block)) {
        sums.entry(block.stack).or_default().add(block.size, 1);
    }
    let older = bytes(trace.freed_unseen.bytes.saturating_add(freed_before.bytes));
    if older > 0 {
        let count = bytes(trace.freed_unseen.count.saturating_add(freed_before.count));
        sums.entry(StackId::NONE).or_default().add(older, count);
    }
    largest(sums, false, stacks, heap)
}

fn allocated<'a>(segments: &'a [&Segment]) -> impl Iterator<Item = &'a Block> {
    segments
        .iter()
        .flat_map(|segment| &segment.blocks)
        .filter(|block| block.state == State::Allocated)
}

fn is_of_trace(trace: &Trace, block: &Block) -> bool {
    block.address.is_some_and(|address| trace.live.contains_key(&address))
}

/// The part of the trace, counted from 1, that allocated a block; 0 for what is older.
fn part(trace: &Trace, block: &Block) -> usize {
    let live = block.address.and_then(|address| trace.live.get(&address));
    live.map_or(0, |live| {
        (live.event.saturating_mul(PARTS) / trace.events.max(1)).min(PARTS - 1) as usize + 1
    })
}

fn largest(sums: HashMap<StackId, Sum>, growth: bool, stacks: &Stacks, heap: &Heap) -> Vec<AllocationCluster> {
    let mut sums: Vec<(StackId, Sum)> = sums.into_iter().collect();
    sums.sort_by_key(|(stack, sum)| (std::cmp::Reverse(sum.bytes), *stack));
    sums.truncate(CLUSTERS);
    let clusters = sums.into_iter().map(|(stack, sum)| AllocationCluster {
        bytes: sum.bytes,
        count: sum.count,
        growth: if growth { running_sum(&sum.by_part) } else { Vec::new() },
        frames: stacks.render(heap, stack, FRAMES),
    });
    clusters.collect()
}

fn running_sum(parts: &[u64]) -> Vec<u64> {
    let add = |sum: &mut u64, part: &u64| {
        *sum = sum.saturating_add(*part);
        Some(*sum)
    };
    parts.iter().scan(0, add).collect()
}

/// A difference that is a level once everything is added up: negative only in a damaged file.
fn bytes(level: i64) -> u64 {
    u64::try_from(level).unwrap_or(0)
}
