//! GPU memory block by block, and the trace entry by entry, as far as they are kept.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Hex;

/// Blocks and trace entries of one device of a memory snapshot, for questions that sums do not answer. All sizes are
/// bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct MemoryDetail {
    /// The artifact this was read from.
    pub artifact: String,
    /// Device index.
    pub device: u32,
    /// By address; the largest where there are too many ([`super::MemorySnapshot::blocks`] counts all).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<MemoryBlock>,
    /// The entries before the last failed request, and those at the end of the trace
    /// ([`super::MemorySnapshot::events`] counts all).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<TraceEntry>,
    /// The stacks that these name, each innermost first, as `function (file:line)`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<Vec<String>>,
}

/// A piece of a segment, when the snapshot was taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct MemoryBlock {
    /// Where it begins.
    pub address: Hex,
    /// Its size.
    pub bytes: u64,
    /// What the program asked for, before rounding.
    pub requested: u64,
    /// `allocated`, `pending-free` (another stream may still use it) or `inactive`.
    pub state: String,
    /// Stream of its segment.
    pub stream: Hex,
    /// Private pool (CUDA graphs) of its segment, or absent for the default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 2, max_items = 2)]
    pub private_pool: Option<[u64; 2]>,
    /// The stack that allocated it, by its position in `stacks`; absent where nobody recorded it, or where there are
    /// too many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<u32>,
}

/// An entry of the trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct TraceEntry {
    /// Its place in the device's trace.
    pub number: u64,
    /// `alloc`, `free-requested`, `free-completed`, `segment-alloc`, `segment-free`, `segment-map`, `segment-unmap`,
    /// `failed` or `other`.
    pub action: String,
    /// What it is about; zero for a request that failed.
    pub address: Hex,
    /// As the program asked for them.
    pub bytes: u64,
    /// The stream it was for.
    pub stream: Hex,
    /// Private pool (CUDA graphs), or absent for the default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 2, max_items = 2)]
    pub private_pool: Option<[u64; 2]>,
    /// Microseconds since the epoch, where the trace has times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_us: Option<u64>,
    /// Where the program was, by its position in `stacks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<u32>,
}
