/** Made from the server's own description of its API by `make contract`: mend the Rust type, and not this file. */

import type { Hex, ThreadId } from './shared';

/** What `DistributedDataParallel` or autograd refused. */
export interface Autograd {
  /** `unused-parameters`, `ready-twice`, `inplace`, `backward-twice` or `nan`. */
  family?: string;
  /** Indices or names of the parameters it is about. */
  parameters?: string[];
  /** The message's own particulars, as printed. */
  detail?: string;
}

/** Ranks that did not do the same thing, as one of them tells it. */
export interface CollectiveMismatch {
  /**
   * `desync` (the watchdog's report), `fingerprint` (`TORCH_DISTRIBUTED_DEBUG=DETAIL`), `monitored-barrier`,
   * `parameter-shape` (a model that differs across ranks) or `gloo-size`.
   */
  family?: string;
  /** The ranks that lag, are missing or differ. */
  ranks?: number[];
  /** Sequence number, where printed. */
  sequence?: number | null;
  /** What differs, as printed. */
  detail?: string;
}

/** A failed call into CUDA, HIP or one of their libraries. */
export interface CudaError {
  /** `cuda`, `hip`, `driver`, `cublas`, `cudnn`, `cusolver`, `cusparse`, `cufft`, `curand` or `nvrtc`. */
  api?: string;
  /** Number of the error since CUDA 10.1, where printed or implied by the text. */
  code?: number | null;
  /** Name, such as `cudaErrorIllegalAddress` or `CUBLAS_STATUS_ALLOC_FAILED`, where printed or implied. */
  name?: string | null;
  /** Text, such as `an illegal memory access was encountered`. */
  message?: string;
  /** The call that returned it, where printed. */
  call?: string | null;
  /** True when the context is dead after it: every later call of the process fails the same way. */
  sticky?: boolean;
  /** Source file of the check, where printed. */
  file?: string | null;
  /** Line in `file`. */
  line?: number | null;
}

/** A failed call as the CUDA driver's own log tells it (`CUDA_LOG_FILE`). */
export interface CudaLog {
  /** The function of the driver or the runtime that was called, where printed. */
  call?: string | null;
  /** Name of what it returned, such as `CUDA_ERROR_INVALID_VALUE`, where printed. */
  result?: string | null;
  /** Number of that. */
  code?: number | null;
  /** What was wrong, in the driver's words. */
  message?: string;
}

/** An out-of-memory message of the caching allocator. Sizes are bytes, rounded as the message rounds them. */
export interface CudaOom {
  /** `CUDA`, `HIP`, `XPU` or `MPS`. */
  backend?: string;
  /** Bytes asked for. */
  requested?: number;
  /** Device index. */
  gpu?: number | null;
  /** Total capacity of the device. */
  capacity?: number | null;
  /** Free on the device. */
  free?: number | null;
  /** Allocated by the program through the allocator. */
  allocated?: number | null;
  /** Held by the allocator but not allocated. */
  reserved_unallocated?: number | null;
  /** Of `allocated`, in private pools (CUDA graphs). */
  private_pools?: number | null;
  /** What a memory fraction allows this process. */
  allowed?: number | null;
  /** What this process holds on the device, everything included. */
  this_process?: number | null;
  /** Other processes on the device, with what they hold. */
  other_processes?: ProcessMemory[];
}

/** A `DataLoader` worker that died, as the parent tells it. */
export interface DataloaderWorker {
  /** The worker's process id. */
  pid?: number | null;
  /** The signal's description as printed, such as `Killed` or `Bus error`. */
  signal?: string | null;
  /** Exit code, when it exited. */
  exit_code?: number | null;
  /** True when the message blames shared memory. */
  shared_memory?: boolean;
}

/** A failed assertion in a GPU kernel. */
export interface DeviceAssert {
  /** Source file. */
  file?: string;
  /** Line in `file`. */
  line?: number;
  /** Kernel or device function. */
  function?: string;
  /** What should have held. */
  expression?: string;
  /** Block index of the first thread that failed; zeros where the runtime tells none, as HIP's. */
  block?: [number, number, number];
  /** Index of the first thread that failed in its block; zeros where the runtime tells none. */
  thread?: [number, number, number];
  /** How many threads failed the same assertion. */
  count?: number;
}

