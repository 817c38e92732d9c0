/**
 * The report document and the server's other answers, as JSON.
 *
 * Every field is optional to a reader and enums may grow: unknown values are shown as they are. Addresses and
 * 64-bit identifiers are hex strings, because a JavaScript number holds 53 bits.
 */

/** Values that JSON can hold. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** An exact place in a report. Exactly one member is present. */
export interface Place {
  /** First and last line, both included, counted from 1. */
  line?: [number, number];
  frame?: { thread: ThreadId; index: number };
  /** Number of an event of the timeline. */
  event?: number;
  /** First byte, and the byte after the last. */
  bytes?: [number, number];
  /** Dotted path into the evidence, such as `memory_snapshots.0.reserved`. */
  fact?: string;
}

/** The operating system's thread id, or a label where the artifact has none. */
export type ThreadId = number | string;

/** `uploading`, `processing`, `done` or `failed`. */
export type ReportState = string;

/** How far the server has come with a report; findings are there when it is `done`. */
export interface Progress {
  state?: ReportState;
  /** When it came (RFC 3339). */
  received?: string;
  /** When the crash happened, as far as known; else when the report came (RFC 3339). */
  time?: string;
  /** Why processing failed, in words. */
  failure?: string;
  /** Names of artifacts whose bytes are kept no longer. */
  expired?: string[];
}

export interface Document extends Progress {
  schema?: number;
  report?: ReportHead;
  findings?: Finding[];
  plugins?: PluginRun[];
  next?: CollectNext[];
  echoes?: Echo[];
  /** Of long lists the first entries only: `parts` says of which. */
  evidence?: Evidence;
  /** Lists of the evidence that are to be asked for by themselves, by name. */
  parts?: { [list: string]: ListPart };
}

/** One version of what was concluded of a report. */
export interface DiagnosisVersion {
  version?: number;
  /** When it was made (RFC 3339). */
  made?: string;
  /** Ids of the causes it found, best first. */
  causes?: string[];
}

/** A list of which a document has the first entries. */
export interface ListPart {
  /** How many there are. */
  entries?: number;
  /** How many of them are in the document. */
  shown?: number;
}

export interface ReportHead {
  id?: string;
  title?: string;
  signature?: Signature;
  exit?: Exit;
  artifacts?: ArtifactHead[];
}

export interface Signature {
  version?: number;
  key?: string;
  parts?: string[];
  why?: string;
}

export interface Exit {
  signal?: string | null;
  code?: number | null;
}

export interface ArtifactHead {
  name: string;
  kind?: string;
  /** Size as stored. */
  bytes?: number;
  sha256?: string;
  problems?: Problem[];
}

export interface Problem {
  code?: string;
  message?: string;
  at?: Place;
}

export interface Finding {
  cause?: string;
  title?: string;
  /** 0 to 1. */
  confidence?: number;
  plugin?: { name?: string; version?: string };
  explanation?: string;
  /** Who owns such a failure: `program`, `data`, `environment`, `framework`, `hardware`, `network`, `operator` or `unknown`. */
  domain?: string;
  retry?: Retry;
  citations?: Citation[];
  contradictions?: Citation[];
  fixes?: Fix[];
  references?: string[];
}

/** Whether a job is worth a second try. */
export interface Retry {
  /** `retry`, `retry-elsewhere`, `change-first`, `ask-owner` or `unknown`. */
  advice?: string;
  /** Why, in a sentence. */
  because?: string;
}

export interface Citation {
  /** Name of the artifact; empty for a fact about the report as a whole. */
  artifact?: string;
  at?: Place;
  /** What stands there, word for word. */
  quote?: string;
}

export interface Fix {
  summary?: string;
  steps?: string[];
  /** When it is the wrong thing to do. */
  not_when?: string | null;
}

export interface PluginRun {
  name?: string;
  version?: string;
  /** `ok`, `failed`, `skipped` or `unavailable`. */
  outcome?: string;
  reason?: string | null;
  fuel?: number;
  millis?: number;
  /** The most memory it used, in bytes. */
  memory?: number;
  log?: string[];
}

export interface CollectNext {
  artifact?: string;
  how?: string;
  decides_between?: string[];
}

/** An event that is a consequence of another. */
export interface Echo {
  event: number;
  of: number;
}

export interface Evidence {
  crash?: Crash;
  threads?: Thread[];
  modules?: Module[];
  memory_snapshots?: MemorySnapshot[];
  collectives?: Collectives;
  /** What NCCL itself knew of its communicators, at each moment somebody asked. */
  communicators?: Communicator[];
  gpu_cores?: GpuCore[];
  timeline?: TimelineEvent[];
  context?: { [key: string]: Json };
}

