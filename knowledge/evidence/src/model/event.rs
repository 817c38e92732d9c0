//! Things that happened, as the artifacts tell them.

use serde::{Deserialize, Serialize};

use super::Place;

/// Something that happened, with where it is written and, as far as known, when and to whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Number of the event in the report's timeline; citations use it.
    pub event: usize,
    /// RFC 3339 time, where the artifact has one.
    #[serde(default)]
    pub time: Option<String>,
    /// Rank of the process, where known.
    #[serde(default)]
    pub rank: Option<u32>,
    /// Process id, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// What happened, with its typed particulars.
    #[serde(flatten)]
    pub what: What,
    /// False for an echo: a consequence of another event.
    #[serde(default)]
    pub primary: bool,
    /// The line that says it, shortened.
    #[serde(default)]
    pub text: String,
    /// The artifact that says it.
    #[serde(default)]
    pub artifact: String,
    /// Where in that artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
}

/// The kinds of events, with their particulars. In JSON: `"kind": "cuda-oom", "detail": {…}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "detail", rename_all = "kebab-case")]
pub enum What {
    /// The caching allocator could not serve a request.
    CudaOom(CudaOom),
    /// A Python exception reached the top, or was printed.
    PythonException(PythonException),
    /// faulthandler printed its dump.
    FatalPythonError(FatalPythonError),
    /// A `DataLoader` worker died.
    DataloaderWorker(DataloaderWorker),
    /// A memory snapshot recorded a request that the caching allocator could not serve.
    SnapshotOom(SnapshotOom),
    /// The collector saw the process end.
    ProcessExit(ProcessExit),
}

/// An out-of-memory message of the caching allocator. Sizes are bytes, rounded as the message rounds them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CudaOom {
    /// `CUDA`, `HIP` or `XPU`.
    pub backend: String,
    /// Bytes asked for.
    pub requested: u64,
    /// Device index.
    pub gpu: Option<u32>,
    /// Total capacity of the device.
    pub capacity: Option<u64>,
    /// Free on the device.
    pub free: Option<u64>,
    /// Allocated by the program through the allocator.
    pub allocated: Option<u64>,
    /// Held by the allocator but not allocated.
    pub reserved_unallocated: Option<u64>,
    /// Of `allocated`, in private pools (CUDA graphs).
    pub private_pools: Option<u64>,
    /// What a memory fraction allows this process.
    pub allowed: Option<u64>,
    /// What this process holds on the device, everything included.
    pub this_process: Option<u64>,
    /// Other processes on the device, with what they hold.
    pub other_processes: Vec<ProcessMemory>,
}

/// A failed request as a memory snapshot recorded it. Sizes are exact bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SnapshotOom {
    /// Device index.
    pub gpu: u32,
    /// Bytes asked for.
    pub requested: u64,
    /// Free on the device.
    pub device_free: u64,
    /// Allocated by the program at that moment.
    pub allocated: u64,
    /// Held by the allocator at that moment.
    pub reserved: u64,
    /// Of that, free and usable for this request (same stream, pool and size class).
    pub usable_inactive: u64,
    /// The largest such block.
    pub largest_usable: u64,
}

/// What a process holds on a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessMemory {
    /// Process id (as seen from where the message was printed).
    pub pid: u32,
    /// Bytes held.
    pub bytes: u64,
}

/// A Python exception with its traceback.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PythonException {
    /// Class, with its module where printed: `torch.OutOfMemoryError`.
    pub exception: String,
    /// Message, possibly of several lines.
    pub message: String,
    /// The thread in [`crate::Evidence::threads`] that holds its frames.
    pub thread: Option<super::ThreadId>,
    /// `cause` (raise … from), `context` (during handling) or absent for the last one.
    pub relation: Option<String>,
}

/// The head line of a faulthandler dump.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FatalPythonError {
    /// Such as `Segmentation fault`.
    pub error: String,
    /// The signal that stands for.
    pub signal: Option<String>,
}

/// A `DataLoader` worker that died, as the parent tells it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DataloaderWorker {
    /// The worker's process id.
    pub pid: Option<u32>,
    /// The signal's description as printed, such as `Killed` or `Bus error`.
    pub signal: Option<String>,
    /// Exit code, when it exited.
    pub exit_code: Option<i32>,
    /// True when the message blames shared memory.
    pub shared_memory: bool,
}

/// The end of a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessExit {
    /// Signal name, such as `SIGSEGV`.
    pub signal: Option<String>,
    /// Exit code.
    pub exit_code: Option<i32>,
}