/** A test of the machine that did not pass, as `dcgmi diag -j` reports it. */
export interface Diagnostic {
  /** Who tested: `dcgm`. */
  tool?: string;
  /** The test, such as `memory`. */
  test?: string;
  /** What the test is counted among, such as `Hardware`. */
  category?: string | null;
  /** `fail`; `warn` for what is worth a look and is no failure. */
  status?: string;
  /** What was tested, such as `GPU` or `CPU`. */
  entity?: string | null;
  /** Its number among those; of a GPU, DCGM's, which may differ from CUDA's. */
  entity_id?: number | null;
  /** Number of the error (`dcgmError_t` in `dcgm_errors.h`). */
  error?: number | null;
  /**
   * What the error is counted among: `performance`, `software`, `xid`, `cuda`, `thermal`, `memory`, `nvlink`,
   * `nvswitch`, `pcie`, `power`, `hardware` or `internal` (`dcgmErrorCategory_t`).
   */
  family?: string | null;
  /** What NVIDIA says is to be done: `monitor`, `isolate`, `triage`, `configure` or `reset` (`dcgmErrorSeverity_t`). */
  action?: string | null;
  /** The warning, as printed. */
  message?: string;
}

/** A value of training that is no number any more. */
export interface Divergence {
  /** `loss`, `gradient`, `logits` or `perplexity`. */
  quantity?: string;
  /** `nan`, `inf` or `infinity`. */
  value?: string;
  /** The step it is told of, where printed. */
  step?: number | null;
  /** How many values in a row, up to the last one, are no numbers, where all of them are known. */
  rows?: number | null;
}

/** One worker's failure as torchelastic reports it. */
export interface ElasticFailure {
  /** Rank on its host. */
  local_rank?: number | null;
  /** Host name. */
  host?: string | null;
  /** Exit code; a negative one is a signal. */
  exit_code?: number | null;
  /** Signal name. */
  signal?: string | null;
  /** True for the failure torchelastic observed first ("Root Cause"). */
  root?: boolean;
  /** The exception or signal line it gives. */
  message?: string;
  /** Path of the error file, where there is one. */
  error_file?: string | null;
}

/** The kinds of events, with their particulars. In JSON: `"kind": "cuda-oom", "detail": {…}`. */
export type EventPayload =
  | { kind: 'cuda-oom'; detail: CudaOom }
  | { kind: 'python-exception'; detail: PythonException }
  | { kind: 'fatal-python-error'; detail: FatalPythonError }
  | { kind: 'dataloader-worker'; detail: DataloaderWorker }
  | { kind: 'snapshot-oom'; detail: SnapshotOom }
  | { kind: 'process-exit'; detail: ProcessExit }
  | { kind: 'native-abort'; detail: NativeAbort }
  | { kind: 'host-oom'; detail: HostOom }
  | { kind: 'shared-memory'; detail: SharedMemory }
  | { kind: 'cuda-error'; detail: CudaError }
  | { kind: 'device-assert'; detail: DeviceAssert }
  | { kind: 'gpu-exception'; detail: GpuException }
  | { kind: 'nccl-error'; detail: NcclError }
  | { kind: 'nccl-warning'; detail: NcclWarning }
  | { kind: 'watchdog'; detail: Watchdog }
  | { kind: 'collective-mismatch'; detail: CollectiveMismatch }
  | { kind: 'rendezvous'; detail: Rendezvous }
  | { kind: 'autograd'; detail: Autograd }
  | { kind: 'elastic-failure'; detail: ElasticFailure }
  | { kind: 'xid'; detail: Xid }
  | { kind: 'kernel'; detail: Kernel }
  | { kind: 'sanitizer'; detail: Sanitizer }
  | { kind: 'divergence'; detail: Divergence }
  | { kind: 'last-words'; detail: LastWords }
  | { kind: 'diagnostic'; detail: Diagnostic }
  | { kind: 'cuda-log'; detail: CudaLog }
  | { kind: 'hang'; detail: Hang };

