//! Things that happened, as the artifacts tell them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    Autograd, CollectiveMismatch, CudaError, CudaLog, CudaOom, DataloaderWorker, DeviceAssert, Diagnostic, Divergence,
    ElasticFailure, FatalPythonError, GpuException, Hang, HostOom, Kernel, LastWords, NativeAbort, NcclError,
    NcclWarning, Place, ProcessExit, PythonException, Rendezvous, Sanitizer, SharedMemory, SnapshotOom, Watchdog, Xid,
};

/// Something that happened, with where it is written and, as far as known, when and to whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Number of the event in the report's timeline; citations use it.
    pub event: usize,
    /// How often it was told: what is printed again and again is one event.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub count: u64,
    /// RFC 3339 time, where the artifact has one; of the first time it was told.
    #[serde(default)]
    pub time: Option<String>,
    /// RFC 3339 time of the last time, for what was told more than once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_time: Option<String>,
    /// What is uncertain about `time`, such as `no year` (glog, syslog) or `no zone`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_note: Option<String>,
    /// Rank of the process, where known.
    #[serde(default)]
    pub rank: Option<u32>,
    /// Process id, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// What happened, with its typed particulars.
    #[serde(flatten)]
    pub payload: EventPayload,
    /// False for an echo: a consequence of another event.
    #[serde(default)]
    pub primary: bool,
    /// The number of the event this one is an echo of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo_of: Option<usize>,
    /// True when later lines of the same process show that it went on: the failure was caught, or only printed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub survived: bool,
    /// The line that says it, shortened.
    #[serde(default)]
    pub text: String,
    /// The artifact that says it.
    #[serde(default)]
    pub artifact: String,
    /// Where in that artifact; the first place, for what was told more than once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
    /// The last place, for what was told more than once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_at: Option<Place>,
}

fn once() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_once(count: &u64) -> bool {
    *count == 1
}

impl Event {
    /// A primary event of which only the kind is known yet.
    pub fn new(payload: EventPayload) -> Self {
        Self {
            event: 0,
            count: 1,
            time: None,
            last_time: None,
            time_note: None,
            rank: None,
            pid: None,
            payload,
            primary: true,
            echo_of: None,
            survived: false,
            text: String::new(),
            artifact: String::new(),
            at: None,
            last_at: None,
        }
    }
}

impl EventPayload {
    /// Whether it is a line of which nothing more is known than that it says that something failed.
    pub fn is_complaint(&self) -> bool {
        matches!(self, Self::LastWords(words) if [LastWords::ERROR, LastWords::COMPLAINT].contains(&words.family.as_str()))
    }

    /// The kind's name, as JSON has it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::CudaOom(_) => "cuda-oom",
            Self::PythonException(_) => "python-exception",
            Self::FatalPythonError(_) => "fatal-python-error",
            Self::DataloaderWorker(_) => "dataloader-worker",
            Self::SnapshotOom(_) => "snapshot-oom",
            Self::ProcessExit(_) => "process-exit",
            Self::NativeAbort(_) => "native-abort",
            Self::HostOom(_) => "host-oom",
            Self::SharedMemory(_) => "shared-memory",
            Self::CudaError(_) => "cuda-error",
            Self::DeviceAssert(_) => "device-assert",
            Self::GpuException(_) => "gpu-exception",
            Self::NcclError(_) => "nccl-error",
            Self::NcclWarning(_) => "nccl-warning",
            Self::Watchdog(_) => "watchdog",
            Self::CollectiveMismatch(_) => "collective-mismatch",
            Self::Rendezvous(_) => "rendezvous",
            Self::Autograd(_) => "autograd",
            Self::ElasticFailure(_) => "elastic-failure",
            Self::Xid(_) => "xid",
            Self::Kernel(_) => "kernel",
            Self::Sanitizer(_) => "sanitizer",
            Self::Divergence(_) => "divergence",
            Self::LastWords(_) => "last-words",
            Self::Diagnostic(_) => "diagnostic",
            Self::CudaLog(_) => "cuda-log",
            Self::Hang(_) => "hang",
        }
    }
}

/// The kinds of events, with their particulars. In JSON: `"kind": "cuda-oom", "detail": {…}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", content = "detail", rename_all = "kebab-case")]
pub enum EventPayload {
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
    /// A process ended: the collector saw it, or a shell or launcher printed it.
    ProcessExit(ProcessExit),
    /// Native code gave up: an assertion, an uncaught C++ exception, a heap check, a Rust panic.
    NativeAbort(NativeAbort),
    /// Host memory could not be allocated.
    HostOom(HostOom),
    /// Shared memory or a shared file could not be made, mapped or passed on.
    SharedMemory(SharedMemory),
    /// A call into CUDA, HIP or one of their libraries failed.
    CudaError(CudaError),
    /// An assertion in a GPU kernel failed; equal ones are one event with a count.
    DeviceAssert(DeviceAssert),
    /// The driver's core dump progress told of an exception on the device.
    GpuException(GpuException),
    /// A NCCL call failed.
    NcclError(NcclError),
    /// NCCL's own log warned, or printed its unwinding error path.
    NcclWarning(NcclWarning),
    /// The process group's watchdog spoke.
    Watchdog(Watchdog),
    /// Ranks did not do the same thing: desync report, fingerprint mismatch, monitored barrier.
    CollectiveMismatch(CollectiveMismatch),
    /// A store or rendezvous connection failed.
    Rendezvous(Rendezvous),
    /// `DistributedDataParallel` or autograd refused to go on.
    Autograd(Autograd),
    /// torchelastic reported a worker's failure.
    ElasticFailure(ElasticFailure),
    /// The NVIDIA driver logged an Xid (or an `NVSwitch` an `SXid`).
    Xid(Xid),
    /// The kernel logged something else about a process or a device.
    Kernel(Kernel),
    /// A sanitizer reported an error.
    Sanitizer(Sanitizer),
    /// A loss or another value of training was told to be nan or infinite.
    Divergence(Divergence),
    /// The last lines of a log say why a program could not run.
    LastWords(LastWords),
    /// A test of the machine did not pass.
    Diagnostic(Diagnostic),
    /// The CUDA driver's own log told of a call that failed.
    CudaLog(CudaLog),
    /// The collector saw a job that made no progress, and looked what its processes waited in.
    Hang(Hang),
}
