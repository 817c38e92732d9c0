//! The allocator's final state: segments and the blocks that tile them.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::fold::{Block, State, pair};
use crate::Hex;
use crate::model::PoolUsage;
use crate::readers::pickle::{Heap, ListId, Value};

/// What a request must share with a segment to be served from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct PoolKey {
    pub stream: u64,
    pub pool: [u64; 2],
    /// Segments for requests up to 1 MiB are kept apart.
    pub small: bool,
}

/// Requests up to this many bytes are served from small segments (`kSmallSize` of the allocator).
pub(super) const SMALL_REQUEST: u64 = 1 << 20;

/// One range the allocator holds from the driver.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub device: u32,
    pub address: u64,
    pub size: u64,
    pub key: PoolKey,
    pub expandable: Option<bool>,
    /// With addresses, in address order.
    pub blocks: Vec<Block>,
    /// The segment's own totals, for files without blocks.
    stated: [Option<u64>; 3],
}

/// Sums over segments, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub reserved: u64,
    pub allocated: u64,
    pub active: u64,
    pub requested: u64,
    pub pending: u64,
    pub inactive: u64,
    pub largest_inactive: u64,
    pub private_pools: u64,
    pub blocks: u64,
}

/// Reads the segments of a snapshot; `blocks` holds what was folded away from each list.
pub(super) fn segments(heap: &Heap, root: Value, blocks: &mut HashMap<ListId, Vec<Block>>) -> Vec<Segment> {
    // `torch.cuda.memory_snapshot()` gives the list of segments alone, and some people pickle that.
    let list = heap.get(root, "segments").unwrap_or(root);
    let items = heap.items(list).unwrap_or_default();
    // A segment is listed once. A damaged file may name one again and again.
    let mut seen = HashSet::new();
    items
        .iter()
        .filter(|segment| matches!(segment, Value::Dict(id) if seen.insert(*id)))
        .filter_map(|segment| read(heap, *segment, blocks))
        .collect()
}

fn read(heap: &Heap, segment: Value, blocks: &mut HashMap<ListId, Vec<Block>>) -> Option<Segment> {
    let number = |key| heap.get(segment, key).and_then(Value::as_u64);
    let address = number("address").unwrap_or(0);
    let mut blocks = match heap.get(segment, "blocks") {
        Some(Value::List(list)) => blocks.remove(&list).unwrap_or_default(),
        _ => Vec::new(),
    };
    let mut next = address;
    for block in &mut blocks {
        let start = *block.address.get_or_insert(next);
        next = start.saturating_add(block.size);
    }
    let small = heap.get(segment, "segment_type").and_then(|kind| heap.text(kind)) == Some("small");
    let pool = heap.get(segment, "segment_pool_id").and_then(|pool| pair(heap, pool));
    Some(Segment {
        device: number("device")
            .and_then(|device| u32::try_from(device).ok())
            .unwrap_or(0),
        address,
        size: number("total_size")?,
        key: PoolKey {
            stream: number("stream").unwrap_or(0),
            pool: pool.unwrap_or_default(),
            small,
        },
        expandable: heap.get(segment, "is_expandable").and_then(Value::as_bool),
        blocks,
        stated: [
            number("allocated_size"),
            number("active_size"),
            number("requested_size"),
        ],
    })
}

impl Totals {
    /// Sums by `PyTorch`'s own definitions: allocated blocks; active ones, which include those waiting for another
    /// stream; and what was asked for in active blocks.
    pub fn of<'a>(segments: impl IntoIterator<Item = &'a Segment>) -> Self {
        let mut totals = Self::default();
        for segment in segments {
            totals.add(segment);
        }
        totals
    }

    fn add(&mut self, segment: &Segment) {
        let add = |sum: &mut u64, bytes: u64| *sum = sum.saturating_add(bytes);
        add(&mut self.reserved, segment.size);
        self.blocks += segment.blocks.len() as u64;
        if segment.key.pool != [0, 0] {
            add(&mut self.private_pools, segment.size);
        }
        if segment.blocks.is_empty() {
            let [allocated, active, requested] = segment.stated.map(Option::unwrap_or_default);
            add(&mut self.allocated, allocated);
            add(&mut self.active, active);
            add(&mut self.requested, requested);
        }
        for block in &segment.blocks {
            match block.state {
                State::Allocated => add(&mut self.allocated, block.size),
                State::Pending => add(&mut self.pending, block.size),
                State::Inactive => {
                    add(&mut self.inactive, block.size);
                    self.largest_inactive = self.largest_inactive.max(block.size);
                    continue;
                }
            }
            add(&mut self.active, block.size);
            add(&mut self.requested, block.requested);
        }
    }
}

/// Totals per pool, most reserved first, at most `cap`.
pub(super) fn pools(segments: &[&Segment], cap: usize) -> Vec<PoolUsage> {
    let mut by_key: BTreeMap<PoolKey, Totals> = BTreeMap::new();
    for segment in segments {
        by_key.entry(segment.key).or_default().add(segment);
    }
    let mut pools: Vec<PoolUsage> = by_key
        .into_iter()
        .map(|(key, totals)| PoolUsage {
            stream: Hex(key.stream),
            private_pool: (key.pool != [0, 0]).then_some(key.pool),
            size_class: if key.small { "small" } else { "large" }.to_owned(),
            reserved: totals.reserved,
            allocated: totals.allocated,
            pending_free: totals.pending,
            inactive: totals.inactive,
            largest_inactive: totals.largest_inactive,
        })
        .collect();
    pools.sort_by_key(|pool| std::cmp::Reverse(pool.reserved));
    pools.truncate(cap);
    pools
}
