//! What the caching allocator knew of the addresses of a device.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Hex;

/// The addresses of one device, as one memory snapshot knows them. It is needed until what the GPU faulted at is looked
/// up; what it says of that stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryMap {
    /// The artifact this was read from.
    pub artifact: String,
    /// Device index.
    pub device: u32,
    /// Entries of the recorded trace.
    pub events: u64,
    /// The latest first, of those that overlap: a place belongs to the first one that it lies in (bounded).
    pub ranges: Vec<MemoryRange>,
    /// Stacks that the ranges refer to, innermost frame first, as `function (file:line)`.
    pub stacks: Vec<Vec<String>>,
}

/// A range of addresses, and what had become of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryRange {
    /// Its first address.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
    /// What it was when the snapshot was taken, or what had last been done with it.
    pub state: MemoryState,
    /// The stream that it was allocated for.
    pub stream: u64,
    /// The stack that allocated it, among [`MemoryMap::stacks`].
    pub allocated_by: Option<usize>,
    /// The stack that freed it, likewise.
    pub freed_by: Option<usize>,
    /// The trace entry that freed it.
    pub freed_event: Option<u64>,
    /// When that was, in microseconds since the epoch.
    pub freed_us: Option<u64>,
}

/// What had become of a range of device memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryState {
    /// In use.
    Allocated,
    /// Freed by the program; another stream may still use it.
    Pending,
    /// Freed, and the allocator still holds it.
    Freed,
    /// Freed, and given back to the driver: nobody may touch it.
    Returned,
    /// The allocator holds it, and nothing tells of an owner.
    Unused,
    /// The allocator never had it, as far as the snapshot reaches back.
    #[default]
    Outside,
}

/// An address that the GPU faulted at, looked up in a memory snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct FaultAddress {
    /// The address.
    pub address: Hex,
    /// Number of the event that tells it.
    pub event: usize,
    /// The snapshot.
    pub artifact: String,
    /// Device index in the snapshot.
    pub device: u32,
    /// What the address belonged to.
    pub state: MemoryState,
    /// The range that it lies in; outside of all of them, the nearest one that was in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<FaultBlock>,
}

/// A range of device memory at or near a fault.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allocated_by: Vec<String>,
    /// The stack that freed it, likewise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub freed_by: Vec<String>,
    /// The trace entry that freed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freed_event: Option<u64>,
    /// Trace entries that followed that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events_since: Option<u64>,
    /// When it was freed, in microseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freed_us: Option<u64>,
}
