//! Made from the evidence model by `make contract`: mend the type there, and not here.

use serde::Deserialize;

use super::Hex;

/// Live blocks that one stack allocated.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct AllocationCluster {
    /// Bytes alive.
    pub bytes: u64,
    /// Blocks alive.
    pub count: u64,
    /// For memory alive at the end of a trace: how much of it was there when recording began, and after each further
    /// eighth of the trace's events. A leak climbs steadily; weights and caches are there from the start.
    pub growth: Vec<u64>,
    /// The allocating stack, innermost first, uninteresting frames left out, as `function (file:line)`.
    pub frames: Vec<String>,
}

/// An address that the GPU faulted at, looked up in a memory snapshot.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct FaultAddress {
    /// The address.
    pub address: Hex,
    /// Number of the event that tells it.
    pub event: u64,
    /// The snapshot.
    pub artifact: String,
    /// Device index in the snapshot.
    pub device: u32,
    /// What the address belonged to.
    pub state: MemoryState,
    /// The range that it lies in; outside of all of them, the nearest one that was in use.
    pub block: Option<FaultBlock>,
}

/// A range of device memory at or near a fault.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct FaultBlock {
    /// Its first address.
    pub address: Hex,
    /// Its length.
    pub bytes: u64,
    /// Bytes from its first address to the fault; negative where the fault lies before it.
    pub offset: i64,
    /// The stream that it was allocated for.
    pub stream: Hex,
    /// The stack that allocated it, innermost first, as `function (file:line)`.
    pub allocated_by: Vec<String>,
    /// The stack that freed it, likewise.
    pub freed_by: Vec<String>,
    /// The trace entry that freed it.
    pub freed_event: Option<u64>,
    /// Trace entries that followed that one.
    pub events_since: Option<u64>,
    /// When it was freed, in microseconds since the epoch.
    pub freed_us: Option<u64>,
}

/// One device of one `PyTorch` CUDA memory snapshot. All sizes are bytes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct MemorySnapshot {
    /// The artifact this was read from.
    pub artifact: String,
    /// Device index.
    pub device: u32,
    /// Sum of segment sizes: what the allocator holds from the driver.
    pub reserved: u64,
    /// Sum of blocks in state `active_allocated`.
    pub allocated: u64,
    /// `allocated` plus blocks freed by the program that another stream may still use (`active_pending_free`).
    pub active: u64,
    /// What the program asked for in the blocks counted in `active`, before rounding.
    pub requested: u64,
    /// Number of segments.
    pub segments: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Number of trace entries.
    pub events: u64,
    /// Highest `allocated` over the recorded trace, replayed backwards from the final state; equal to `allocated`
    /// when nothing was recorded.
    pub peak_allocated: u64,
    /// Highest `active` over the recorded trace, likewise: memory counts until its free is completed.
    pub peak_active: u64,
    /// Sum of inactive blocks: free, but held.
    pub inactive: u64,
    /// The largest inactive block.
    pub largest_inactive: u64,
    /// Bytes in blocks waiting for another stream.
    pub pending_free: u64,
    /// Bytes reserved in segments of private pools (CUDA graphs).
    pub private_pools: u64,
    /// True when the allocator ran with expandable segments (by its settings, or by the segments).
    pub expandable_segments: Option<bool>,
    /// How many requests failed, as far as the trace reaches back.
    pub oom_events: u64,
    /// The failed request (the last one), when the trace has an `oom` event.
    pub oom: Option<OomRequest>,
    /// Live memory grouped by the stack that allocated it, largest first (bounded).
    pub clusters: Vec<AllocationCluster>,
    /// Memory by what the allocator will reuse it for: a free block serves only its own stream, pool and size class.
    /// Most reserved first (bounded).
    pub pools: Vec<PoolUsage>,
    /// The moment of `peak_allocated` and what was alive then, when a trace was recorded.
    pub peak: Option<Peak>,
    /// Allocated bytes over the recorded trace, at a glance: at most 512 rows. `MemoryCurve` has more detail.
    pub usage: Option<UsageCurve>,
    /// The allocator's settings as written in the snapshot.
    pub settings: serde_json::Map<String, serde_json::Value>,
}

/// What had become of a range of device memory.
///
/// One of `allocated`, `pending`, `freed`, `returned`, `unused`, `outside`.
pub type MemoryState = String;

/// An allocation that the allocator could not serve.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct OomRequest {
    /// Bytes asked for.
    pub requested: u64,
    /// Bytes the device had free at that moment.
    pub device_free: u64,
    /// Stream the request was for.
    pub stream: Hex,
    /// Inactive bytes in segments that this request could have used (same stream, same pool).
    pub usable_inactive: u64,
    /// The largest of those blocks.
    pub largest_usable: u64,
    /// Bytes allocated at that moment.
    pub allocated: u64,
    /// Bytes reserved at that moment.
    pub reserved: u64,
    /// Microseconds since the epoch, where the trace has times.
    pub time_us: Option<u64>,
    /// Index of the event in the device's trace.
    pub trace_event: u64,
    /// Where the program asked, innermost first, as `function (file:line)`.
    pub frames: Vec<String>,
}

/// The moment at which most was allocated.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Peak {
    /// Bytes allocated.
    pub allocated: u64,
    /// Index of the event in the device's trace that reached it; absent when it was reached before recording began.
    pub trace_event: Option<u64>,
    /// Microseconds since the epoch, where the trace has times.
    pub time_us: Option<u64>,
    /// What was alive, by the stack that allocated it, largest first (bounded). Sizes of what was freed later are as
    /// the program asked for them.
    pub clusters: Vec<AllocationCluster>,
}

/// Segments that one kind of request can be served from.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PoolUsage {
    /// The stream whose requests may use it.
    pub stream: Hex,
    /// Private pool (CUDA graphs), or absent for the default one.
    pub private_pool: Option<[u64; 2]>,
    /// `small` (requests up to 1 MiB) or `large`.
    pub size_class: String,
    /// Bytes held from the driver.
    pub reserved: u64,
    /// Bytes in allocated blocks.
    pub allocated: u64,
    /// Bytes freed by the program that another stream may still use.
    pub pending_free: u64,
    /// Bytes in free blocks.
    pub inactive: u64,
    /// The largest free block.
    pub largest_inactive: u64,
}

/// A level over time as columns: one row per stretch of the trace, with the lowest and highest value in it, so that
/// no spike is lost however few rows there are.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct UsageCurve {
    /// Index of the first trace event of each stretch.
    pub event: Vec<u64>,
    /// When each stretch begins, in microseconds since the epoch; empty when the trace has no times.
    pub time_us: Vec<u64>,
    /// Lowest value in the stretch, in bytes.
    pub min: Vec<u64>,
    /// Highest value in the stretch, in bytes.
    pub max: Vec<u64>,
}
