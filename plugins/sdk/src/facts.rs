//! The evidence's JSON members as Rust types. All are read tolerantly: what is absent is the default, what is new is
//! ignored.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The particulars of a kind of event.
pub trait EventDetail: DeserializeOwned {
    /// The kind's name in the timeline.
    const KIND: &'static str;
}

/// How a process ended: the `crash` member.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Crash {
    /// Signal name, such as `SIGSEGV`.
    pub signal: Option<String>,
    /// Exit code of a process that ended by itself.
    pub exit_code: Option<i32>,
    /// The signal's code by name, such as `SEGV_MAPERR` (signal(7)).
    pub code: Option<String>,
    /// Address the fault was about, as hex.
    pub address: Option<String>,
    /// What that address tells, such as `null`, `unmapped`, `guard-page`, `read-only`, `non-canonical`, `not-code`.
    pub address_kind: Option<String>,
    /// `read`, `write` or `execute`.
    pub access: Option<String>,
    /// What the instruction at a SIGFPE could not do: `zero-divisor`, `quotient-overflow` or `floating-point`.
    pub arithmetic: Option<String>,
    /// The bytes of code at the faulting instruction, as hex.
    pub instruction: Option<String>,
    /// Process id.
    pub pid: Option<u32>,
    /// Rank of the process, where it is one of a distributed job and somebody saw it end or hang.
    pub rank: Option<u32>,
    /// Name of the executable.
    pub process: Option<String>,
    /// Last words, such as glibc's abort message.
    pub message: Option<String>,
    /// Where in a dump the message was found, such as `__abort_msg of libc.so.6` or `exception in memory`; absent for
    /// one from a log.
    pub message_source: Option<String>,
    /// The artifact that says so.
    pub artifact: String,
}

impl Crash {
    /// The fault address as a number.
    pub fn address(&self) -> Option<u64> {
        let text = self.address.as_deref()?;
        u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
    }
}

/// An out-of-memory message of the caching allocator. Sizes are bytes, rounded as the message rounds them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
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

impl EventDetail for CudaOom {
    const KIND: &'static str = "cuda-oom";
}

/// What a process holds on a device, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ProcessMemory {
    /// Process id.
    pub pid: u32,
    /// Bytes held.
    pub bytes: u64,
}

/// A Python exception.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PythonException {
    /// Class, with its module where printed.
    pub exception: String,
    /// Message, possibly of several lines.
    pub message: String,
    /// `cause`, `context`, or absent for the one that reached the top.
    pub relation: Option<String>,
}

impl EventDetail for PythonException {
    const KIND: &'static str = "python-exception";
}

/// The head line of a faulthandler dump.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct FatalPythonError {
    /// Such as `Segmentation fault`.
    pub error: String,
    /// The signal that stands for.
    pub signal: Option<String>,
}

impl EventDetail for FatalPythonError {
    const KIND: &'static str = "fatal-python-error";
}

/// A `DataLoader` worker that died, as the parent tells it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct DataloaderWorker {
    /// The worker's process id.
    pub pid: Option<u32>,
    /// The signal's description as printed, such as `Killed`.
    pub signal: Option<String>,
    /// Exit code, when it exited.
    pub exit_code: Option<i32>,
    /// True when the message blames shared memory.
    pub shared_memory: bool,
}

impl EventDetail for DataloaderWorker {
    const KIND: &'static str = "dataloader-worker";
}

/// The end of a process.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ProcessExit {
    /// Signal name.
    pub signal: Option<String>,
    /// Exit code.
    pub exit_code: Option<i32>,
    /// True for the process of a job whose end led to that of the others, as the collector saw them end.
    pub first: bool,
    /// Rank of that process.
    pub rank: Option<u32>,
}

impl EventDetail for ProcessExit {
    const KIND: &'static str = "process-exit";
}

/// A job that made no progress: what its processes waited in, and which of them the others waited for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Hang {
    /// `stopped`, `gil`, `apart`, `together` or `alone`.
    pub family: String,
    /// Seconds without progress before the stacks were looked at.
    pub idle_s: u64,
    /// Ranks that the others waited for; empty where that is not known.
    pub ranks: Vec<u32>,
    /// Rank of the first of these processes.
    pub rank: Option<u32>,
    /// Innermost function that this process was in, of Python where it has one.
    pub function: Option<String>,
    /// Its source file.
    pub file: Option<String>,
    /// The line in `file`.
    pub line: Option<u32>,
    /// Of `gil`, the native function that was called there and waited with the lock.
    pub native: Option<String>,
    /// The system call that it waited in.
    pub call: Option<String>,
    /// The function that the others waited in.
    pub others_in: Option<String>,
    /// Whether the others waited in a collective.
    pub collective: bool,
}

impl EventDetail for Hang {
    const KIND: &'static str = "hang";
}

