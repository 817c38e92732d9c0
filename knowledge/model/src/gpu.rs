//! What a GPU core dump says.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Hex;

/// One device of one GPU core dump. The members about a fault are those of the first fault.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct GpuCore {
    /// The artifact this was read from.
    pub artifact: String,
    /// Device index.
    pub device: u32,
    /// Exception name without the `CUDBG_EXCEPTION_` prefix, such as `WARP_ILLEGAL_ADDRESS`.
    pub exception: Option<String>,
    /// Demangled kernel name.
    pub kernel: Option<String>,
    /// Offset of the faulting instruction in the kernel.
    pub offset: Option<Hex>,
    /// Source file of that instruction, where the cubin has line tables.
    pub file: Option<String>,
    /// Line in `file`.
    pub line: Option<u32>,
    /// Block index of the faulting thread.
    #[schema(min_items = 3, max_items = 3)]
    pub block: Option<[u32; 3]>,
    /// Thread index within its block.
    #[schema(min_items = 3, max_items = 3)]
    pub thread: Option<[u32; 3]>,
    /// Address of the faulting instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pc: Option<Hex>,
    /// What the launch asked for: blocks of the grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 3, max_items = 3)]
    pub grid_size: Option<[u32; 3]>,
    /// Threads of a block.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 3, max_items = 3)]
    pub block_size: Option<[u32; 3]>,
    /// Product name, such as `NVIDIA H100 80GB HBM3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Architecture, such as `sm_90`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// Driver version, such as `575.57`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// All faults: one per warp that stopped with an exception (bounded), in order of multiprocessor and warp.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<GpuFault>,
    /// What all resident warps were doing, most warps first (bounded).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warps: Vec<WarpGroup>,
}

/// One warp that stopped with an exception.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct GpuFault {
    /// Exception name without the `CUDBG_EXCEPTION_` prefix.
    pub exception: Option<String>,
    /// Streaming multiprocessor.
    pub sm: u32,
    /// Warp on that multiprocessor.
    pub warp: u32,
    /// Lane in the warp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<u32>,
    /// Block index.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 3, max_items = 3)]
    pub block: Option<[u32; 3]>,
    /// Thread index within its block.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 3, max_items = 3)]
    pub thread: Option<[u32; 3]>,
    /// Address of the instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pc: Option<Hex>,
    /// Demangled kernel name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Offset of the instruction in the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<Hex>,
}

/// Warps that were at the same place of the same kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct WarpGroup {
    /// Demangled kernel name.
    pub kernel: Option<String>,
    /// Offset in the kernel of the first active lane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<Hex>,
    /// Number of warps.
    pub count: u64,
    /// Number of these that stopped with an exception.
    pub faulted: u64,
}