/** The head line of a faulthandler dump. */
export interface FatalPythonError {
  /** Such as `Segmentation fault`; `Timeout (…)` for a dump that a timer asked for, which kills nothing. */
  error?: string;
  /** The signal that stands for. */
  signal?: string | null;
  /** Extension modules that were loaded, as far as the dump lists them (Python 3.10 and later; bounded). */
  extension_modules?: string[];
}

/** An exception on a device, as the driver's core dump progress tells it. */
export interface GpuException {
  /** Name without the `CUDBG_EXCEPTION_` prefix. */
  exception?: string;
  /** Its number. */
  code?: number;
  /** Device index. */
  device?: number | null;
  /** Streaming multiprocessor. */
  sm?: number | null;
  /** Warp on that multiprocessor. */
  warp?: number | null;
  /** Address of the faulting instruction. */
  pc?: Hex | null;
  /** Kernel (the outermost printed frame), demangled by nobody: as printed. */
  kernel?: string | null;
  /** Path of the core dump that was written. */
  core?: string | null;
}

/** A job that made no progress: what its processes waited in, and which of them the others waited for. */
export interface Hang {
  /**
   * `stopped` (a process was stopped by a signal), `gil` (a thread kept the interpreter's lock while it waited),
   * `deadlock` (threads of a process waited for each other's locks), `apart` (a process waited elsewhere than the
   * others), `together` (all waited in the same place), `alone` (there is one process) or `working` (nothing stood
   * still: threads of the process that was looked at ran).
   */
  family?: string;
  /**
   * Seconds without progress before the stacks were looked at; absent where somebody looked once, so that nobody
   * knows.
   */
  idle_s?: number | null;
  /** How long the job stood still, as the beginning of a sentence. */
  stood?: string;
  /** What the threads of the process waited for, in a few sentences. */
  account?: string;
  /** Threads of the process that were looked at. */
  threads?: number;
  /** Of those the ones that ran, and did not wait. */
  running?: number;
  /** What the thread that this is about waited for: `lock`, `queue`, `thread`, `collective` and so on. */
  waits?: string | null;
  /** The same in words, such as `a lock`. */
  waits_for?: string | null;
  /** Ranks that the others waited for; empty where that is not known. */
  ranks?: number[];
  /** Rank of the first of these processes. */
  rank?: number | null;
  /**
   * Innermost function that this process was in, of Python where it has one; of a process that waits by itself, the
   * program's own.
   */
  function?: string | null;
  /** Its source file. */
  file?: string | null;
  /** The line in `file`. */
  line?: number | null;
  /**
   * Of `gil`, the native function that was called there and waited with the lock, with its file and line where they
   * are known.
   */
  native?: string | null;
  /** The system call that it waited in, by name or number. */
  call?: string | null;
  /** The function that the others waited in. */
  others_in?: string | null;
  /** Whether the others waited in a collective. */
  collective?: boolean;
  /** The thread whose stack that is. */
  thread?: ThreadId | null;
  /** Whether the job made progress again, or began to fail, before it ended. */
  passed?: boolean;
}

/** Host memory that could not be had. */
export interface HostOom {
  /** Bytes asked for, where printed. */
  requested?: number | null;
  /** Who was refused: `DefaultCPUAllocator`, `numpy`, `pinned`, `malloc` or `mmap`. */
  allocator?: string;
}

/** A line of the kernel's log. */
export interface Kernel {
  /**
   * `segfault`, `trap`, `oom-kill`, `soft-lockup`, `hung-task`, `memory-failure`, `fallen-off-bus`, `nvrm`,
   * `fabric-manager` (NVIDIA's daemon for the switches between GPUs), `storage` (a disk that failed, or a
   * file system that gave up), `iommu` (a GPU was kept from memory), `gpu-page-fault` (a GPU
   * met an address that is not mapped for it, as AMD's driver tells it) or `hardware`.
   */
  family?: string;
  /** Name of the process or task. */
  process?: string | null;
  /** Fault address. */
  address?: Hex | null;
  /** Instruction pointer. */
  ip?: Hex | null;
  /** Stack pointer. */
  sp?: Hex | null;
  /** `read`, `write` or `execute`. */
  access?: string | null;
  /** The object the instruction pointer is in. */
  object?: string | null;
  /** Offset of the instruction in that object's file. */
  offset?: Hex | null;
  /** For an OOM kill: the victim's resident anonymous memory in bytes. */
  rss?: number | null;
  /** For an OOM kill: true when a memory cgroup's limit was the reason. */
  cgroup?: boolean | null;
  /** Seconds a CPU or task was stuck. */
  seconds?: number | null;
  /** The line without its prefixes. */
  message?: string;
}