/// Native code that gave up on its own.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct NativeAbort {
    /// `glibc`, `assertion`, `cpp-exception`, `pure-virtual`, `rust-panic`, `torch-check`, `pybind11` or `glog-fatal`.
    pub family: String,
    /// What it says.
    pub message: String,
    /// Type of the C++ exception.
    pub exception: Option<String>,
    /// Source file, where printed.
    pub file: Option<String>,
    /// Line in `file`.
    pub line: Option<u32>,
    /// Function, or for Rust the thread's name.
    pub function: Option<String>,
}

impl EventDetail for NativeAbort {
    const KIND: &'static str = "native-abort";
}

/// Host memory that could not be had.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct HostOom {
    /// Bytes asked for, where printed.
    pub requested: Option<u64>,
    /// Who was refused: `DefaultCPUAllocator`, `numpy`, `pinned`, `malloc` or `mmap`.
    pub allocator: String,
}

impl EventDetail for HostOom {
    const KIND: &'static str = "host-oom";
}

/// A failure with shared memory, or with the file descriptors that carry it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct SharedMemory {
    /// `open`, `mmap`, `resize`, `write`, `descriptors` or `bus-error`.
    pub operation: String,
    /// The object's name.
    pub object: Option<String>,
    /// Bytes asked for.
    pub bytes: Option<u64>,
    /// The system's reason, as printed.
    pub reason: Option<String>,
}

impl EventDetail for SharedMemory {
    const KIND: &'static str = "shared-memory";
}

/// A failed call into CUDA, HIP or one of their libraries.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CudaError {
    /// `cuda`, `hip`, `driver`, `cublas`, `cudnn`, …
    pub api: String,
    /// Number of the error.
    pub code: Option<u32>,
    /// Name, such as `cudaErrorIllegalAddress`.
    pub name: Option<String>,
    /// Text.
    pub message: String,
    /// The call that returned it.
    pub call: Option<String>,
}

impl EventDetail for CudaError {
    const KIND: &'static str = "cuda-error";
}

/// An Xid of the NVIDIA driver, or an `SXid` of an `NVSwitch`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
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
    /// The Xid that the driver itself says it follows from.
    pub caused_by: Option<u32>,
    /// How many equal lines (same device and code) followed each other.
    pub count: u64,
}

impl EventDetail for Xid {
    const KIND: &'static str = "xid";
}

/// A line of the kernel's log.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Kernel {
    /// `segfault`, `trap`, `oom-kill`, `soft-lockup`, `hung-task`, …
    pub family: String,
    /// Name of the process or task.
    pub process: Option<String>,
    /// Fault address, as hex.
    pub address: Option<String>,
    /// Instruction pointer, as hex.
    pub ip: Option<String>,
    /// `read`, `write` or `execute`.
    pub access: Option<String>,
    /// The object the instruction pointer is in.
    pub object: Option<String>,
    /// For an OOM kill: the victim's resident anonymous memory in bytes.
    pub rss: Option<u64>,
    /// For an OOM kill: true when a memory cgroup's limit was the reason.
    pub cgroup: Option<bool>,
    /// The line without its prefixes.
    pub message: String,
}

impl EventDetail for Kernel {
    const KIND: &'static str = "kernel";
}

/// An error a sanitizer reported.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Sanitizer {
    /// `compute-sanitizer`, `asan`, `ubsan`, `tsan`, `lsan` or `msan`.
    pub tool: String,
    /// Such as `heap-use-after-free`.
    pub error: String,
    /// `read`, `write` or `atomic`.
    pub access: Option<String>,
    /// Bytes accessed or leaked.
    pub size: Option<u64>,
    /// The address, as hex.
    pub address: Option<String>,
    /// How the address relates to memory, as printed.
    pub relation: Option<String>,
    /// Function.
    pub function: Option<String>,
    /// Source file.
    pub file: Option<String>,
    /// Line in `file`.
    pub line: Option<u32>,
}

impl EventDetail for Sanitizer {
    const KIND: &'static str = "sanitizer";
}

/// A failed NCCL call.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct NcclError {
    /// Name of the result, such as `ncclSystemError`.
    pub result: Option<String>,
    /// Text, such as `unhandled system error`.
    pub message: String,
    /// NCCL's last warning, where printed with it.
    pub last_error: Option<String>,
}

impl EventDetail for NcclError {
    const KIND: &'static str = "nccl-error";
}

/// A warning of NCCL's own log.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct NcclWarning {
    /// What it says.
    pub message: String,
    /// `net-ib`, `net-socket`, `shm`, `version`, `cuda`, `duplicate-gpu`, `ras`, `path` or `other`.
    pub family: String,
}

impl EventDetail for NcclWarning {
    const KIND: &'static str = "nccl-warning";
}

