//! What a GPU core dump says.

use serde::{Deserialize, Serialize};

use crate::Hex;

/// One device of one GPU core dump.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    pub block: Option<[u32; 3]>,
    /// Thread index within its block.
    pub thread: Option<[u32; 3]>,
}
