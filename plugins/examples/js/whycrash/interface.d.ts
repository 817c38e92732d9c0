// The types of the plugin interface, as plugins in JavaScript and TypeScript meet them. Made of `plugins/wit/v1` by
// `make contract`: mend the interface, and not this file.
//
// Numbers are numbers. Only an address may be above 2^53, and is a bigint there.

/** A file that the crash left. */
export interface Artifact {
  name: string;
  /** As in the report document: `elf-core`, `memory-snapshot`, `log`, … */
  kind: string;
  /** Size as stored. */
  bytes: number;
  /** Number of lines of a text artifact; 0 for any other. */
  lines: number;
}

/** A line of a text artifact. */
export interface Line {
  artifact: string;
  /** Counted from 1. */
  number: number;
  /** Without its line end; invalid UTF-8 replaced; cut where it is longer than the host's cap. */
  text: string;
}

export interface Thread {
  id: string;
  name?: string;
  rank?: number;
  pid?: number;
  crashed: boolean;
  artifact: string;
  /** Number of frames. */
  frames: number;
  /** Frames left out in the middle because the stack is deeper than the reader's cap. */
  omitted: number;
}

export interface Frame {
  /** `native`, `python` or `gpu`. */
  kind: string;
  function?: string;
  file?: string;
  line?: number;
  /** Path of the binary. */
  module?: string;
  address?: number | bigint;
  inline: boolean;
  /** `context`, `cfi`, `frame-pointer`, `scan`, `reported` or `interpreter`. */
  trust: string;
  /** A signal interrupted the thread here; the frames before this one are the handler's. */
  signal: boolean;
}

export interface Event {
  /** Its number in the timeline. */
  number: number;
  kind: string;
  /** Its particulars, as JSON. */
  detail: string;
  /** The line that says it, shortened. */
  text: string;
  artifact: string;
  /** Where it stands, when the artifact is text. */
  lines?: [number, number];
  rank?: number;
  pid?: number;
  time?: string;
  /** False for a consequence of another event, and for what did not end the process. */
  primary: boolean;
  /** Later lines show that the process went on. */
  survived: boolean;
}

/** Where the code of a frame lies. */
export interface Code {
  /** Of the binary, as lower-case hex. */
  buildId?: string;
  /** Address of the code as in the binary's symbol table. */
  offset?: number | bigint;
  /** Where the frame stands, when the artifact is text. */
  lines?: [number, number];
}

/** A binary mapped into a process. */
export interface Module {
  path: string;
  buildId?: string;
  /** Its lowest address, and the one behind its highest. */
  first: number | bigint;
  end: number | bigint;
  /** What names came from: `debug-file`, `binary`, `symbol-file` or `core`; absent where there are none. */
  symbols?: string;
  artifact: string;
}

/** A piece of software, and which version of it was there. */
export interface Software {
  /** In lower case, such as `nccl`: of a binary without `lib`, of NVIDIA's Python packages without `nvidia-` and `-cu12`. The GPU's driver is `nvidia-driver`, the operating system's kernel `linux`. */
  name: string;
  /** As it is written there. */
  version: string;
  /** The fact that says so, to be cited: a package of the context, the path of a module, an event. */
  fact: string;
}

/** One device of one GPU core dump. What is said of a fault is said of the first. */
export interface Core {
  artifact: string;
  device: number;
  /** Without its `CUDBG_EXCEPTION_`, such as `WARP_ILLEGAL_ADDRESS`. */
  exception?: string;
  /** Demangled. */
  kernel?: string;
  /** Of the faulting instruction in the kernel. */
  offset?: number | bigint;
  file?: string;
  line?: number;
  block?: [number, number, number];
  thread?: [number, number, number];
  /** What the launch asked for. */
  gridSize?: [number, number, number];
  blockSize?: [number, number, number];
  /** Of the product, such as `NVIDIA H100 80GB HBM3`. */
  name?: string;
  /** Such as `sm_90`. */
  architecture?: string;
}

/** A warp that stopped with an exception. */
export interface Fault {
  exception?: string;
  /** Streaming multiprocessor, and the warp on it. */
  sm: number;
  warp: number;
  lane?: number;
  block?: [number, number, number];
  thread?: [number, number, number];
  kernel?: string;
  offset?: number | bigint;
}

/** Warps that were at the same place of the same kernel. */
export interface Warps {
  kernel?: string;
  offset?: number | bigint;
  count: number;
  /** How many of these stopped with an exception. */
  faulted: number;
}

