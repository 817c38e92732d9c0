//! Takes frames, blocks and trace entries out of the pickle as they are completed.

use std::collections::{HashMap, hash_map};

use super::stacks::{StackId, Stacks};
use super::trace::Trace;
use crate::readers::pickle::{Fold, Folded, Heap, ListId, StringId, Value};

/// The members that frames, blocks and trace entries have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Action,
    Addr,
    Address,
    DeviceFree,
    Filename,
    Frames,
    History,
    Line,
    Name,
    PoolId,
    RealSize,
    RequestedSize,
    Size,
    State,
    Stream,
    TimeUs,
    Other,
}

const KEYS: usize = Key::Other as usize;

impl Key {
    fn new(name: &str) -> Self {
        match name {
            "action" => Self::Action,
            "addr" => Self::Addr,
            "address" => Self::Address,
            "device_free" => Self::DeviceFree,
            "filename" => Self::Filename,
            "frames" => Self::Frames,
            "history" => Self::History,
            "line" => Self::Line,
            "name" => Self::Name,
            "pool_id" => Self::PoolId,
            "real_size" => Self::RealSize,
            "requested_size" => Self::RequestedSize,
            "size" => Self::Size,
            "state" => Self::State,
            "stream" => Self::Stream,
            "time_us" => Self::TimeUs,
            _ => Self::Other,
        }
    }
}

/// The members of one dict by their key.
#[derive(Debug)]
struct Fields([Option<Value>; KEYS]);

impl Fields {
    fn get(&self, key: Key) -> Option<Value> {
        self.0.get(key as usize).copied().flatten()
    }

    fn number(&self, key: Key) -> Option<u64> {
        self.get(key).and_then(Value::as_u64)
    }
}

/// What a trace entry says happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Alloc,
    FreeRequested,
    FreeCompleted,
    SegmentAlloc,
    SegmentFree,
    SegmentMap,
    SegmentUnmap,
    Oom,
    /// `snapshot`, `annotate`, and what later versions add.
    Other,
}

impl Action {
    fn new(name: &str) -> Self {
        match name {
            "alloc" => Self::Alloc,
            "free_requested" | "free" => Self::FreeRequested,
            "free_completed" => Self::FreeCompleted,
            "segment_alloc" => Self::SegmentAlloc,
            "segment_free" => Self::SegmentFree,
            "segment_map" => Self::SegmentMap,
            "segment_unmap" => Self::SegmentUnmap,
            "oom" => Self::Oom,
            _ => Self::Other,
        }
    }
}

/// One entry of a device's trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub action: Action,
    /// 0 for an `oom` entry, which has none.
    pub address: u64,
    /// Bytes, as the program asked for them.
    pub size: u64,
    /// Free on the device; `oom` entries only.
    pub device_free: u64,
    pub stream: u64,
    /// Private pool, or zeros.
    pub pool: [u64; 2],
    pub time_us: Option<u64>,
    pub stack: StackId,
}

/// The three states a block can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Allocated,
    /// Freed by the program; another stream may still use it.
    Pending,
    Inactive,
}

/// One block of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Absent before 2.1: blocks tile their segment in order.
    pub address: Option<u64>,
    pub size: u64,
    pub requested: u64,
    pub state: State,
    pub stack: StackId,
}

/// Collects blocks and traces by the list they stand in.
#[derive(Debug, Default)]
pub(super) struct Collector {
    pub stacks: Stacks,
    pub blocks: HashMap<ListId, Vec<Block>>,
    pub traces: HashMap<ListId, Trace>,
    /// Entries after an out-of-memory entry that a trace keeps.
    event_cap: usize,
    keys: Vec<Option<Key>>,
    actions: Vec<Option<Action>>,
    /// What blocks and traces hold, in the units of [`Heap::held`].
    held: usize,
    /// Entries of traces beyond the cap.
    pub entries_omitted: u64,
}

/// A block in a list that grows by doubling, in the units of [`Heap::held`].
const BLOCK_UNITS: usize = (2 * size_of::<Block>()).div_ceil(32);
/// The first block of a list, with the list's place in the table.
const LIST_UNITS: usize = BLOCK_UNITS + 8;
/// Traces followed, one a device.
pub(super) const DEVICES: usize = 64;
/// Members of a block's owner that are looked at.
const OWNER_MEMBERS: usize = 32;

impl Collector {
    /// A collector whose traces keep at most `event_cap` entries after an out-of-memory entry.
    pub fn new(event_cap: usize) -> Self {
        Self {
            event_cap,
            ..Self::default()
        }
    }

    fn fields(&mut self, heap: &Heap, pairs: &[Value]) -> Fields {
        let mut fields = Fields([None; KEYS]);
        for [key, value] in pairs.as_chunks::<2>().0 {
            let Value::String(name) = key else { continue };
            let key = *memoized(&mut self.keys, *name, || Key::new(heap.string(*name)));
            if let Some(field) = fields.0.get_mut(key as usize) {
                *field = Some(*value);
            }
        }
        fields
    }

