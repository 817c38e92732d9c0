//! GPU memory as the caching allocator saw it.

use serde::{Deserialize, Serialize};

use crate::Hex;

/// One device of one `PyTorch` CUDA memory snapshot. All sizes are bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// What the program asked for in the allocated blocks, before rounding.
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
    /// The failed request, when the trace has an `oom` event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oom: Option<OomRequest>,
    /// Live memory grouped by the stack that allocated it, largest first (bounded).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<AllocationCluster>,
    /// The allocator's settings as written in the snapshot.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub settings: serde_json::Map<String, serde_json::Value>,
}

/// An allocation that the allocator could not serve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Where the program asked, innermost first, as `function (file:line)`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<String>,
}

/// Live blocks that one stack allocated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AllocationCluster {
    /// Bytes alive.
    pub bytes: u64,
    /// Blocks alive.
    pub count: u64,
    /// The allocating stack, innermost first, uninteresting frames left out, as `function (file:line)`.
    pub frames: Vec<String>,
}
