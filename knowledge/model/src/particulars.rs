//! What events say beyond their kind.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An out-of-memory message of the caching allocator. Sizes are bytes, rounded as the message rounds them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CudaOom {
    /// `CUDA`, `HIP`, `XPU` or `MPS`.
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProcessMemory {
    /// Process id (as seen from where the message was printed).
    pub pid: u32,
    /// Bytes held.
    pub bytes: u64,
}

/// A Python exception with its traceback.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct PythonException {
    /// Class, with its module where printed: `torch.OutOfMemoryError`.
    pub exception: String,
    /// Message, possibly of several lines.
    pub message: String,
    /// The thread in [`crate::Evidence::threads`] that holds its frames.
    pub thread: Option<super::ThreadId>,
    /// The line of the program that led to it, where the traceback quotes it: that of the innermost frame of the
    /// program's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What it is to the exception printed after it: `cause` (raise … from), `context` (during handling), `original`
    /// (a worker's own, brought to the parent), `group` (a member or the group around it); absent for the last one.
    pub relation: Option<String>,
    /// The thread or process the line before the traceback names, such as `Process SpawnProcess-1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// True when the interpreter only reported it (`Exception ignored in …`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ignored: bool,
}

/// The head line of a faulthandler dump.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct FatalPythonError {
    /// Such as `Segmentation fault`; `Timeout (…)` for a dump that a timer asked for, which kills nothing.
    pub error: String,
    /// The signal that stands for.
    pub signal: Option<String>,
    /// Extension modules that were loaded, as far as the dump lists them (Python 3.10 and later; bounded).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extension_modules: Vec<String>,
}

/// A `DataLoader` worker that died, as the parent tells it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ProcessExit {
    /// Signal name, such as `SIGSEGV`.
    pub signal: Option<String>,
    /// Exit code.
    pub exit_code: Option<i32>,
    /// True for the process of a job whose end led to that of the others, as the collector saw them end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub first: bool,
    /// Rank of that process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
}

/// A job that made no progress: what its processes waited in, and which of them the others waited for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Hang {
    /// `stopped` (a process was stopped by a signal), `gil` (a thread kept the interpreter's lock while it waited),
    /// `deadlock` (threads of a process waited for each other's locks), `apart` (a process waited elsewhere than the
    /// others), `together` (all waited in the same place), `alone` (there is one process) or `working` (nothing stood
    /// still: threads of the process that was looked at ran).
    pub family: String,
    /// Seconds without progress before the stacks were looked at; absent where somebody looked once, so that nobody
    /// knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_s: Option<u64>,
    /// How long the job stood still, as the beginning of a sentence.
    pub stood: String,
    /// What the threads of the process waited for, in a few sentences.
    pub account: String,
    /// Threads of the process that were looked at.
    pub threads: usize,
    /// Of those the ones that ran, and did not wait.
    pub running: usize,
    /// What the thread that this is about waited for: `lock`, `queue`, `thread`, `collective` and so on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
    /// The same in words, such as `a lock`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// Ranks that the others waited for; empty where that is not known.
    pub ranks: Vec<u32>,
    /// Rank of the first of these processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Innermost function that this process was in, of Python where it has one; of a process that waits by itself, the
    /// program's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Its source file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in `file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Of `gil`, the native function that was called there and waited with the lock, with its file and line where they
    /// are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<String>,
    /// The system call that it waited in, by name or number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The function that the others waited in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others_in: Option<String>,
    /// Whether the others waited in a collective.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub collective: bool,
    /// The thread whose stack that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<super::ThreadId>,
    /// Whether the job made progress again, or began to fail, before it ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub passed: bool,
}