/** What the last lines of a log say, where no traceback does. */
export interface LastWords {
  /**
   * Who says it: `usage` (a parser of arguments), `shell`, `interpreter`, `container`, `loader` (of binaries),
   * `threads` and `openmp` (libraries that need them), `driver`, `scheduler`, `build` (of an extension), `package`
   * (an installer that finds none), `stopped` (whoever ends the program from outside), or a command by what it
   * lacked: `network`, `refused`, `archive`, `disk`, `permission`, `files`, `memory` or `port`; of MPI's launcher
   * and processes `peer` (another one is gone) or `unreachable`; and of every other line that says that
   * something failed `error` where its logger gave it that level, and `complaint`, which is never primary, where only
   * its words say so.
   */
  family?: string;
  /** The line. */
  message?: string;
}

/** Native code that gave up on its own. */
export interface NativeAbort {
  /**
   * `glibc`, `assertion`, `cpp-exception`, `pure-virtual`, `rust-panic`, `torch-check`, `pybind11`, `glog-fatal` or
   * `stack-overflow`.
   */
  family?: string;
  /** What it says, such as `free(): double free detected in tcache 2` or the assertion's expression. */
  message?: string;
  /** Type of the C++ exception. */
  exception?: string | null;
  /** Source file, where printed. */
  file?: string | null;
  /** Line in `file`. */
  line?: number | null;
  /** Function, or for Rust the thread's name. */
  function?: string | null;
  /** The thread in `crate::Evidence::threads` that holds its frames, when a stack was printed with it. */
  thread?: ThreadId | null;
}

/** A failed NCCL call. */
export interface NcclError {
  /** Name of the result, such as `ncclSystemError`. */
  result?: string | null;
  /** Text, such as `unhandled system error`. */
  message?: string;
  /** NCCL version, where printed. */
  version?: string | null;
  /** NCCL's last warning, where printed with it. */
  last_error?: string | null;
  /** Source file of the check. */
  file?: string | null;
  /** Line in `file`. */
  line?: number | null;
}

/** A warning, or an error path, of NCCL's own log. */
export interface NcclWarning {
  /** Host name. */
  host?: string;
  /** CUDA device index of the communicator. */
  device?: number | null;
  /** Source position, such as `transport/net_ib.cc:93`. */
  source?: string | null;
  /** What it says. */
  message?: string;
  /**
   * `net-ib`, `net-socket`, `shm`, `version`, `cuda`, `duplicate-gpu`, `ras`, `path` or `other`; of what the RAS
   * client answered `ras-dead` or `ras-unresponsive`; of errors of other libraries that move data between nodes
   * `ucx` or `libfabric`.
   */
  family?: string;
}

/** The end of a process. */
export interface ProcessExit {
  /** Signal name, such as `SIGSEGV`. */
  signal?: string | null;
  /** Exit code. */
  exit_code?: number | null;
  /** True for the process of a job whose end led to that of the others, as the collector saw them end. */
  first?: boolean;
  /** Rank of that process. */
  rank?: number | null;
}

/** What a process holds on a device. */
export interface ProcessMemory {
  /** Process id (as seen from where the message was printed). */
  pid: number;
  /** Bytes held. */
  bytes: number;
}

/** A Python exception with its traceback. */
export interface PythonException {
  /** Class, with its module where printed: `torch.OutOfMemoryError`. */
  exception?: string;
  /** Message, possibly of several lines. */
  message?: string;
  /** The thread in `crate::Evidence::threads` that holds its frames. */
  thread?: ThreadId | null;
  /**
   * The line of the program that led to it, where the traceback quotes it: that of the innermost frame of the
   * program's own.
   */
  source?: string | null;
  /**
   * What it is to the exception printed after it: `cause` (raise … from), `context` (during handling), `original`
   * (a worker's own, brought to the parent), `group` (a member or the group around it); absent for the last one.
   */
  relation?: string | null;
  /** The thread or process the line before the traceback names, such as `Process SpawnProcess-1`. */
  process?: string | null;
  /** True when the interpreter only reported it (`Exception ignored in …`). */
  ignored?: boolean;
}

