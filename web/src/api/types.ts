/**
 * What the server answers, as JSON. Made from the server's own description of its API by `make contract`: mend the Rust
 * type, and not this file.
 *
 * Enums may grow: unknown values are shown as they are. Addresses and 64-bit identifiers are hex strings, because a
 * JavaScript number holds 53 bits.
 */

/** Values that JSON can hold. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The answer to a report that was sent. */
export interface Accepted {
  /** The report's id: the same for the same metadata and artifacts. */
  id: string;
  /** Where people look at it. */
  url: string;
  /** How far it has come. */
  state: ReportState;
  /** Artifacts whose bytes are still to be sent. */
  wants: Wanted[];
  /** What the artifacts that are here already tell, before anything else is known. */
  findings: Finding[];
}

/** Live blocks that one stack allocated. */
export interface AllocationCluster {
  /** Bytes alive. */
  bytes?: number;
  /** Blocks alive. */
  count?: number;
  /**
   * For memory alive at the end of a trace: how much of it was there when recording began, and after each further
   * eighth of the trace's events. A leak climbs steadily; weights and caches are there from the start.
   */
  growth?: number[];
  /** The allocating stack, innermost first, uninteresting frames left out, as `function (file:line)`. */
  frames?: string[];
}

/** One artifact of a report. */
export interface ArtifactHead {
  /** Name within the report. */
  name: string;
  /** What it is. */
  kind: ArtifactKind;
  /** Size as stored. */
  bytes: number;
  /** SHA-256 of the bytes as stored, lower-case hex. */
  sha256: string;
  /** What was wrong with it. */
  problems: Problem[];
}

/** What an artifact is, told from its content (never from its name alone). */
export type ArtifactKind = 'elf-core' | 'gpu-core' | 'minidump' | 'memory-snapshot' | 'flight-recorder' | 'nccl-ras' | 'nccl-inspector' | 'torchcomms-log' | 'bug-report' | 'elastic-error' | 'context' | 'diagnostic' | 'sanitizer' | 'log' | 'empty' | 'unknown' | (string & {});

/** What `DistributedDataParallel` or autograd refused. */
export interface Autograd {
  /** `unused-parameters`, `ready-twice`, `inplace`, `backward-twice` or `nan`. */
  family?: string;
  /** Indices or names of the parameters it is about. */
  parameters?: string[];
  /** The message's own particulars, as printed. */
  detail?: string;
}

/** One documented cause. */
export interface Cause {
  /** Kebab-case, family first, such as `oom-fragmentation`; the name of its file. */
  id?: string;
  /** One line. */
  title?: string;
  /** A few sentences. */
  summary?: string;
  /** `fatal`, `wrong-results`, `slow` or `notice`. */
  severity?: string;
  /**
   * Who owns the failure: `program`, `data`, `environment`, `framework`, `hardware`, `network` or `operator`;
   * `unknown` where that is what has to be found out.
   */
  domain?: string;
  /** Whether it is worth a second try. */
  retry?: Retry;
  /** Words to find it by. */
  tags?: string[];
  /** Other ids this page answers for. */
  also?: string[];
  /**
   * For a family: the causes that look alike, and that this page stands for where the evidence can not tell them
   * apart.
   */
  members?: string[];
  /** Holds of so much that it is only said where nothing else is. */
  last_resort?: boolean;
  /** What follows from it, and looks like a failure of its own. */
  leads_to?: Consequence[];
  /** What a person sees. */
  signs?: string[];
  /** The signs that a machine can check, as tables. */
  recognise?: { [key: string]: Json }[];
  /** Why no artifact tells it, where none does: it is documented for people. */
  undetectable?: string;
  /** Versions it applies to, in words. */
  applies_to?: string[];
  /** Version that mends it, if one does. */
  fixed_in?: string | null;
  /** What to do, first things first. */
  fixes?: CauseFix[];
  /** Where the knowledge comes from. */
  references?: string[];
  /** When all of them were last opened and found to say so, ISO 8601. */
  references_opened?: string | null;
  /** Path of the program that fails this way, from the project's root. */
  reproducer?: string | null;
  /** Where and when it was seen to fail so. */
  verified?: Verified[];
  /** Where the page comes from when it is not one of ours: `plugin NAME`, or `folder NAME`. */
  origin?: string;
  /** The page's prose, Markdown. Links to other causes are relative file names, such as `oom-exhaustion.md`. */
  body?: string;
}

/** Something to do about a cause. */
export interface CauseFix {
  /** In a line. */
  summary?: string;
  /** How, step by step. */
  steps?: string[];
  /** When it is the wrong thing to do. */
  not_when?: string | null;
}

/** A cause in the list of causes. */
export interface CauseHead {
  /** Kebab-case id. */
  id: string;
  /** One line. */
  title: string;
  /** A few sentences. */
  summary: string;
  /** `fatal`, `wrong-results`, `slow` or `notice`. */
  severity: string;
  /** Who owns such a failure, such as `program` or `hardware`; or `unknown`. */
  domain: string;
  /** Words to find it by. */
  tags: string[];
  /** Other ids that its page answers for. */
  also: string[];
  /** What a person sees. */
  signs: string[];
  /** Reports it was found in. */
  reports: number;
}

/** A cause with its page. */
export type CausePage = Cause & {
  /** Its prose as HTML that is safe to put into a page. */
  html: string;
  /** Reports it was found in. */
  reports: number;
};

/** The documented causes. */
export interface Causes {
  /** By id. */
  causes: CauseHead[];
}

/** What would become of a cause among the findings of a report. */
export type Change = 'gained' | 'lost' | 'changed' | (string & {});

/** Reports that change in the same way. */
export interface ChangeCount {
  /** What becomes of the cause. */
  change: Change;
  /** Its id. */
  cause: string;
  /** How many reports. */
  reports: number;
}

/** A cause that both diagnoses name. */
export interface Changed {
  /** Id of the cause. */
  cause: string;
  /** Places before and after. */
  rank: [number, number];
  /** Confidence before and after. */
  confidence: [number, number];
  /** Whether it is explained otherwise, or other places are cited. */
  reasons: boolean;
}

/** Reports that change. How many there are in all, the preview says. */
export interface ChangedReports {
  /** In the order of their ids. */
  reports: Summary[];
  /** What to give as `after` for the next page; absent on the last one. */
  next?: string | null;
}

/** An exact place, and what stands there. */
export interface Citation {
  /** Name of the artifact; empty for a fact about the report as a whole. */
  artifact: string;
  /** The place. */
  at: Place;
  /** What stands there, word for word. */
  quote?: string;
}