/// Native code that gave up on its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct NativeAbort {
    /// `glibc`, `assertion`, `cpp-exception`, `pure-virtual`, `rust-panic`, `torch-check`, `pybind11`, `glog-fatal` or
    /// `stack-overflow`.
    pub family: String,
    /// What it says, such as `free(): double free detected in tcache 2` or the assertion's expression.
    pub message: String,
    /// Type of the C++ exception.
    pub exception: Option<String>,
    /// Source file, where printed.
    pub file: Option<String>,
    /// Line in `file`.
    pub line: Option<u32>,
    /// Function, or for Rust the thread's name.
    pub function: Option<String>,
    /// The thread in [`crate::Evidence::threads`] that holds its frames, when a stack was printed with it.
    pub thread: Option<super::ThreadId>,
}

/// Host memory that could not be had.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct HostOom {
    /// Bytes asked for, where printed.
    pub requested: Option<u64>,
    /// Who was refused: `DefaultCPUAllocator`, `numpy`, `pinned`, `malloc` or `mmap`.
    pub allocator: String,
}

/// A failure with shared memory, or with the file descriptors that carry it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct SharedMemory {
    /// What failed: `open`, `allocate`, `mmap`, `resize`, `write`, `descriptors` or `bus-error`.
    pub operation: String,
    /// The object's name.
    pub object: Option<String>,
    /// Bytes asked for.
    pub bytes: Option<u64>,
    /// The system's reason, as printed.
    pub reason: Option<String>,
}

/// A failed call into CUDA, HIP or one of their libraries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CudaError {
    /// `cuda`, `hip`, `driver`, `cublas`, `cudnn`, `cusolver`, `cusparse`, `cufft`, `curand` or `nvrtc`.
    pub api: String,
    /// Number of the error since CUDA 10.1, where printed or implied by the text.
    pub code: Option<u32>,
    /// Name, such as `cudaErrorIllegalAddress` or `CUBLAS_STATUS_ALLOC_FAILED`, where printed or implied.
    pub name: Option<String>,
    /// Text, such as `an illegal memory access was encountered`.
    pub message: String,
    /// The call that returned it, where printed.
    pub call: Option<String>,
    /// True when the context is dead after it: every later call of the process fails the same way.
    pub sticky: bool,
    /// Source file of the check, where printed.
    pub file: Option<String>,
    /// Line in `file`.
    pub line: Option<u32>,
}

/// A value of training that is no number any more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Divergence {
    /// `loss`, `gradient`, `logits` or `perplexity`.
    pub quantity: String,
    /// `nan`, `inf` or `infinity`.
    pub value: String,
    /// The step it is told of, where printed.
    pub step: Option<u64>,
    /// How many values in a row, up to the last one, are no numbers, where all of them are known.
    pub rows: Option<u64>,
}

/// What the last lines of a log say, where no traceback does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct LastWords {
    /// Who says it: `usage` (a parser of arguments), `shell`, `interpreter`, `container`, `loader` (of binaries),
    /// `threads` and `openmp` (libraries that need them), `driver`, `scheduler`, `build` (of an extension), `package`
    /// (an installer that finds none), `stopped` (whoever ends the program from outside), or a command by what it
    /// lacked: `network`, `refused`, `archive`, `disk`, `permission`, `files`, `memory` or `port`; of MPI's launcher
    /// and processes `peer` (another one is gone) or `unreachable`; and of every other line that says that
    /// something failed `error` where its logger gave it that level, and `complaint`, which is never primary, where only
    /// its words say so.
    pub family: String,
    /// The line.
    pub message: String,
}

impl LastWords {
    /// The family of a line that its logger calls an error.
    pub const ERROR: &str = "error";
    /// The family of a line whose words say that something failed.
    pub const COMPLAINT: &str = "complaint";
}

/// A failed assertion in a GPU kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct DeviceAssert {
    /// Source file.
    pub file: String,
    /// Line in `file`.
    pub line: u32,
    /// Kernel or device function.
    pub function: String,
    /// What should have held.
    pub expression: String,
    /// Block index of the first thread that failed; zeros where the runtime tells none, as HIP's.
    #[schema(min_items = 3, max_items = 3)]
    pub block: [u32; 3],
    /// Index of the first thread that failed in its block; zeros where the runtime tells none.
    #[schema(min_items = 3, max_items = 3)]
    pub thread: [u32; 3],
    /// How many threads failed the same assertion.
    pub count: u64,
}