/** A cause that was found in another report. */
export interface Conclusion {
  cause: string;
  title?: string;
  /** 0 to 1. */
  confidence: number;
  /** Name of the plugin that says so. */
  plugin: string;
}

/** A report of the same group that came before this one. */
export interface EarlierReport {
  /** Its id. */
  id: string;
  title: string;
  /** When it came (RFC 3339). */
  received: string;
  /** What was found in it when this report was diagnosed for the first time, best first. */
  conclusions: Conclusion[];
  /** The fact that says so, to be cited: its title. */
  fact: string;
}

/** Another report of the same incident: as what it was known when this report was diagnosed for the first time. */
export interface OtherReport {
  /** Its id. */
  id: string;
  title: string;
  /** When it came (RFC 3339). */
  received: string;
  /** Key of the group that it is in. */
  group?: string;
  host?: string;
  /** Ranks that appear in it; of very many the first. */
  ranks: number[];
  /** Name of the signal. */
  signal?: string;
  /** Class of the Python exception, or name of the GPU exception. */
  exception?: string;
  /** The fact that says so, to be cited: its title. */
  fact: string;
}

/** Who owns a failure. */
export type Domain = 'program' | 'data' | 'environment' | 'framework' | 'hardware' | 'network' | 'operator' | 'unknown';

/** Whether a second try is worth it. */
export type Retry = 'again' | 'elsewhere' | 'change-first' | 'ask-owner' | 'unknown';

/** A documented cause. Its title, its fixes and its references are shown with what is found, as they are that day. */
export interface Cause {
  id: string;
  /** Other ids that its page answers for. */
  also: string[];
  /** `fatal`, `wrong-results`, `slow` or `notice`. */
  severity: string;
  domain: Domain;
  retry: Retry;
  tags: string[];
  /** Of a family: the causes that look alike. */
  members: string[];
  /** Causes that it leads to, and that look like failures of their own. */
  leadsTo: string[];
  /** It holds of so much that it is only said where nothing else is. */
  lastResort: boolean;
}

/** What is to be said of a finding in place of what its cause's page says. */
export interface Advice {
  /** Of one of the findings that `diagnose` is about to return. */
  cause: string;
  domain?: Domain;
  retry?: Retry;
  /** Why, in a sentence, where there is advice about a second try. */
  because?: string;
}

/** One device of one memory snapshot. */
export interface Snapshot {
  artifact: string;
  device: number;
  /** Held from the driver. */
  reserved: number;
  /** In blocks that the program uses. */
  allocated: number;
  /** `allocated`, and what the program freed while another stream may still use it. */
  active: number;
  /** What the program asked for in `active`, before rounding. */
  requested: number;
  /** In free blocks. */
  inactive: number;
  largestInactive: number;
  /** Freed, but another stream may still use it. */
  pendingFree: number;
  /** Of `reserved`, in private pools (CUDA graphs). */
  privatePools: number;
  segments: number;
  blocks: number;
  /** Entries of the recorded trace. */
  events: number;
  /** The most that was allocated during the trace. */
  peakAllocated: number;
  peakActive: number;
  /** Absent where the snapshot does not say. */
  expandableSegments?: boolean;
  /** Requests that failed, as far as the trace reaches back. */
  failedRequests: number;
  /** How many of `blocks` and of `events` can be asked for one by one: the largest blocks, and the entries before the last failed request and at the end. */
  blocksKept: number;
  eventsKept: number;
}

/** An allocation that the allocator could not serve. */
export interface FailedRequest {
  requested: number;
  /** Free on the device at that moment. */
  deviceFree: number;
  allocated: number;
  reserved: number;
  stream: number | bigint;
  /** Free in segments that this request could have used, and the largest of those blocks. */
  usableInactive: number;
  largestUsable: number;
  /** Its place in the trace. */
  traceEvent: number;
  /** Where the program asked, innermost first, as `function (file:line)`. */
  frames: string[];
}

/** When memory was alive. */
export type Moment = 'end' | 'peak';

/** Blocks that one stack allocated. */
export interface Cluster {
  bytes: number;
  blocks: number;
  /** For memory alive at the end: how much of it was there when recording began, and after each further eighth of the trace. A leak climbs steadily. */
  growth: number[];
  /** The stack, innermost first, as `function (file:line)`. */
  frames: string[];
}