export interface Crash {
  signal?: string;
  exit_code?: number;
  /** The signal's code by name, such as `SEGV_MAPERR`. */
  code?: string;
  address?: string;
  address_kind?: string;
  /** `read`, `write` or `execute`. */
  access?: string;
  thread?: ThreadId;
  pid?: number;
  /** Of a distributed job, the rank that failed or hung first. */
  rank?: number;
  process?: string;
  /** The process's last words. */
  message?: string;
  artifact?: string;
  at?: Place;
}

export interface Thread {
  id: ThreadId;
  name?: string | null;
  rank?: number | null;
  pid?: number;
  crashed?: boolean;
  artifact?: string;
  /** Innermost first; an inlined function is a frame of its own. */
  frames?: Frame[];
  frames_omitted?: number;
  /** Whether it holds the lock of Python's interpreter. */
  holds_gil?: boolean;
}

export interface Frame {
  /** `native`, `python` or `gpu`. */
  kind?: string;
  function?: string | null;
  file?: string | null;
  line?: number | null;
  module?: string | null;
  build_id?: string | null;
  offset?: string | null;
  address?: string | null;
  inline?: boolean;
  /** `context`, `cfi`, `frame-pointer`, `scan`, `reported` or `interpreter`. */
  trust?: string;
  /** True for the frame that a signal interrupted: the frames before it are the handler's. */
  signal?: boolean;
  at?: Place;
}

export interface Module {
  path?: string;
  build_id?: string;
  debug_id?: string;
  start?: string;
  end?: string;
  /** What symbols came from: `debug-file`, `binary`, `symbol-file`, `core`; absent when there were none. */
  symbols?: string;
  artifact?: string;
}

/** One device of one memory snapshot. Sizes are bytes. */
export interface MemorySnapshot {
  artifact?: string;
  device?: number;
  reserved?: number;
  allocated?: number;
  active?: number;
  requested?: number;
  segments?: number;
  blocks?: number;
  events?: number;
  peak_allocated?: number;
  inactive?: number;
  largest_inactive?: number;
  pending_free?: number;
  private_pools?: number;
  expandable_segments?: boolean;
  oom?: OomRequest;
  clusters?: AllocationCluster[];
  usage?: UsageCurve;
  settings?: { [key: string]: Json };
}

/** Bytes over time as columns, one row per stretch of the trace. */
export interface UsageCurve {
  /** Number of the first trace entry of each stretch. */
  event?: number[];
  /** When each stretch begins, in microseconds since 1970. */
  time_us?: number[];
  min?: number[];
  max?: number[];
}

export interface OomRequest {
  requested?: number;
  device_free?: number;
  stream?: string;
  /** Inactive bytes in segments that this request could have used. */
  usable_inactive?: number;
  /** The largest of those blocks. */
  largest_usable?: number;
  frames?: string[];
}

export interface AllocationCluster {
  bytes?: number;
  count?: number;
  frames?: string[];
}

export interface Collectives {
  /** Ranks whose recorder is in the report. */
  ranks?: number[];
  /** Ranks that a group names and whose recorder is not in the report. */
  ranks_without_recorder?: number[];
  /** First divergence first. */
  verdicts?: CollectiveVerdict[];
  /** Ranks that others wait for and that wait for nobody themselves. */
  culprits?: number[];
  /** Ranks that wait for each other in a circle. */
  circle?: number[];
  /** Ranks that were behind others at the only moment at which somebody asked NCCL. */
  behind_once?: number[];
}

export interface Communicator {
  artifact?: string;
  at?: Place;
  source?: string;
  hash?: string;
  time?: string;
  size?: number;
  ranks?: { rank?: number; host?: string; pid?: number; device?: number; counts?: Record<string, number>; error?: string }[];
  missing?: { rank?: number; host?: string; pid?: number; dead?: boolean; unresponsive?: boolean }[];
}

export interface CollectiveVerdict {
  group?: string;
  /** What the program calls the group. */
  group_description?: string;
  sequence?: number;
  /** `op-mismatch`, `shape-mismatch`, `dtype-mismatch`, `missing-rank` or `not-completed`. */
  kind?: string;
  /** The ranks that differ from the rest, or are missing. */
  ranks?: number[];
  detail?: string;
  /** As most ranks recorded it, such as `nccl:all_reduce`. */
  operation?: string;
  entered?: number[];
  time?: string;
  point_to_point?: boolean;
  /** Where the program called it, innermost first. */
  frames?: string[];
}

export interface GpuCore {
  artifact?: string;
  device?: number;
  exception?: string | null;
  kernel?: string | null;
  offset?: string | null;
  file?: string | null;
  line?: number | null;
  block?: [number, number, number] | null;
  thread?: [number, number, number] | null;
}