/// What a process group's watchdog or heartbeat monitor said.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Watchdog {
    /// `timeout`, `failure`, `stuck`, `gil`, `dump-signal` or `teardown`.
    pub family: String,
}

impl EventDetail for Watchdog {
    const KIND: &'static str = "watchdog";
}

/// Ranks that did not do the same thing, as one of them tells it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CollectiveMismatch {
    /// `desync`, `fingerprint`, `monitored-barrier`, `parameter-shape` or `gloo-size`.
    pub family: String,
    /// The ranks that lag, are missing or differ.
    pub ranks: Vec<u32>,
    /// What differs, as printed.
    pub detail: String,
}

impl EventDetail for CollectiveMismatch {
    const KIND: &'static str = "collective-mismatch";
}

/// A failed connection of a store or a rendezvous.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Rendezvous {
    /// `connect`, `receive`, `send`, `wait`, `join` or `listen`.
    pub operation: String,
    /// The reason, as printed.
    pub reason: String,
}

impl EventDetail for Rendezvous {
    const KIND: &'static str = "rendezvous";
}

/// What `DistributedDataParallel` or autograd refused.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Autograd {
    /// `unused-parameters`, `ready-twice`, `inplace`, `backward-twice` or `nan`.
    pub family: String,
    /// Indices or names of the parameters it is about.
    pub parameters: Vec<String>,
}

impl EventDetail for Autograd {
    const KIND: &'static str = "autograd";
}

/// One collective that did not match across ranks, from their flight recorders.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Verdict {
    /// Process group name.
    pub group: String,
    /// What the program calls the group.
    pub group_description: String,
    /// Sequence number of the collective in its group.
    pub sequence: u64,
    /// `op-mismatch`, `shape-mismatch`, `dtype-mismatch`, `missing-rank` or `not-completed`.
    pub kind: String,
    /// The ranks that differ from the rest, or are missing.
    pub ranks: Vec<u32>,
    /// What the ranks did, in words.
    pub detail: String,
    /// The operation as most ranks recorded it.
    pub operation: String,
    /// True for a send or receive, which two ranks do and not all of the group.
    pub point_to_point: bool,
}

/// A failed request as a memory snapshot recorded it. Sizes are exact bytes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct SnapshotOom {
    /// Device index.
    pub gpu: u32,
    /// Bytes asked for.
    pub requested: u64,
}

impl EventDetail for SnapshotOom {
    const KIND: &'static str = "snapshot-oom";
}

/// One device of one memory snapshot. All sizes are bytes; see the evidence model for what each counts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "named as in the evidence model, where each is documented")]
pub struct MemorySnapshot {
    pub artifact: String,
    pub device: u32,
    pub reserved: u64,
    pub allocated: u64,
    pub active: u64,
    pub requested: u64,
    pub segments: u64,
    pub blocks: u64,
    pub peak_allocated: u64,
    pub inactive: u64,
    pub largest_inactive: u64,
    pub pending_free: u64,
    pub private_pools: u64,
    pub expandable_segments: Option<bool>,
    pub oom: Option<OomRequest>,
    pub oom_events: u64,
    pub clusters: Vec<Cluster>,
    pub pools: Vec<Pool>,
    pub settings: serde_json::Map<String, serde_json::Value>,
}

/// Segments that one kind of request can be served from. Sizes are bytes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Pool {
    /// The stream whose requests may use it, as hex.
    pub stream: String,
    /// Private pool (CUDA graphs), or absent for the default one.
    pub private_pool: Option<[u64; 2]>,
    /// `small` or `large`.
    pub size_class: String,
    /// Held from the driver.
    pub reserved: u64,
    /// In allocated blocks.
    pub allocated: u64,
    /// Freed by the program, but another stream may still use it.
    pub pending_free: u64,
    /// In free blocks.
    pub inactive: u64,
    /// The largest free block.
    pub largest_inactive: u64,
}

/// An allocation that the allocator could not serve. Sizes are bytes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct OomRequest {
    /// Asked for.
    pub requested: u64,
    /// Free on the device at that moment.
    pub device_free: u64,
    /// Allocated by the program at that moment.
    pub allocated: u64,
    /// Held by the allocator at that moment.
    pub reserved: u64,
    /// Stream the request was for, as hex.
    pub stream: String,
    /// Inactive in segments that this request could have used (same stream, same pool).
    pub usable_inactive: u64,
    /// The largest of those blocks.
    pub largest_usable: u64,
    /// Where the program asked, innermost first, as `function (file:line)`.
    pub frames: Vec<String>,
}

/// Live blocks that one stack allocated.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Cluster {
    /// Bytes alive.
    pub bytes: u64,
    /// Blocks alive.
    pub count: u64,
    /// Of `bytes`, how much was there when recording began, and after each further eighth of the trace.
    pub growth: Vec<u64>,
    /// The allocating stack, innermost first, as `function (file:line)`.
    pub frames: Vec<String>,
}