/** An artifact that would decide between causes, and the exact setting that produces it. */
export interface CollectNext {
  /** What to collect. */
  artifact?: string;
  /** How. */
  how?: string;
  /** The causes it tells apart. */
  decides_between?: string[];
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

/** One collective that did not match across ranks. */
export interface CollectiveVerdict {
  /** Process group name. */
  group?: string;
  /** What the program calls the group, such as `TENSOR_MODEL_PARALLEL_GROUP`. */
  group_description?: string;
  /**
   * Sequence number of the collective in its group; of a send or receive, its number among those of the rank that
   * waits, which other ranks do not share.
   */
  sequence?: number;
  /**
   * Of flight recorders `op-mismatch`, `shape-mismatch`, `dtype-mismatch`, `missing-rank` or `not-completed`. Of
   * communicators `dead-rank`, `failed-rank`, `unresponsive-rank`, and `behind-rank` (it did not move while others
   * waited).
   */
  kind?: string;
  /** The ranks that differ from the rest, or are missing. */
  ranks?: number[];
  /** What the ranks did, in words. */
  detail?: string;
  /** The operation as most ranks recorded it, such as `nccl:all_reduce`. */
  operation?: string;
  /** Ranks that entered the collective, as far as their recorders tell. */
  entered?: number[];
  /** When the first rank entered it: RFC 3339, by that rank's clock. */
  time?: string | null;
  /** True for a send or receive: those that entered and those that are missing are the two ends of it. */
  point_to_point?: boolean;
  /**
   * Where the program called it, innermost first, as `function (file:line)`: a rank that differs if there is one
   * that recorded its stack, else one that entered.
   */
  frames?: string[];
}

/**
 * What ranks did together, judged: their flight recorders matched by group and sequence number, and what NCCL itself
 * knew of its communicators.
 */
export interface Collectives {
  /** Ranks whose recorder is in the report. */
  ranks?: number[];
  /** Ranks that a group names and whose recorder is not in the report. */
  ranks_without_recorder?: number[];
  /** What does not match, first divergence first (bounded). */
  verdicts?: CollectiveVerdict[];
  /** Ranks that others wait for and that wait for nobody themselves: where to look first. */
  culprits?: number[];
  /**
   * Ranks that wait for each other in a circle, each for the next and the last for the first: nobody of them is to
   * blame more than the others.
   */
  circle?: number[];
  /**
   * Ranks that had started fewer operations than others at the only moment at which somebody asked NCCL: a second
   * look some seconds later tells whether they are stuck or were about to.
   */
  behind_once?: number[];
}

/** A communicator as NCCL's RAS, or its Inspector, told of it at one moment. Ranks are those of the communicator. */
export interface Communicator {
  /** The artifact that says so. */
  artifact?: string;
  /** Where in that artifact. */
  at?: Place | null;
  /** `ras`, which counts what ranks have started, or `inspector`, which counts what they have completed. */
  source?: string;
  /** What NCCL tells it by from others, as hex without a prefix. */
  hash?: string;
  /** RFC 3339, where the artifact has a time. */
  time?: string | null;
  /** How many ranks it has, where known. */
  size?: number | null;
  /** The ranks that told of themselves; of a summary in words only those that it names. */
  ranks?: CommunicatorRank[];
  /** How far ranks are that a summary counts and does not name, by operation. */
  others?: { [key: string]: number };
  /** True when it is being made or torn down: counts then differ by nature. */
  in_transition?: boolean;
  /** The ranks of which nothing was heard. */
  missing?: MissingRank[];
}

/** One rank of a communicator. */
export type CommunicatorRank = RankProcess & {
  /** Rank in the communicator. */
  rank?: number;
  /** How many of each operation it has started or completed, such as `AllReduce`. */
  counts?: { [key: string]: number };
  /** NCCL's own error of this rank by name, such as `ncclSystemError`. */
  error?: string | null;
};

/** A report without and with what is tried. */
export type Compared = Diff & {
  /** What is found now. */
  before: Finding[];
  /** What would be found. */
  after: Finding[];
};

/** A cause that was found in another report. */
export interface Conclusion {
  /** Id of the cause. */
  cause?: string;
  /** A title more exact than its page's. */
  title?: string | null;
  /** 0 to 1. */
  confidence?: number;
  /** Name of the plugin that says so. */
  plugin?: string;
}

/** What a cause leads to: other events, and findings that rest on those alone. */
export interface Consequence {
  /** Id of the cause that it looks like. */
  cause?: string;
  /** A pattern that the events' texts match. */
  says?: string;
}

/** Evidence of one kind: whether it was there to be looked at. */
export interface Coverage {
  /** What was looked for, by the name of its artifacts' kind. */
  kind: ArtifactKind;
  /** Whether it was there. */
  state: Presence;
  /** The artifacts of this kind. */
  artifacts?: string[];
  /** What is wrong with them, or why there are none, as far as that is known. */
  why?: string[];
  /** Ids of other reports of the incident whose artifacts of such kinds were judged together with these. */
  reports?: string[];
}

/** How a process ended, from the most direct witness in the report. */
export interface Crash {
  /** Signal name, such as `SIGSEGV`. */
  signal?: string | null;
  /** Exit code of a process that ended by itself. */
  exit_code?: number | null;
  /** The signal's code by name, such as `SEGV_MAPERR` or `SI_TKILL` (signal(7), `siginfo_t`). */
  code?: string | null;
  /** Address the fault was about, where the kernel gave one. */
  address?: Hex | null;
  /** What that address tells, such as `null`, `unmapped`, `guard-page`, `read-only`, `non-canonical`, `not-code`. */
  address_kind?: string | null;
  /** `read`, `write` or `execute`, where known. */
  access?: string | null;
  /**
   * What the instruction at a SIGFPE could not do: of a division `zero-divisor`, or `quotient-overflow` when the
   * result does not fit, as its operands tell (the kernel has one code for both); `floating-point` for an operation
   * of which no more is known.
   */
  arithmetic?: string | null;
  /**
   * The bytes of code at the faulting instruction as lower-case hex (16 at most), where the core or a binary has
   * them.
   */
  instruction?: string | null;
  /** The thread the signal was delivered to. */
  thread?: ThreadId | null;
  /** Process id. */
  pid?: number | null;
  /** Rank of the process, where it is one of a distributed job and somebody saw it end or hang. */
  rank?: number | null;
  /** Name of the executable. */
  process?: string | null;
  /** Last words found in memory or in the log, such as glibc's abort message or a C++ `what()`. */
  message?: string | null;
  /**
   * Where in a dump the message was found, such as `__abort_msg of libc.so.6` or `exception in memory`; absent for
   * one from a log.
   */
  message_source?: string | null;
  /** The artifact that says so. */
  artifact?: string;
  /** Where in that artifact, when it is text. */
  at?: Place | null;
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

/** What became of a report that shall be gone. */
export interface Deleted {
  /** Its id. */
  id: string;
  /** False if there was no such report. */
  deleted: boolean;
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
  /** Block index of the first thread that failed. */
  block?: [number, number, number];
  /** Index of the first thread that failed in its block. */
  thread?: [number, number, number];
  /** How many threads failed the same assertion. */
  count?: number;
}

/** The versions that are kept. */
export interface Diagnoses {
  /** The last one first. */
  diagnoses: DiagnosisVersion[];
}

/** What changed from one version to another. */
export type DiagnosisChanges = Diff & {
  /** The earlier version. */
  from: number;
  /** The later version. */
  to: number;
};

/** One version, in a list. */
export interface DiagnosisVersion {
  /** 1 for the first. */
  version: number;
  /** When it was made, or found to be still the same (RFC 3339). */
  made: string;
  /** Version of the plugins it was made with. */
  plugins: string;
  /** Version of the knowledge it was made with. */
  knowledge: string;
  /** What it was made of: the same for two versions of the same evidence. */
  evidence: string;
  /** Ids of the causes it found, best first. */
  causes: string[];
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

/** What changed from one diagnosis to another. */
export interface Diff {
  /** Causes that only the later one names, with their places there (0 is the best). */
  gained?: Ranked[];
  /** Causes that only the earlier one names, with their places there. */
  lost?: Ranked[];
  /** Causes that both name, in another place, with other confidence, or for other reasons. */
  changed?: Changed[];
  /** Plugins that came, went, have another version, or ended otherwise. */
  plugins?: PluginChange[];
}

/** A value of training that is no number any more. */
export interface Divergence {
  /** `loss`, `gradient`, `logits` or `perplexity`. */
  quantity?: string;
  /** `nan`, `inf` or `infinity`. */
  value?: string;
  /** The step it is told of, where printed. */
  step?: number | null;
}

/** One crash, read and diagnosed. */
export interface Document {
  /** `SCHEMA`. */
  schema: number;
  /** What crashed, and what it left. */
  report: ReportHead;
  /** Causes that explain the report, best first. None at all is a good answer when nothing fits. */
  findings: Finding[];
  /** Every plugin that was considered, and how its run ended. */
  plugins: PluginRun[];
  /** What to collect next, where the evidence can not decide between causes. */
  next?: CollectNext[];
  /** Events that are consequences of the first failure. */
  echoes?: Echo[];
  /** What was looked for, and whether it was there. */
  coverage?: Coverage[];
  /** Ids of other reports of the incident: what the ranks did together is judged from what all of them tell. */
  judged_with?: string[];
  /** What plugins were told of other reports, where one wants to know. */
  history?: History | null;
  /** What the readers found. */
  evidence: Evidence;
  /** Lists of the evidence of which only the first entries are in it, by name. */
  parts?: { [key: string]: ListPart };
}

/** A report of the same group that came before. */
export interface EarlierReport {
  /** Its id. */
  id?: string;
  /** Its title. */
  title?: string;
  /** When it came (RFC 3339). */
  received?: string;
  /** What was found in it, best first. */
  conclusions?: Conclusion[];
}

/** An event that is a consequence. */
export interface Echo {
  /** Number of the echo in the timeline. */
  event: number;
  /** Number of the event it follows from. */
  of: number;
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

/** Something that happened, with where it is written and, as far as known, when and to whom. */
export type Event = EventPayload & {
  /** Number of the event in the report's timeline; citations use it. */
  event: number;
  /** How often it was told: what is printed again and again is one event. */
  count?: number;
  /** RFC 3339 time, where the artifact has one; of the first time it was told. */
  time?: string | null;
  /** RFC 3339 time of the last time, for what was told more than once. */
  last_time?: string | null;
  /** What is uncertain about `time`, such as `no year` (glog, syslog) or `no zone`. */
  time_note?: string | null;
  /** Rank of the process, where known. */
  rank?: number | null;
  /** Process id, where known. */
  pid?: number | null;
  /** False for an echo: a consequence of another event. */
  primary?: boolean;
  /** The number of the event this one is an echo of. */
  echo_of?: number | null;
  /** True when later lines of the same process show that it went on: the failure was caught, or only printed. */
  survived?: boolean;
  /** The line that says it, shortened. */
  text?: string;
  /** The artifact that says it. */
  artifact?: string;
  /** Where in that artifact; the first place, for what was told more than once. */
  at?: Place | null;
  /** The last place, for what was told more than once. */
  last_at?: Place | null;
};

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

/** Everything the artifacts of one report say, merged. */
export interface Evidence {
  /** How the process ended, from the most direct witness there is. */
  crash?: Crash | null;
  /** Threads of every process in the report: the crashed one first. */
  threads?: Thread[];
  /** Binaries mapped into the process. */
  modules?: Module[];
  /** One per CUDA memory snapshot and device. */
  memory_snapshots?: MemorySnapshot[];
  /** Memory over time in detail, one for each of those snapshots that has more than fits in its overview. */
  memory_curves?: MemoryCurve[];
  /** Blocks and trace entries, one for each of those snapshots, in their order. */
  memory_details?: MemoryDetail[];
  /** Addresses that the GPU faulted at, and what the memory snapshots know of them (`crate::locate()`). */
  fault_addresses?: FaultAddress[];
  /** What ranks did together, judged from `recorders` and `communicators` (`crate::judge()`). */
  collectives?: Collectives | null;
  /** What NCCL itself knew of its communicators, one entry for each moment at which somebody asked. */
  communicators?: Communicator[];
  /** One per GPU core dump and device. */
  gpu_cores?: GpuCore[];
  /** All events in one order, oldest first. */
  timeline?: Event[];
  /** The processes, where artifacts tell of more than one. */
  processes?: Process[];
  /** What the collector wrote down: command, host, packages, GPUs, driver, limits. Of several processes' the first. */
  context?: { [key: string]: Json };
}

/** How the process ended. */
export interface Exit {
  /** Signal name, such as `SIGSEGV`. */
  signal?: string | null;
  /** Exit code of a process that ended by itself. */
  code?: number | null;
}

/** How much of the evidence a document has. */
export type Extent = 'start' | 'whole' | (string & {});

/** How often a value occurs among all matches. */
export interface FacetValue {
  /** The value. */
  value: string;
  /** Reports with it. */
  count: number;
}

/** The head line of a faulthandler dump. */
export interface FatalPythonError {
  /** Such as `Segmentation fault`; `Timeout (…)` for a dump that a timer asked for, which kills nothing. */
  error?: string;
  /** The signal that stands for. */
  signal?: string | null;
  /** Extension modules that were loaded, as far as the dump lists them (Python 3.10 and later; bounded). */
  extension_modules?: string[];
}

/** An address that the GPU faulted at, looked up in a memory snapshot. */
export interface FaultAddress {
  /** The address. */
  address?: Hex;
  /** Number of the event that tells it. */
  event?: number;
  /** The snapshot. */
  artifact?: string;
  /** Device index in the snapshot. */
  device?: number;
  /** What the address belonged to. */
  state?: MemoryState;
  /** The range that it lies in; outside of all of them, the nearest one that was in use. */
  block?: FaultBlock | null;
}

/** A range of device memory at or near a fault. */
export interface FaultBlock {
  /** Its first address. */
  address?: Hex;
  /** Its length. */
  bytes?: number;
  /** Bytes from its first address to the fault; negative where the fault lies before it. */
  offset?: number;
  /** The stream that it was allocated for. */
  stream?: Hex;
  /** The stack that allocated it, innermost first, as `function (file:line)`. */
  allocated_by?: string[];
  /** The stack that freed it, likewise. */
  freed_by?: string[];
  /** The trace entry that freed it. */
  freed_event?: number | null;
  /** Trace entries that followed that one. */
  events_since?: number | null;
  /** When it was freed, in microseconds since the epoch. */
  freed_us?: number | null;
}

/** A plugin's claim that a cause explains the report, every citation of which was checked. */
export interface Finding {
  /** Id of a documented cause. */
  cause?: string;
  /** The cause's title, or a more exact one. */
  title?: string;
  /** 0 to 1. */
  confidence?: number;
  /**
   * Who owns such a failure: `program`, `data`, `environment`, `framework`, `hardware`, `network`, `operator` or
   * `unknown`.
   */
  domain?: string;
  /** Whether it is worth a second try. */
  retry?: Retry;
  /** Who says so. */
  plugin?: PluginName;
  /** Why, in a few sentences about this very report. */
  explanation?: string;
  /** The places that prove it. */
  citations?: Citation[];
  /** Evidence against it. */
  contradictions?: Citation[];
  /** What to do, first things first. */
  fixes?: Fix[];
  /** Where the knowledge comes from. */
  references?: string[];
}

/** Something to do about a cause. */
export interface Fix {
  /** In a line. */
  summary?: string;
  /** How, step by step. */
  steps?: string[];
  /** When it is the wrong thing to do. */
  not_when?: string | null;
}

/** What is found. */
export interface Found {
  /** All matches. */
  total: number;
  /** Those asked for. */
  hits: Hit[];
  /** What to give as `after` for the next page; absent on the last one. */
  next?: string | null;
  /** Values by field, most frequent first, counted over all matches. */
  facets: { [key: string]: FacetValue[] };
}

/** One call on a stack. */
export interface Frame {
  /** Which world the frame is from. */
  kind?: FrameKind;
  /** Demangled name of the function; absent when nothing names the address. */
  function?: string | null;
  /** Source file. */
  file?: string | null;
  /** Line in `file`, counted from 1. */
  line?: number | null;
  /** Path of the binary the address is in. */
  module?: string | null;
  /** That binary's build id as lower-case hex. */
  build_id?: string | null;
  /** Offset of the address in the binary (file address as in its symbol table, not a file offset). */
  offset?: Hex | null;
  /** Address in the process. */
  address?: Hex | null;
  /** True when the function was inlined into the next frame. */
  inline?: boolean;
  /** How the frame was found. */
  trust?: Trust;
  /** True for the frame on which a signal interrupted the thread: the frames before it are the handler's. */
  signal?: boolean;
  /** Where in a text artifact the frame stands. */
  at?: Place | null;
}

/** The world a frame belongs to. */
export type FrameKind = 'native' | 'python' | 'gpu' | (string & {});

/** A frame by its thread and its index there, innermost first. */
export interface FramePlace {
  /** `crate::model::Thread::id` of a thread of the same artifact. */
  thread: ThreadId;
  /** Index into `crate::model::Thread::frames`. */
  index: number;
}

/** One device of one GPU core dump. The members about a fault are those of the first fault. */
export interface GpuCore {
  /** The artifact this was read from. */
  artifact?: string;
  /** Device index. */
  device?: number;
  /** Exception name without the `CUDBG_EXCEPTION_` prefix, such as `WARP_ILLEGAL_ADDRESS`. */
  exception?: string | null;
  /** Demangled kernel name. */
  kernel?: string | null;
  /** Offset of the faulting instruction in the kernel. */
  offset?: Hex | null;
  /** Source file of that instruction, where the cubin has line tables. */
  file?: string | null;
  /** Line in `file`. */
  line?: number | null;
  /** Block index of the faulting thread. */
  block?: [number, number, number] | null;
  /** Thread index within its block. */
  thread?: [number, number, number] | null;
  /** Address of the faulting instruction. */
  pc?: Hex | null;
  /** What the launch asked for: blocks of the grid. */
  grid_size?: [number, number, number] | null;
  /** Threads of a block. */
  block_size?: [number, number, number] | null;
  /** Product name, such as `NVIDIA H100 80GB HBM3`. */
  name?: string | null;
  /** Architecture, such as `sm_90`. */
  architecture?: string | null;
  /** Driver version, such as `575.57`. */
  driver?: string | null;
  /** All faults: one per warp that stopped with an exception (bounded), in order of multiprocessor and warp. */
  faults?: GpuFault[];
  /** What all resident warps were doing, most warps first (bounded). */
  warps?: WarpGroup[];
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

/** One warp that stopped with an exception. */
export interface GpuFault {
  /** Exception name without the `CUDBG_EXCEPTION_` prefix. */
  exception?: string | null;
  /** Streaming multiprocessor. */
  sm?: number;
  /** Warp on that multiprocessor. */
  warp?: number;
  /** Lane in the warp. */
  lane?: number | null;
  /** Block index. */
  block?: [number, number, number] | null;
  /** Thread index within its block. */
  thread?: [number, number, number] | null;
  /** Address of the instruction. */
  pc?: Hex | null;
  /** Demangled kernel name. */
  kernel?: string | null;
  /** Offset of the instruction in the kernel. */
  offset?: Hex | null;
}

/** All reports with one signature. */
export interface Group {
  /** The key that its reports share. */
  signature: string;
  /** How many reports there are, counted up to 10,000. */
  count: number;
  /** Time of the oldest (RFC 3339). */
  first_seen: string;
  /** Time of the newest (RFC 3339). */
  last_seen: string;
  /** The newest reports, newest first. */
  latest: Summary[];
}

/** A job that made no progress: what its processes waited in, and which of them the others waited for. */
export interface Hang {
  /**
   * `stopped` (a process was stopped by a signal), `gil` (a thread kept the interpreter's lock while it waited),
   * `apart` (a process waited elsewhere than the others), `together` (all waited in the same place) or `alone`
   * (there is one process).
   */
  family?: string;
  /** Seconds without progress before the stacks were looked at. */
  idle_s?: number;
  /** Ranks that the others waited for; empty where that is not known. */
  ranks?: number[];
  /** Rank of the first of these processes. */
  rank?: number | null;
  /** Innermost function that this process was in, of Python where it has one. */
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

/** An address, offset or 64-bit identifier. In JSON: `"0x7f0aab1c1740"`. */
export type Hex = string;

/** What was known of other reports when a report was diagnosed. */
export interface History {
  /** Key of the group whose earlier reports these are. */
  group?: string;
  /**
   * Reports of the group that came before, the last one first (bounded). It stays as it was when the report was
   * diagnosed for the first time.
   */
  earlier?: EarlierReport[];
  /** The other reports of the incident, in the order in which they came (bounded). */
  incident?: OtherReport[];
}

/** A report that was found. */
export type Hit = Summary & {
  /** How many reports have the same signature, this one included, counted up to 10,000. */
  count: number;
};

/** Host memory that could not be had. */
export interface HostOom {
  /** Bytes asked for, where printed. */
  requested?: number | null;
  /** Who was refused: `DefaultCPUAllocator`, `numpy`, `pinned`, `malloc` or `mmap`. */
  allocator?: string;
}

/** Whether searches are answered from a whole index. */
export type IndexState = 'ready' | 'rebuilding' | 'unavailable' | (string & {});

/** What the index is doing. */
export interface IndexStatus {
  /** Whether searches are answered from a whole index. */
  state: IndexState;
  /** Reports whose latest document is not in the index yet. */
  waiting: number;
  /** Seconds that the first of them has waited. */
  lag_seconds: number;
  /** While an index is built: reports that are in it already. */
  built?: number | null;
  /** While an index is built: reports that will be in it. */
  total?: number | null;
  /** Why it is not ready, or why it lags. */
  reason?: string | null;
}

/** A file of symbols that is kept here. */
export interface Kept {
  /** Build id in hex, or the debug id of a Breakpad file. */
  id: string;
  /** `executable`, `debuginfo` or `breakpad`. */
  kind: string;
  /** False when the very same was here before. */
  new: boolean;
  /** Reports that are read again, because they lacked it or used the one that it replaces. */
  reports: number;
}

/** A line of the kernel's log. */
export interface Kernel {
  /** `segfault`, `trap`, `oom-kill`, `soft-lockup`, `hung-task`, `fallen-off-bus`, `nvrm` or `hardware`. */
  family?: string;
  /** Name of the process or task. */
  process?: string | null;
  /** Fault address. */
  address?: Hex | null;
  /** Instruction pointer. */
  ip?: Hex | null;
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

/** What is kept for a build id or debug id. */
export interface Known {
  /** The id. */
  id: string;
  /** `executable`, `debuginfo`, `breakpad`, or several. */
  kinds: string[];
  /** The files. */
  files: KnownFile[];
}

/** One file that is kept. */
export interface KnownFile {
  /** `executable`, `debuginfo` or `breakpad`. */
  kind: string;
  /** Its size in bytes. */
  bytes: number;
}

/** What the last lines of a log say, where no traceback does. */
export interface LastWords {
  /**
   * Who says it: `usage` (a parser of arguments), `shell`, `interpreter`, `container`, `loader` (of binaries),
   * `threads` and `openmp` (libraries that need them), `driver`, `scheduler`, `build` (of an extension), `package`
   * (an installer that finds none), `stopped` (whoever ends the program from outside), or a command by what it
   * lacked: `network`, `refused`, `archive`, `disk`, `permission`, `files`, `memory` or `port`.
   */
  family?: string;
  /** The line. */
  message?: string;
}

/** Some lines of a text artifact. */
export interface Lines {
  /** Number of the first of `lines`, counted from 1. */
  from: number;
  /** Without line ends; very long ones are cut, and what is no UTF-8 is U+FFFD. */
  lines: string[];
  /** How many lines the artifact has. */
  total: number;
  /** False when there are more, which are not looked at or can not be unpacked: download it to see them. */
  complete: boolean;
}

/** A list that is a part of its own. */
export interface ListPart {
  /** How many entries it has. */
  entries?: number;
  /** How many of them are in the head. */
  shown?: number;
}

/** A plugin, and what was published under its name. */
export type ListedPlugin = PluginInfo & {
  /** Its versions, oldest first; of one that was not published here there are none. */
  versions?: PublishedVersion[];
};

/** A report in a list. */
export type ListedReport = Summary & {
  /** How far it has come. */
  state: ReportState;
  /** How many reports have the same signature, this one included, counted up to 10,000; absent while it has none. */
  count?: number | null;
};

/** A piece of a segment, when the snapshot was taken. */
export interface MemoryBlock {
  /** Where it begins. */
  address?: Hex;
  /** Its size. */
  bytes?: number;
  /** What the program asked for, before rounding. */
  requested?: number;
  /** `allocated`, `pending-free` (another stream may still use it) or `inactive`. */
  state?: string;
  /** Stream of its segment. */
  stream?: Hex;
  /** Private pool (CUDA graphs) of its segment, or absent for the default one. */
  private_pool?: [number, number] | null;
  /**
   * The stack that allocated it, by its position in `stacks`; absent where nobody recorded it, or where there are
   * too many.
   */
  stack?: number | null;
}

/**
 * The allocated bytes of one device over the recorded trace in more detail than `MemorySnapshot::usage` has, for
 * zooming in.
 *
 * Together they are a pyramid: each level merges the rows of the finer one before it two by two, `usage` those of the
 * last level here, and `UsageCurve::pyramid` goes on from there. A drawing takes the coarsest level that still has a
 * row per pixel of the stretch it shows.
 */
export interface MemoryCurve {
  /** The artifact this was read from. */
  artifact?: string;
  /** Device index. */
  device?: number;
  /** Finest first, the first with at most 4096 rows. */
  levels?: UsageCurve[];
}

/**
 * Blocks and trace entries of one device of a memory snapshot, for questions that sums do not answer. All sizes are
 * bytes.
 */
export interface MemoryDetail {
  /** The artifact this was read from. */
  artifact?: string;
  /** Device index. */
  device?: number;
  /** By address; the largest where there are too many (`super::MemorySnapshot::blocks` counts all). */
  blocks?: MemoryBlock[];
  /**
   * The entries before the last failed request, and those at the end of the trace
   * (`super::MemorySnapshot::events` counts all).
   */
  trace?: TraceEntry[];
  /** The stacks that these name, each innermost first, as `function (file:line)`. */
  stacks?: string[][];
}

/** One device of one `PyTorch` CUDA memory snapshot. All sizes are bytes. */
export interface MemorySnapshot {
  /** The artifact this was read from. */
  artifact?: string;
  /** Device index. */
  device?: number;
  /** Sum of segment sizes: what the allocator holds from the driver. */
  reserved?: number;
  /** Sum of blocks in state `active_allocated`. */
  allocated?: number;
  /** `allocated` plus blocks freed by the program that another stream may still use (`active_pending_free`). */
  active?: number;
  /** What the program asked for in the blocks counted in `active`, before rounding. */
  requested?: number;
  /** Number of segments. */
  segments?: number;
  /** Number of blocks. */
  blocks?: number;
  /** Number of trace entries. */
  events?: number;
  /**
   * Highest `allocated` over the recorded trace, replayed backwards from the final state; equal to `allocated`
   * when nothing was recorded.
   */
  peak_allocated?: number;
  /** Highest `active` over the recorded trace, likewise: memory counts until its free is completed. */
  peak_active?: number;
  /** Sum of inactive blocks: free, but held. */
  inactive?: number;
  /** The largest inactive block. */
  largest_inactive?: number;
  /** Bytes in blocks waiting for another stream. */
  pending_free?: number;
  /** Bytes reserved in segments of private pools (CUDA graphs). */
  private_pools?: number;
  /** True when the allocator ran with expandable segments (by its settings, or by the segments). */
  expandable_segments?: boolean | null;
  /** How many requests failed, as far as the trace reaches back. */
  oom_events?: number;
  /** The failed request (the last one), when the trace has an `oom` event. */
  oom?: OomRequest | null;
  /** Live memory grouped by the stack that allocated it, largest first (bounded). */
  clusters?: AllocationCluster[];
  /**
   * Memory by what the allocator will reuse it for: a free block serves only its own stream, pool and size class.
   * Most reserved first (bounded).
   */
  pools?: PoolUsage[];
  /** The moment of `peak_allocated` and what was alive then, when a trace was recorded. */
  peak?: Peak | null;
  /** Allocated bytes over the recorded trace, at a glance: at most 512 rows. `MemoryCurve` has more detail. */
  usage?: UsageCurve | null;
  /** The allocator's settings as written in the snapshot. */
  settings?: { [key: string]: Json };
}

/** What had become of a range of device memory. */
export type MemoryState = 'allocated' | 'pending' | 'freed' | 'returned' | 'unused' | 'outside' | (string & {});

/** A rank that did not answer. */
export type MissingRank = RankProcess & {
  /** Rank in the communicator. */
  rank?: number;
  /** True when NCCL gave its process up for dead: it could not be reached for a minute. */
  dead?: boolean;
  /**
   * True when its process did not answer; false when it answered and is no member, as it is before and after the
   * communicator's time.
   */
  unresponsive?: boolean;
};

/** A binary mapped into a process. */
export interface Module {
  /** Path at the time of the crash. */
  path?: string;
  /** Build id as lower-case hex, when its note was found. */
  build_id?: string | null;
  /**
   * Of a minidump's module the id that Breakpad's symbol files have in their first line: GUID and age in upper-case
   * hex (Breakpad `docs/symbol_files.md`).
   */
  debug_id?: string | null;
  /** Lowest address of its mappings. */
  start?: Hex;
  /** End of its highest mapping (exclusive). */
  end?: Hex;
  /** What symbols came from: `debug-file`, `binary`, `symbol-file` (Breakpad), `core`; absent when there were none. */
  symbols?: string | null;
  /** The artifact that says so. */
  artifact?: string;
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
   * client answered `ras-dead` or `ras-unresponsive`.
   */
  family?: string;
}

/** An artifact of a new report: small ones come with their `data`, large ones are declared and sent with PUT. */
export interface NewArtifact {
  /** File name. */
  name: string;
  /** Size in bytes; needed without `data`. */
  bytes?: number | null;
  /** SHA-256 of the bytes, hex; needed without `data`. */
  sha256?: string | null;
  /** The bytes in base64. */
  data?: string | null;
}

/** A new report. */
export interface NewReport {
  /** What is known about the crash: host, rank, job, command (free form). */
  metadata?: { [key: string]: Json };
  /** What the crash left. */
  artifacts: NewArtifact[];
}

/** An allocation that the allocator could not serve. */
export interface OomRequest {
  /** Bytes asked for. */
  requested?: number;
  /** Bytes the device had free at that moment. */
  device_free?: number;
  /** Stream the request was for. */
  stream?: Hex;
  /** Inactive bytes in segments that this request could have used (same stream, same pool). */
  usable_inactive?: number;
  /** The largest of those blocks. */
  largest_usable?: number;
  /** Bytes allocated at that moment. */
  allocated?: number;
  /** Bytes reserved at that moment. */
  reserved?: number;
  /** Microseconds since the epoch, where the trace has times. */
  time_us?: number | null;
  /** Index of the event in the device's trace. */
  trace_event?: number;
  /** Where the program asked, innermost first, as `function (file:line)`. */
  frames?: string[];
}

/**
 * Another report of the same incident: what is known of it from its evidence alone, so that no two reports wait for
 * what is concluded of the other.
 */
export interface OtherReport {
  /** Its id. */
  id?: string;
  /** Its title. */
  title?: string;
  /** When it came (RFC 3339). */
  received?: string;
  /** Key of its group. */
  group?: string | null;
  /** The machine it happened on. */
  host?: string | null;
  /** Ranks that appear in it; of very many the first. */
  ranks?: number[];
  /** Signal name. */
  signal?: string | null;
  /** Class of the Python exception, or name of the GPU exception. */
  exception?: string | null;
}

/** How a plugin's run ended. */
export type Outcome = 'ok' | 'failed' | 'skipped' | 'unavailable' | (string & {});

/** The moment at which most was allocated. */
export interface Peak {
  /** Bytes allocated. */
  allocated?: number;
  /** Index of the event in the device's trace that reached it; absent when it was reached before recording began. */
  trace_event?: number | null;
  /** Microseconds since the epoch, where the trace has times. */
  time_us?: number | null;
  /**
   * What was alive, by the stack that allocated it, largest first (bounded). Sizes of what was freed later are as
   * the program asked for them.
   */
  clusters?: AllocationCluster[];
}

/**
 * A place in an artifact. In JSON one of `{"line":[a,b]}`, `{"frame":{"thread":…,"index":…}}`, `{"event":n}`,
 * `{"bytes":[a,b]}`, `{"fact":"json.pointer"}`.
 */
export interface Place {
  /** Lines `a` to `b` of a text artifact, both included, counted from 1. */
  line?: [number, number];
  /** A frame of a thread. */
  frame?: FramePlace;
  /** The number of an event in the timeline (`crate::model::Event::event`). */
  event?: number;
  /** Bytes `a` up to, not including, `b` of the artifact as stored. */
  bytes?: [number, number];
  /** A dotted path into the report's evidence, such as `memory_snapshots.0.reserved`. */
  fact?: string;
}

/** A plugin of which something changed; absent members for one that was not there. */
export interface PluginChange {
  /** Name. */
  name: string;
  /** Version before and after. */
  version: [string | null, string | null];
  /** How its runs ended. */
  outcome: [Outcome | null, Outcome | null];
}

/** An installed plugin, as command line, server and UI list it. */
export interface PluginInfo {
  /** Name, unique among installed plugins; of one that can not be used, its file's name. */
  name?: string;
  /** Semantic version; empty for one that can not be used. */
  version?: string;
  /** Ids of the causes it can name. */
  causes?: string[];
  /** Evidence of which it needs at least one kind. */
  needs_any_of?: string[];
  /** Evidence of which it needs every kind. */
  needs_all_of?: string[];
  /** Where it comes from: `built-in`, or its file. */
  source?: string;
  /** SHA-256 of the component, lower-case hex; empty for one that could not be read. */
  sha256?: string;
  /** Ids of the causes whose pages it brings. */
  pages?: string[];
  /** What its component imports. */
  imports?: string[];
  /** Who signed its package: the name of a trusted key, or an unknown one. */
  signed_by?: string | null;
  /** Why it can not be used. */
  problem?: string | null;
  /** Why it is not used at the moment. */
  notice?: string | null;
  /** How its runs went, in a program that goes on running. */
  runs?: PluginRuns | null;
}

/** A plugin by name and version. */
export interface PluginName {
  /** Name, unique among installed plugins. */
  name: string;
  /** Semantic version. */
  version: string;
}

/** How one plugin's run ended. */
export interface PluginRun {
  /** Name. */
  name: string;
  /** Version. */
  version: string;
  /** How it ended. */
  outcome: Outcome;
  /** Why it failed or was skipped, in words. */
  reason?: string | null;
  /** Fuel used. */
  fuel: number;
  /** Wall time in milliseconds; absent where a diagnosis is stored. */
  millis?: number | null;
  /** The most memory it used, in bytes. */
  memory?: number;
  /** What it logged (bounded). */
  log?: string[];
}

/** The runs of a plugin since it was installed, as far as the program that runs it was told of earlier ones. */
export interface PluginRuns {
  /** Those that were in order. */
  ok?: number;
  /** Those that failed. */
  failed?: number;
  /** Reports that it was not run on, for what it needs was absent, or because it is set aside. */
  skipped?: number;
  /** Those that the host could not do. */
  unavailable?: number;
  /** Fuel of all of them. */
  fuel?: number;
  /** The most fuel that one took. */
  most_fuel?: number;
  /** The most memory that one used, in bytes. */
  most_memory?: number;
  /** Milliseconds of processor time of all of them. */
  millis?: number;
  /** Why the last one failed that did. */
  last_failure?: string | null;
  /** How many failed, or cost most of what a run may, one after the other up to now. */
  strikes?: number;
  /** What the last of these was. */
  last_strike?: string | null;
}

/** The plugins. */
export interface Plugins {
  /** By name. */
  plugins: ListedPlugin[];
}

/** Segments that one kind of request can be served from. */
export interface PoolUsage {
  /** The stream whose requests may use it. */
  stream?: Hex;
  /** Private pool (CUDA graphs), or absent for the default one. */
  private_pool?: [number, number] | null;
  /** `small` (requests up to 1 MiB) or `large`. */
  size_class?: string;
  /** Bytes held from the driver. */
  reserved?: number;
  /** Bytes in allocated blocks. */
  allocated?: number;
  /** Bytes freed by the program that another stream may still use. */
  pending_free?: number;
  /** Bytes in free blocks. */
  inactive?: number;
  /** The largest free block. */
  largest_inactive?: number;
}

/** Whether evidence was there. */
export type Presence = 'found' | 'damaged' | 'absent' | (string & {});

/** A plugin or page that is tried on stored reports. */
export interface Preview {
  /** Counted from 1. */
  number: number;
  /** Name of the plugin, or id of the page's cause. */
  name: string;
  /** Version of the plugin; empty for a page. */
  version: string;
  /** SHA-256 of its file. */
  sha256: string;
  /** `plugin` or `page`. */
  kind: string;
  /** The search whose results are looked at; all reports when absent. */
  query?: string | null;
  /** How far it has come. */
  state: PreviewState;
  /** Why it failed. */
  reason?: string | null;
  /** When it was asked for (RFC 3339). */
  created: string;
  /** ChangedReports in its scope. */
  reports: number;
  /** Those that were looked at. */
  looked_at: number;
  /** Those of which something else would be concluded. */
  changed: number;
}

/** A preview, and what it would change. */
export type PreviewChanges = Preview & {
  /** What changes in how many reports, most first. */
  changes: ChangeCount[];
};

/** What was done. */
export type PreviewDone = Preview & {
  /** ChangedReports of which something else is concluded now. */
  reports_changed: number;
};

/** How far a preview has come. */
export type PreviewState = 'running' | 'ready' | 'applied' | 'undone' | 'cancelled' | 'failed' | (string & {});

/** Previews. */
export interface Previews {
  /** The last one first. */
  previews: Preview[];
}

/** One named defect of an artifact. Reading goes on after it. */
export interface Problem {
  /** A stable kebab-case name, such as `truncated` or `limit-events`. */
  code: string;
  /** What happened, to what, and what to do next; lower case, no trailing stop. */
  message: string;
  /** Where in the artifact, when that is known. */
  at?: Place | null;
}

/** The body of an error answer. */
export interface ProblemDocument {
  /** URI of the kind of problem: `urn:whycrash:problem:<code>`. */
  type: string;
  /** Stable name of the kind of problem. */
  code: string;
  /** HTTP status. */
  status: number;
  /** The kind of problem in a line. */
  title: string;
  /** What is wrong this time. */
  detail: string;
  /** What to do about it. */
  hint: string;
}

/** One process of a report that tells of several. */
export interface Process {
  /** Process id. */
  pid?: number;
  /** Rank in its job, where known. */
  rank?: number | null;
  /** How it ended, where that is known of it. */
  crash?: Crash | null;
  /** What the collector wrote down about it. */
  context?: { [key: string]: Json };
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

/** How far a report has come. Its document is served with the same members. */
export interface Progress {
  /** Whether it is read yet. */
  state: ReportState;
  /** When it came (RFC 3339). */
  received: string;
  /** When the crash happened, as far as known; else when the report came (RFC 3339). */
  time: string;
  /** Why processing failed, in words. */
  failure?: string | null;
  /** Names of artifacts whose bytes are kept no longer. */
  expired?: string[];
}

/** A version that was published. */
export interface PublishedVersion {
  /** As the plugin says it; empty where it was never asked. */
  version?: string;
  /** SHA-256 of its file, lower-case hex. */
  sha256?: string;
  /** `zip` of a package, `wasm` of a component. */
  extension?: string;
  /** When it was published (RFC 3339); the last time, where that was done more than once. */
  published?: string;
  /** Who signed it, as `PluginInfo::signed_by` has it. */
  signed_by?: string | null;
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
   * What it is to the exception printed after it: `cause` (raise … from), `context` (during handling), `original`
   * (a worker's own, brought to the parent), `group` (a member or the group around it); absent for the last one.
   */
  relation?: string | null;
  /** The thread or process the line before the traceback names, such as `Process SpawnProcess-1`. */
  process?: string | null;
  /** True when the interpreter only reported it (`Exception ignored in …`). */
  ignored?: boolean;
}

/** Where a rank runs. */
export interface RankProcess {
  /** Host, as NCCL names it: mostly an address. */
  host?: string | null;
  /** Process id. */
  pid?: number | null;
  /** CUDA's number of its GPU. */
  device?: number | null;
}

/** A cause and its place among the findings. */
export interface Ranked {
  /** Id of the cause. */
  cause: string;
  /** 0 for the best finding. */
  rank: number;
  /** 0 to 1. */
  confidence: number;
}

/** Whether requests can be served. */
export interface Ready {
  /** `ready`, or `degraded` while searches may lack something. */
  status: string;
  /** What the index is doing. */
  index: IndexStatus;
}

/** A plugin that is gone. */
export interface Removed {
  /** Its name. */
  name: string;
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

/** A report's document, and how far the report has come. */
export type ReportDocument = Progress & Document;

/** What crashed, and what it left. */
export interface ReportHead {
  /** Identifies the report; derived from its metadata and artifacts, so that the same upload twice is one report. */
  id?: string;
  /** One line a person recognizes the crash by. */
  title?: string;
  /** What the report is grouped by. */
  signature?: Signature;
  /** How the process ended. */
  exit?: Exit;
  /** What it left. */
  artifacts?: ArtifactHead[];
}

/** How far a report has come. */
export type ReportState = 'uploading' | 'processing' | 'done' | 'failed' | 'quarantined' | (string & {});

/** Reports by the time they came, newest first. */
export interface Reports {
  /** How many there are in all, counted up to 10,000. */
  total: number;
  /** Those asked for. */
  reports: ListedReport[];
  /** What to give as `after` for the next page; absent on the last one. */
  next?: string | null;
}

/** Whether a second try is worth it, and why. */
export interface Retry {
  /**
   * `retry`, `retry-elsewhere` (on another machine), `change-first` (the same again fails again), `ask-owner`
   * (somebody ended it on purpose, or has to act), or `unknown`.
   */
  advice?: string;
  /** Why, in a sentence; empty when the advice is `unknown`. */
  because?: string;
}

/** An error a sanitizer reported. */
export interface Sanitizer {
  /** `compute-sanitizer`, `asan`, `ubsan`, `tsan`, `lsan` or `msan`. */
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

/** One version. */
export type ShownDiagnosis = DiagnosisVersion & {
  /** Causes that explain the report, best first. */
  findings: Finding[];
  /** Every plugin that was considered, and how its run ended. */
  plugins_run: PluginRun[];
  /** What to collect next, where the evidence can not decide between causes. */
  next: CollectNext[];
  /** Events that are consequences of the first failure. */
  echoes: Echo[];
  /** What was looked for, and whether it was there. */
  coverage: Coverage[];
};

/** The grouping key, with the reason for it. */
export interface Signature {
  /** `VERSION`. */
  version?: number;
  /** First 16 hex digits of the SHA-256 of `parts`; empty when nothing failed: such reports are not alike. */
  key?: string;
  /** What the key is made of. */
  parts?: string[];
  /** Why these parts, in words. */
  why?: string;
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

/** In which order results come. */
export type Sort = 'relevance' | 'newest' | (string & {});

/** What a list of reports shows of one. */
export interface Summary {
  /** Report id. */
  id: string;
  /** One line a person recognizes the crash by. */
  title?: string;
  /** Id of the best finding's cause. */
  cause?: string | null;
  /** Title of the best finding. */
  finding?: string | null;
  /** Signal name. */
  signal?: string | null;
  /** Key of the group. */
  signature?: string | null;
  /** The machine it happened on. */
  host?: string | null;
  /** Class of the Python exception, or name of the GPU exception. */
  exception?: string | null;
  /** When it happened, as far as known; else when it came (RFC 3339). */
  time?: string;
  /** When it came (RFC 3339). */
  received?: string;
  /** Ranks that appear in the report. */
  ranks?: number[];
  /** How many more ranks there are. */
  ranks_omitted?: number;
}

/** One thread of one process, innermost frame first. */
export interface Thread {
  /** Names the thread within its artifact. */
  id: ThreadId;
  /** Thread name, where the artifact has it. */
  name?: string | null;
  /** Rank of the process in its job, where known. */
  rank?: number | null;
  /** Process id, where known. */
  pid?: number | null;
  /** True for the thread that got the fatal signal or raised the uncaught exception. */
  crashed?: boolean;
  /** The artifact this stack was read from. */
  artifact?: string;
  /** Innermost first; an inlined function is a frame of its own. */
  frames?: Frame[];
  /** Frames that were left out in the middle of `frames` because the stack is deeper than the cap. */
  frames_omitted?: number | null;
  /** True where the interpreter's own memory, or who looked at it, says that this thread holds Python's lock. */
  holds_gil?: boolean;
}

/** Names a thread within its artifact. */
export type ThreadId = number | string;

/** An entry of the trace. */
export interface TraceEntry {
  /** Its place in the device's trace. */
  number?: number;
  /**
   * `alloc`, `free-requested`, `free-completed`, `segment-alloc`, `segment-free`, `segment-map`, `segment-unmap`,
   * `failed` or `other`.
   */
  action?: string;
  /** What it is about; zero for a request that failed. */
  address?: Hex;
  /** As the program asked for them. */
  bytes?: number;
  /** The stream it was for. */
  stream?: Hex;
  /** Private pool (CUDA graphs), or absent for the default one. */
  private_pool?: [number, number] | null;
  /** Microseconds since the epoch, where the trace has times. */
  time_us?: number | null;
  /** Where the program was, by its position in `stacks`. */
  stack?: number | null;
}

/** How a frame was found, best first. */
export type Trust = 'context' | 'cfi' | 'call-site' | 'frame-pointer' | 'scan' | 'reported' | 'interpreter' | (string & {});

/** How far an upload has come. */
export interface Uploaded {
  /** Bytes that are durably here. */
  offset: number;
  /** Bytes that were declared. */
  bytes: number;
  /** Whether the artifact is whole and has the declared SHA-256. */
  stored: boolean;
}

/**
 * A level over time as columns: one row per stretch of the trace, with the lowest and highest value in it, so that
 * no spike is lost however few rows there are.
 */
export interface UsageCurve {
  /** Index of the first trace event of each stretch. */
  event?: number[];
  /** When each stretch begins, in microseconds since the epoch; empty when the trace has no times. */
  time_us?: number[];
  /** Lowest value in the stretch, in bytes. */
  min?: number[];
  /** Highest value in the stretch, in bytes. */
  max?: number[];
}

/** One time that a cause was reproduced. */
export interface Verified {
  /** Date, ISO 8601. */
  date?: string;
  /** Hardware and versions. */
  on?: string;
  /** What was observed. */
  observed?: string;
}

/** An artifact whose bytes are still to be sent. */
export interface Wanted {
  /** Its name: `PUT …/artifacts/{name}`. */
  name: string;
  /** Its size in bytes. */
  bytes: number;
  /** Its digest. */
  sha256: string;
}

/** Warps that were at the same place of the same kernel. */
export interface WarpGroup {
  /** Demangled kernel name. */
  kernel?: string | null;
  /** Offset in the kernel of the first active lane. */
  offset?: Hex | null;
  /** Number of warps. */
  count?: number;
  /** Number of these that stopped with an exception. */
  faulted?: number;
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