/** Memory that one kind of request can be served from. */
export interface Pool {
  stream: number | bigint;
  /** The private pool (CUDA graphs); none for the default one. */
  privatePool?: [number, number];
  /** `small` or `large`. */
  sizeClass: string;
  reserved: number;
  allocated: number;
  pendingFree: number;
  inactive: number;
  largestInactive: number;
}

/** A stretch of the trace. */
export interface Stretch {
  /** The first trace entry of it. */
  event: number;
  /** When it began, in microseconds since 1970; absent where the trace has no times. */
  timeUs?: number;
  /** The least and the most that was allocated in it. */
  least: number;
  most: number;
}

/** What a block of memory is used for. */
export type BlockState = 'allocated' | 'pending-free' | 'inactive';

/** A piece of a segment, when the snapshot was taken. */
export interface Block {
  address: number | bigint;
  bytes: number;
  /** What the program asked for in it, before rounding. */
  requested: number;
  state: BlockState;
  /** Of its segment. */
  stream: number | bigint;
  privatePool?: [number, number];
  /** The stack that allocated it, innermost first, as `function (file:line)`. */
  frames: string[];
  /** The fact that says so, to be cited: its address. */
  fact: string;
}

/** What an entry of the trace tells of. */
export type Action = 'alloc' | 'free-requested' | 'free-completed' | 'segment-alloc' | 'segment-free' | 'segment-map' | 'segment-unmap' | 'failed' | 'other';

/** An entry of the trace. */
export interface Entry {
  /** Its place in the trace. */
  number: number;
  action: Action;
  address: number | bigint;
  /** As the program asked for them. */
  bytes: number;
  stream: number | bigint;
  privatePool?: [number, number];
  /** Microseconds since 1970; absent where the trace has no times. */
  timeUs?: number;
  /** Where the program was, innermost first, as `function (file:line)`. */
  frames: string[];
  /** The fact that says so, to be cited: its action. */
  fact: string;
}

/** Who is told of, and where to look first. */
export interface Overview {
  /** Ranks whose flight recorder is in the report. */
  recorded: number[];
  /** Ranks that a group names and whose recorder is not. */
  unrecorded: number[];
  /** Ranks that others wait for and that wait for nobody themselves. */
  culprits: number[];
  /** Ranks that wait for each other in a circle, each for the next. */
  circle: number[];
  /** Ranks that had started fewer operations than others the only time that somebody asked NCCL. */
  behindOnce: number[];
  /** How many verdicts there are. */
  verdicts: number;
}

/** A collective operation that did not match across ranks. */
export interface Verdict {
  /** Its number among the verdicts: the fact `collectives.verdicts.N` is this one. */
  number: number;
  /** Name of the process group, and what the program calls it. */
  group: string;
  groupDescription: string;
  /** Its number in its group; of a send or receive, among those of the rank that waits. */
  sequence: number;
  /** `op-mismatch`, `shape-mismatch`, `dtype-mismatch`, `missing-rank` or `not-completed` of flight recorders; `dead-rank`, `failed-rank`, `unresponsive-rank` or `behind-rank` of communicators. */
  kind: string;
  /** Ranks that differ from the rest, or are missing. */
  ranks: number[];
  /** Ranks that entered it. */
  entered: number[];
  /** What most ranks recorded, such as `nccl:all_reduce`. */
  operation: string;
  /** What the ranks did, in words. */
  detail: string;
  /** When the first rank entered it (RFC 3339), by that rank's clock. */
  time?: string;
  pointToPoint: boolean;
  /** Where the program called it, innermost first, as `function (file:line)`. */
  frames: string[];
}

/** Lines of a text artifact, both included, counted from 1. */
export interface LineRange {
  first: number;
  last: number;
}

/** A frame of a thread of the cited artifact, counted from 0, innermost first. */
export interface FramePlace {
  /** The thread's `id`, as `report.threads` gives it. */
  thread: string;
  index: number;
}

/** Bytes `first` up to, not including, `end` of an artifact as stored. */
export interface ByteRange {
  first: number;
  end: number;
}

/** An exact place in a report. */
export type Place =
  | { tag: 'line'; val: LineRange }
  | { tag: 'frame'; val: FramePlace }
  | { tag: 'event'; val: number }
  | { tag: 'bytes'; val: ByteRange }
  | { tag: 'fact'; val: string };