/// An exception on a device, as the driver's core dump progress tells it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct GpuException {
    /// Name without the `CUDBG_EXCEPTION_` prefix.
    pub exception: String,
    /// Its number.
    pub code: u32,
    /// Device index.
    pub device: Option<u32>,
    /// Streaming multiprocessor.
    pub sm: Option<u32>,
    /// Warp on that multiprocessor.
    pub warp: Option<u32>,
    /// Address of the faulting instruction.
    pub pc: Option<crate::Hex>,
    /// Kernel (the outermost printed frame), demangled by nobody: as printed.
    pub kernel: Option<String>,
    /// Path of the core dump that was written.
    pub core: Option<String>,
}

/// A failed NCCL call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct NcclError {
    /// Name of the result, such as `ncclSystemError`.
    pub result: Option<String>,
    /// Text, such as `unhandled system error`.
    pub message: String,
    /// NCCL version, where printed.
    pub version: Option<String>,
    /// NCCL's last warning, where printed with it.
    pub last_error: Option<String>,
    /// Source file of the check.
    pub file: Option<String>,
    /// Line in `file`.
    pub line: Option<u32>,
}

/// A warning, or an error path, of NCCL's own log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct NcclWarning {
    /// Host name.
    pub host: String,
    /// CUDA device index of the communicator.
    pub device: Option<i32>,
    /// Source position, such as `transport/net_ib.cc:93`.
    pub source: Option<String>,
    /// What it says.
    pub message: String,
    /// `net-ib`, `net-socket`, `shm`, `version`, `cuda`, `duplicate-gpu`, `ras`, `path` or `other`; of what the RAS
    /// client answered `ras-dead` or `ras-unresponsive`; of errors of other libraries that move data between nodes
    /// `ucx` or `libfabric`.
    pub family: String,
}

/// What a process group's watchdog or heartbeat monitor said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Watchdog {
    /// `timeout` (a collective took too long), `failure` (it saw an error), `stuck` (the watchdog itself made no
    /// progress), `gil` (could not get the interpreter lock), `dump-signal` (another rank asked for a dump) or
    /// `teardown` (it takes the process down).
    pub family: String,
    /// Process group name.
    pub group: Option<String>,
    /// Process group description, such as `default_pg`.
    pub description: Option<String>,
    /// Sequence number of the collective.
    pub sequence: Option<u64>,
    /// Operation, such as `ALLREDUCE`.
    pub operation: Option<String>,
    /// Elements in.
    pub elements_in: Option<u64>,
    /// Elements out.
    pub elements_out: Option<u64>,
    /// The timeout in milliseconds.
    pub timeout_ms: Option<u64>,
    /// How long it ran, in milliseconds.
    pub ran_ms: Option<u64>,
    /// Last collective the rank enqueued (-1: none).
    pub last_enqueued: Option<i64>,
    /// Last collective the rank completed (-1: none).
    pub last_completed: Option<i64>,
}

/// Ranks that did not do the same thing, as one of them tells it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CollectiveMismatch {
    /// `desync` (the watchdog's report), `fingerprint` (`TORCH_DISTRIBUTED_DEBUG=DETAIL`), `monitored-barrier`,
    /// `parameter-shape` (a model that differs across ranks) or `gloo-size`.
    pub family: String,
    /// The ranks that lag, are missing or differ.
    pub ranks: Vec<u32>,
    /// Sequence number, where printed.
    pub sequence: Option<u64>,
    /// What differs, as printed.
    pub detail: String,
}

/// A failed connection of a store or a rendezvous.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Rendezvous {
    /// `connect`, `receive`, `send`, `wait`, `join` or `listen`.
    pub operation: String,
    /// The other end or the address listened on, where printed.
    pub peer: Option<String>,
    /// The reason, as printed.
    pub reason: String,
}

