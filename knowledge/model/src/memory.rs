//! GPU memory as the caching allocator saw it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::UsageCurve;
use crate::Hex;

/// One device of one `PyTorch` CUDA memory snapshot. All sizes are bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expandable_segments: Option<bool>,
    /// How many requests failed, as far as the trace reaches back.
    #[serde(skip_serializing_if = "is_zero")]
    pub oom_events: u64,
    /// The failed request (the last one), when the trace has an `oom` event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oom: Option<OomRequest>,
    /// Live memory grouped by the stack that allocated it, largest first (bounded).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<AllocationCluster>,
    /// Memory by what the allocator will reuse it for: a free block serves only its own stream, pool and size class.
    /// Most reserved first (bounded).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolUsage>,
    /// The moment of `peak_allocated` and what was alive then, when a trace was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<Peak>,
    /// Allocated bytes over the recorded trace, at a glance: at most 512 rows. [`MemoryCurve`] has more detail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageCurve>,
    /// The allocator's settings as written in the snapshot.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub settings: serde_json::Map<String, serde_json::Value>,
}

/// The allocated bytes of one device over the recorded trace in more detail than [`MemorySnapshot::usage`] has, for
/// zooming in.
///
/// Together they are a pyramid: each level merges the rows of the finer one before it two by two, `usage` those of the
/// last level here, and [`UsageCurve::pyramid`] goes on from there. A drawing takes the coarsest level that still has a
/// row per pixel of the stretch it shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct MemoryCurve {
    /// The artifact this was read from.
    pub artifact: String,
    /// Device index.
    pub device: u32,
    /// Finest first, the first with at most 4096 rows.
    pub levels: Vec<UsageCurve>,
}

/// An allocation that the allocator could not serve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_us: Option<u64>,
    /// Index of the event in the device's trace.
    pub trace_event: u64,
    /// Where the program asked, innermost first, as `function (file:line)`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<String>,
}

/// Segments that one kind of request can be served from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct PoolUsage {
    /// The stream whose requests may use it.
    pub stream: Hex,
    /// Private pool (CUDA graphs), or absent for the default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 2, max_items = 2)]
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

/// The moment at which most was allocated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Peak {
    /// Bytes allocated.
    pub allocated: u64,
    /// Index of the event in the device's trace that reached it; absent when it was reached before recording began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_event: Option<u64>,
    /// Microseconds since the epoch, where the trace has times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_us: Option<u64>,
    /// What was alive, by the stack that allocated it, largest first (bounded). Sizes of what was freed later are as
    /// the program asked for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<AllocationCluster>,
}

/// Live blocks that one stack allocated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct AllocationCluster {
    /// Bytes alive.
    pub bytes: u64,
    /// Blocks alive.
    pub count: u64,
    /// For memory alive at the end of a trace: how much of it was there when recording began, and after each further
    /// eighth of the trace's events. A leak climbs steadily; weights and caches are there from the start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub growth: Vec<u64>,
    /// The allocating stack, innermost first, uninteresting frames left out, as `function (file:line)`.
    pub frames: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