/** A place and what stands there. The host checks both; a finding with a citation that does not hold is dropped and the plugin's run counts as failed. */
export interface Citation {
  /** Name of the artifact; empty for an event or a fact. */
  artifact: string;
  at: Place;
  /** For lines: a piece of each cited line, or of all of them joined by line feeds. For a frame: its function's name, or nothing. For an event: a piece of its text. For a fact: its value, as JSON or bare. For bytes, which must be where an event stands: a piece of that event's text. */
  quote: string;
}

export interface Report {
  artifacts(): Artifact[];
  /** The JSON at a dotted path into the evidence, such as `crash.signal` or `memory_snapshots.0.reserved`. */
  fact(path: string): string | undefined;
  /** Lines of a text artifact, from number `first` on. */
  lines(artifact: string, first: number, count: number): Line[];
  /** Lines that match a regular expression of linear time (no look-around, no back-references), in one text artifact or in all of them. The error says what is wrong with the pattern. */
  search(artifact: string | undefined, pattern: string, limit: number): Line[];
  /** Threads, the crashed one first. */
  threads(first: number, count: number): Thread[];
  /** Frames of the thread at this position among the threads, innermost first. */
  frames(thread: number, first: number, count: number): Frame[];
  /** Events of this kind, or of all kinds, oldest first; `first` counts among those. */
  events(kind: string | undefined, first: number, count: number): Event[];
  /** One JSON object for each device of each memory snapshot. */
  memorySnapshots(): string[];
  /** What did not match across ranks, one JSON object each; those that involve this rank when one is given. */
  collectives(rank: number | undefined): string[];
  /** The JSON at a dotted path into what the collector wrote down, such as `environment.LD_PRELOAD`. */
  context(path: string): string | undefined;
  /** How many entries a list of the evidence has, such as `threads`, `communicators`, `processes` or `gpu_cores`, whose facts are at `threads.0` and so on. 0 where there is no such list. */
  count(of: string): number;
  /** Where the code of these frames lies: one for each that `frames` gives for the same range. */
  codes(thread: number, first: number, count: number): Code[];
  /** Binaries mapped into the processes. */
  modules(first: number, count: number): Module[];
  /** Software whose version the evidence tells: all of it, or what has this name. Different witnesses may tell of different versions. */
  software(name: string | undefined): Software[];
  /** One entry for each device of each GPU core dump. */
  gpuCores(): Core[];
  /** The warps of one of them that stopped with an exception, in order of multiprocessor and warp. */
  gpuFaults(core: number, first: number, count: number): Fault[];
  /** What its warps were doing, most first. */
  gpuWarps(core: number, first: number, count: number): Warps[];
  /** The memory snapshots; others are asked for by their position among these. */
  memorySummaries(): Snapshot[];
  /** The last request that failed. */
  failedRequest(snapshot: number): FailedRequest | undefined;
  /** Memory by the stack that allocated it, most first. */
  clusters(snapshot: number, at: Moment, first: number, count: number): Cluster[];
  /** Memory by what it can be reused for, most reserved first. */
  pools(snapshot: number, first: number, count: number): Pool[];
  /** How much was allocated between two entries of the trace, `end` not included, in at most `count` stretches, as fine as is known. */
  usage(snapshot: number, first: number, end: number, count: number): Stretch[];
  /** Blocks by address: from the one that this address lies in on, or from the next one above it. */
  blocks(snapshot: number, address: number | bigint, count: number): Block[];
  /** Entries of the trace from number `first` on, as far as they are kept. */
  trace(snapshot: number, first: number, count: number): Entry[];
  /** What the ranks did together; none where nobody recorded it. */
  rankOverview(): Overview | undefined;
  /** What did not match across ranks, the first divergence first; what involves this rank when one is given. */
  rankVerdicts(rank: number | undefined, first: number, count: number): Verdict[];
  /** Reports of the same group that came before this one, the last one first. At most 16 are known. */
  earlier(first: number, count: number): EarlierReport[];
  /** The other reports of the incident, in the order in which they came. At most 64 are known. */
  incident(first: number, count: number): OtherReport[];
  /** The documented cause that answers for this id. */
  cause(id: string): Cause | undefined;
  /** Those of `recognise-tables` that may look for something that happened: the report has an event of each kind that the table asks for, with the words that it can not do without. The same text, and in the same order. */
  recogniseTables(): string[];
  /** Says more of a finding than it has room for. Of two pieces of advice about one cause the later counts. */
  advise(advice: Advice): void;
}