/// What `DistributedDataParallel` or autograd refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Autograd {
    /// `unused-parameters`, `ready-twice`, `inplace`, `backward-twice` or `nan`.
    pub family: String,
    /// Indices or names of the parameters it is about.
    pub parameters: Vec<String>,
    /// The message's own particulars, as printed.
    pub detail: String,
}

/// One worker's failure as torchelastic reports it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ElasticFailure {
    /// Rank on its host.
    pub local_rank: Option<u32>,
    /// Host name.
    pub host: Option<String>,
    /// Exit code; a negative one is a signal.
    pub exit_code: Option<i32>,
    /// Signal name.
    pub signal: Option<String>,
    /// True for the failure torchelastic observed first ("Root Cause").
    pub root: bool,
    /// The exception or signal line it gives.
    pub message: String,
    /// Path of the error file, where there is one.
    pub error_file: Option<String>,
}

/// An Xid of the NVIDIA driver, or an `SXid` of an `NVSwitch`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Xid {
    /// Error number.
    pub code: u32,
    /// True for an `SXid`.
    pub nvswitch: bool,
    /// PCI address as printed.
    pub pci: String,
    /// Name of the process it names.
    pub process: Option<String>,
    /// The rest of the line.
    pub message: String,
    /// Severity word of an `SXid`, such as `Fatal`.
    pub severity: Option<String>,
    /// The Xid that this one follows from, where the driver says so.
    pub caused_by: Option<u32>,
    /// How many equal lines (same device and code) followed each other.
    pub count: u64,
}

/// A line of the kernel's log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Kernel {
    /// `segfault`, `trap`, `oom-kill`, `soft-lockup`, `hung-task`, `memory-failure`, `fallen-off-bus`, `nvrm`,
    /// `fabric-manager` (NVIDIA's daemon for the switches between GPUs), `storage` (a disk that failed, or a
    /// file system that gave up), `iommu` (a GPU was kept from memory), `gpu-page-fault` (a GPU
    /// met an address that is not mapped for it, as AMD's driver tells it) or `hardware`.
    pub family: String,
    /// Name of the process or task.
    pub process: Option<String>,
    /// Fault address.
    pub address: Option<crate::Hex>,
    /// Instruction pointer.
    pub ip: Option<crate::Hex>,
    /// Stack pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sp: Option<crate::Hex>,
    /// `read`, `write` or `execute`.
    pub access: Option<String>,
    /// The object the instruction pointer is in.
    pub object: Option<String>,
    /// Offset of the instruction in that object's file.
    pub offset: Option<crate::Hex>,
    /// For an OOM kill: the victim's resident anonymous memory in bytes.
    pub rss: Option<u64>,
    /// For an OOM kill: true when a memory cgroup's limit was the reason.
    pub cgroup: Option<bool>,
    /// Seconds a CPU or task was stuck.
    pub seconds: Option<u64>,
    /// The line without its prefixes.
    pub message: String,
}

/// An error a sanitizer reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Sanitizer {
    /// `compute-sanitizer`, `asan`, `ubsan`, `tsan`, `lsan`, `msan` or `memcheck` (Valgrind's).
    pub tool: String,
    /// Such as `heap-use-after-free`, `Invalid __global__ read`, `data race`.
    pub error: String,
    /// `read`, `write` or `atomic`.
    pub access: Option<String>,
    /// Bytes accessed or leaked.
    pub size: Option<u64>,
    /// The address.
    pub address: Option<crate::Hex>,
    /// How the address relates to memory, as printed.
    pub relation: Option<String>,
    /// Kernel or function.
    pub function: Option<String>,
    /// Source file.
    pub file: Option<String>,
    /// Line in `file`.
    pub line: Option<u32>,
    /// GPU block index.
    #[schema(min_items = 3, max_items = 3)]
    pub block: Option<[u32; 3]>,
    /// GPU thread index in its block.
    #[schema(min_items = 3, max_items = 3)]
    pub thread: Option<[u32; 3]>,
    /// How many equal reports.
    pub count: u64,
    /// The thread in [`crate::Evidence::threads`] that holds its frames.
    pub stack: Option<super::ThreadId>,
}