export interface TimelineEvent {
  event: number;
  /** How often it was told; once if absent. */
  count?: number;
  /** When and where it was told the last time. */
  last_time?: string | null;
  last_at?: Place;
  time?: string | null;
  /** What is uncertain about the time. */
  time_note?: string;
  rank?: number | null;
  pid?: number;
  kind?: string;
  detail?: { [key: string]: Json };
  /** False for an echo. */
  primary?: boolean;
  text?: string;
  artifact?: string;
  at?: Place;
}

/** One row of a list of reports. */
export interface Hit {
  id: string;
  title?: string;
  /** Id of the best finding's cause. */
  cause?: string | null;
  /** Title of the best finding. */
  finding?: string | null;
  signal?: string | null;
  exception?: string | null;
  host?: string | null;
  signature?: string | null;
  /** When it happened, as far as known; else when it came (RFC 3339). */
  time?: string | null;
  /** When it came (RFC 3339). */
  received?: string | null;
  ranks?: number[];
  /** Reports with the same signature, this one included. */
  count?: number | null;
  state?: ReportState;
}

export interface FacetValue {
  value: string;
  count: number;
}

export interface SearchAnswer {
  total?: number;
  hits?: Hit[];
  facets?: { [field: string]: FacetValue[] };
}

export interface RecentAnswer {
  total?: number;
  reports?: Hit[];
}

export interface Lines {
  /** Number of the first line in `lines`, counted from 1. */
  from?: number;
  lines?: string[];
  /** Lines of the whole artifact. */
  total?: number;
}

export interface Group {
  signature?: string;
  count?: number;
  first_seen?: string | null;
  last_seen?: string | null;
  /** The newest reports, newest first. */
  latest?: Hit[];
}

export interface Cause {
  id: string;
  title?: string;
  summary?: string;
  /** `fatal`, `wrong-results`, `slow` or `notice`. */
  severity?: string;
  domain?: string;
  retry?: Retry;
  /** For a family: the causes that look alike. */
  members?: string[];
  tags?: string[];
  also?: string[];
  signs?: string[];
  applies_to?: string[];
  fixed_in?: string | null;
  fixes?: Fix[];
  references?: string[];
  /** When they were last opened. */
  references_opened?: string;
  /** Why no artifact tells it, where none does. */
  undetectable?: string;
  reproducer?: string | null;
  verified?: Verified[];
  /** The page's prose as safe HTML. */
  html?: string;
  /** Where the page comes from when it is not one of the built-in ones. */
  origin?: string;
  /** Reports that this cause explains best. */
  reports?: number;
}

export interface Verified {
  date?: string;
  on?: string;
  observed?: string;
}

export interface Plugin {
  name?: string;
  version?: string;
  description?: string;
  causes?: string[];
  needs_any_of?: string[];
  needs_all_of?: string[];
  /** `built-in`, or its file. */
  source?: string;
  /** Causes whose pages it brings. */
  pages?: string[];
  /** Why it can not be used. */
  problem?: string;
  /** Why it is not used at the moment. */
  notice?: string;
  /** How its runs went, as far as that is known. */
  runs?: PluginRuns;
  /** SHA-256 of its file. */
  sha256?: string;
  /** Who signed it: the name of a trusted key, or an unknown one. */
  signed_by?: string;
  /** What was published under its name, oldest first. */
  versions?: PublishedVersion[];
}

/** A version of a plugin that was published. */
export interface PublishedVersion {
  version?: string;
  sha256?: string;
  /** When (RFC 3339). */
  published?: string;
  signed_by?: string;
}

export interface PluginRuns {
  ok?: number;
  failed?: number;
  skipped?: number;
  unavailable?: number;
  /** Of all runs together. */
  fuel?: number;
  most_fuel?: number;
  /** In bytes. */
  most_memory?: number;
  millis?: number;
  last_failure?: string;
}

/** A plugin or page that is tried on stored reports before it is installed. */
export interface Preview {
  number: number;
  name?: string;
  version?: string;
  /** `plugin` or `page`. */
  kind?: string;
  /** The search whose results are looked at; all reports when absent. */
  query?: string;
  /** `running`, `ready`, `applied`, `undone`, `cancelled` or `failed`. */
  state?: string;
  /** Why it failed. */
  reason?: string;
  created?: string;
  /** Reports in its scope, those that were looked at, and those that would change. */
  reports?: number;
  looked_at?: number;
  changed?: number;
  /** What changes in how many reports, most first. */
  changes?: PreviewChange[];
}

export interface PreviewChange {
  /** `gained`, `lost` or `changed`. */
  change: string;
  cause: string;
  reports?: number;
}

/** What is found in a report without and with what is tried. */
export interface Compared {
  before?: Finding[];
  after?: Finding[];
}

export interface Uploaded {
  id: string;
  url?: string;
}
