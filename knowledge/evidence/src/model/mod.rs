//! The evidence model: what readers find, whatever the format it was found in.
//!
//! The JSON form is a public contract (the `evidence` member of a report document, and the facts a plugin reads).
//! Every field is optional to a consumer; enums may grow.

mod collective;
mod crash;
mod event;
mod gpu;
mod memory;
mod particulars;
mod place;
mod thread;
mod usage;

use serde::{Deserialize, Serialize};

pub use collective::*;
pub use crash::*;
pub use event::*;
pub use gpu::*;
pub use memory::*;
pub use particulars::*;
pub use place::*;
pub use thread::*;
pub use usage::*;

/// Everything the artifacts of one report say, merged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// The flight recorders of all ranks, matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collectives: Option<Collectives>,
    /// One per GPU core dump and device.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpu_cores: Vec<GpuCore>,
    /// All events in one order, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<Event>,
    /// What the collector wrote down: command, host, packages, GPUs, driver, limits.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub context: serde_json::Map<String, serde_json::Value>,
}
