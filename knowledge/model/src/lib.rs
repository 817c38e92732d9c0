//! The evidence model: what readers find, whatever the format it was found in, and the words that all crates speak.
//!
//! The JSON form is a public contract (the `evidence` member of a report document, and the facts a plugin reads).
//! Every field is optional to a consumer; enums may grow.

mod artifact;
mod checks;
mod collective;
mod communicator;
mod crash;
mod event;
mod gpu;
mod hex;
mod memory;
mod memory_detail;
mod memory_map;
mod nearest;
mod particulars;
mod place;
mod problem;
mod recorder;
mod recorder_form;
mod series;
mod shorten;
mod text_end;
mod thread;
mod usage;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use artifact::*;
pub use checks::*;
pub use collective::*;
pub use communicator::*;
pub use crash::*;
pub use event::*;
pub use gpu::*;
pub use hex::*;
pub use memory::*;
pub use memory_detail::*;
pub use memory_map::*;
pub use nearest::*;
pub use particulars::*;
pub use place::*;
pub use problem::*;
pub use recorder::*;
pub use series::*;
pub use text_end::*;
pub use thread::*;
pub use usage::*;

/// Everything the artifacts of one report say, merged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Evidence {
    /// How the process ended, from the most direct witness there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crash: Option<Crash>,
    /// Threads of every process in the report: the crashed one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<Thread>,
    /// Binaries mapped into the process.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<Module>,
    /// One per CUDA memory snapshot and device.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_snapshots: Vec<MemorySnapshot>,
    /// Memory over time in detail, one for each of those snapshots that has more than fits in its overview.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_curves: Vec<MemoryCurve>,
    /// Blocks and trace entries, one for each of those snapshots, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_details: Vec<MemoryDetail>,
    /// Which addresses the allocator had given out, until those that the GPU faulted at are looked up.
    #[serde(skip)]
    pub memory_maps: Vec<MemoryMap>,
    /// Addresses that the GPU faulted at, and what the memory snapshots know of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fault_addresses: Vec<FaultAddress>,
    /// What ranks did together, judged from `recorders` and `communicators`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collectives: Option<Collectives>,
    /// The flight recorders, once they are read. They are stored as a part of their own and are no member of the
    /// document: there may be millions of entries, and what they say together is in `collectives`.
    #[serde(skip)]
    pub recorders: Vec<Recorder>,
    /// What NCCL itself knew of its communicators, one entry for each moment at which somebody asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub communicators: Vec<Communicator>,
    /// One per GPU core dump and device.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpu_cores: Vec<GpuCore>,
    /// Numbers that a training loop logged over its steps, such as its loss.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Series>,
    /// All events in one order, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<Event>,
    /// How the texts of programs end, the best signs first; of many texts the first ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub text_ends: Vec<TextEnd>,
    /// The processes, where artifacts tell of more than one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<Process>,
    /// What the collector wrote down: command, host, packages, GPUs, driver, limits. Of several processes' the first.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub context: serde_json::Map<String, serde_json::Value>,
}