/** A failed connection of a store or a rendezvous. */
export interface Rendezvous {
  /** `connect`, `receive`, `send`, `wait`, `join` or `listen`. */
  operation?: string;
  /** The other end or the address listened on, where printed. */
  peer?: string | null;
  /** The reason, as printed. */
  reason?: string;
}

/** An error a sanitizer reported. */
export interface Sanitizer {
  /** `compute-sanitizer`, `asan`, `ubsan`, `tsan`, `lsan`, `msan` or `memcheck` (Valgrind's). */
  tool?: string;
  /** Such as `heap-use-after-free`, `Invalid __global__ read`, `data race`. */
  error?: string;
  /** `read`, `write` or `atomic`. */
  access?: string | null;
  /** Bytes accessed or leaked. */
  size?: number | null;
  /** The address. */
  address?: Hex | null;
  /** How the address relates to memory, as printed. */
  relation?: string | null;
  /** Kernel or function. */
  function?: string | null;
  /** Source file. */
  file?: string | null;
  /** Line in `file`. */
  line?: number | null;
  /** GPU block index. */
  block?: [number, number, number] | null;
  /** GPU thread index in its block. */
  thread?: [number, number, number] | null;
  /** How many equal reports. */
  count?: number;
  /** The thread in `crate::Evidence::threads` that holds its frames. */
  stack?: ThreadId | null;
}

/** A failure with shared memory, or with the file descriptors that carry it. */
export interface SharedMemory {
  /** What failed: `open`, `allocate`, `mmap`, `resize`, `write`, `descriptors` or `bus-error`. */
  operation?: string;
  /** The object's name. */
  object?: string | null;
  /** Bytes asked for. */
  bytes?: number | null;
  /** The system's reason, as printed. */
  reason?: string | null;
}

/** A failed request as a memory snapshot recorded it. Sizes are exact bytes. */
export interface SnapshotOom {
  /** Device index. */
  gpu?: number;
  /** Bytes asked for. */
  requested?: number;
  /** Free on the device. */
  device_free?: number;
  /** Allocated by the program at that moment. */
  allocated?: number;
  /** Held by the allocator at that moment. */
  reserved?: number;
  /** Of that, free and usable for this request (same stream, pool and size class). */
  usable_inactive?: number;
  /** The largest such block. */
  largest_usable?: number;
}

/** What a process group's watchdog or heartbeat monitor said. */
export interface Watchdog {
  /**
   * `timeout` (a collective took too long), `failure` (it saw an error), `stuck` (the watchdog itself made no
   * progress), `gil` (could not get the interpreter lock), `dump-signal` (another rank asked for a dump) or
   * `teardown` (it takes the process down).
   */
  family?: string;
  /** Process group name. */
  group?: string | null;
  /** Process group description, such as `default_pg`. */
  description?: string | null;
  /** Sequence number of the collective. */
  sequence?: number | null;
  /** Operation, such as `ALLREDUCE`. */
  operation?: string | null;
  /** Elements in. */
  elements_in?: number | null;
  /** Elements out. */
  elements_out?: number | null;
  /** The timeout in milliseconds. */
  timeout_ms?: number | null;
  /** How long it ran, in milliseconds. */
  ran_ms?: number | null;
  /** Last collective the rank enqueued (-1: none). */
  last_enqueued?: number | null;
  /** Last collective the rank completed (-1: none). */
  last_completed?: number | null;
}

/** An Xid of the NVIDIA driver, or an `SXid` of an `NVSwitch`. */
export interface Xid {
  /** Error number. */
  code?: number;
  /** True for an `SXid`. */
  nvswitch?: boolean;
  /** PCI address as printed. */
  pci?: string;
  /** Name of the process it names. */
  process?: string | null;
  /** The rest of the line. */
  message?: string;
  /** Severity word of an `SXid`, such as `Fatal`. */
  severity?: string | null;
  /** The Xid that this one follows from, where the driver says so. */
  caused_by?: number | null;
  /** How many equal lines (same device and code) followed each other. */
  count?: number;
}