    fn frame(&mut self, heap: &Heap, fields: &Fields) -> Option<u32> {
        let (Value::String(function), Value::String(file)) = (fields.get(Key::Name)?, fields.get(Key::Filename)?)
        else {
            return None;
        };
        self.stacks
            .frame(heap, function, file, fields.number(Key::Line).unwrap_or(0))
    }

    fn entry(&mut self, heap: &mut Heap, fields: &Fields) -> Option<Entry> {
        let Value::String(action) = fields.get(Key::Action)? else {
            return None;
        };
        let pool = fields.get(Key::PoolId).and_then(|pool| pair(heap, pool));
        Some(Entry {
            action: *memoized(&mut self.actions, action, || Action::new(heap.string(action))),
            address: fields.number(Key::Addr).unwrap_or(0),
            size: fields.number(Key::Size)?,
            device_free: fields.number(Key::DeviceFree).unwrap_or(0),
            stream: fields.number(Key::Stream).unwrap_or(0),
            pool: pool.unwrap_or_default(),
            time_us: fields.number(Key::TimeUs),
            stack: self.stacks.stack(heap, fields.get(Key::Frames)),
        })
    }

    /// Hands an entry to the trace of its list.
    fn push_entry(&mut self, list: ListId, entry: &Entry) {
        let cap = self.event_cap;
        let trace = match (self.traces.len(), self.traces.entry(list)) {
            (_, hash_map::Entry::Occupied(known)) => known.into_mut(),
            (DEVICES.., hash_map::Entry::Vacant(_)) => {
                self.entries_omitted += 1;
                return;
            }
            (_, hash_map::Entry::Vacant(place)) => {
                self.held += Trace::new(cap).held();
                place.insert(Trace::new(cap))
            }
        };
        let before = trace.held();
        trace.push(entry);
        self.held = (self.held + trace.held()).saturating_sub(before);
    }

    fn block(&mut self, heap: &mut Heap, fields: &Fields) -> Option<Block> {
        let size = fields.number(Key::Size)?;
        let state = match heap.text(fields.get(Key::State)?)? {
            "active_allocated" => State::Allocated,
            // The documentation says the latter, the code writes the former.
            "active_pending_free" | "active_awaiting_free" => State::Pending,
            _ => State::Inactive,
        };
        // Up to 2.0 a block names its owners, the present one first, instead of having members of its own.
        let owner = fields
            .get(Key::History)
            .and_then(|history| heap.items(history)?.first().copied());
        let owner = owner.map(|owner| {
            let owner = heap.pairs(owner).take(OWNER_MEMBERS);
            let pairs: Vec<Value> = owner.flat_map(|(key, value)| [key, value]).collect();
            self.fields(heap, &pairs)
        });
        let inherited = |key| owner.as_ref().and_then(|owner| owner.get(key));
        let frames = fields.get(Key::Frames).or_else(|| inherited(Key::Frames));
        let requested = fields
            .number(Key::RequestedSize)
            .or_else(|| inherited(Key::RealSize).and_then(Value::as_u64));
        Some(Block {
            address: fields.number(Key::Address),
            size,
            requested: requested.unwrap_or(size),
            state,
            stack: self.stacks.stack(heap, frames),
        })
    }
}

impl Fold for Collector {
    fn dict(&mut self, heap: &mut Heap, parent: Option<Value>, pairs: &[Value]) -> Folded {
        let fields = self.fields(heap, pairs);
        if fields.get(Key::Filename).is_some() {
            return self.frame(heap, &fields).map_or(Folded::Kept, Folded::Replaced);
        }
        let Some(Value::List(list)) = parent else {
            return Folded::Kept;
        };
        if fields.get(Key::Action).is_some() {
            let Some(entry) = self.entry(heap, &fields) else {
                return Folded::Kept;
            };
            self.push_entry(list, &entry);
            return Folded::Consumed;
        }
        if fields.get(Key::State).is_some() {
            let Some(block) = self.block(heap, &fields) else {
                return Folded::Kept;
            };
            let blocks = self.blocks.entry(list).or_default();
            self.held += if blocks.is_empty() { LIST_UNITS } else { BLOCK_UNITS };
            blocks.push(block);
            return Folded::Consumed;
        }
        Folded::Kept
    }

    fn held(&self) -> usize {
        self.held + self.stacks.held()
    }
}

/// What a string means, worked out once per distinct string.
fn memoized<T>(known: &mut Vec<Option<T>>, name: StringId, work: impl FnOnce() -> T) -> &T {
    if known.len() <= name.index() {
        known.resize_with(name.index() + 1, || None);
    }
    known[name.index()].get_or_insert_with(work)
}

/// A pool id: a tuple of two numbers, or a list of two in hand-made files.
pub(super) fn pair(heap: &Heap, value: Value) -> Option<[u64; 2]> {
    match heap.items(value)? {
        [first, second] => Some([first.as_u64()?, second.as_u64()?]),
        _ => None,
    }
}
