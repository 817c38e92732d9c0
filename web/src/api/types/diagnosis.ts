/** Made from the server's own description of its API by `make contract`: mend the Rust type, and not this file. */

import type { Evidence } from './evidence';
import type { LeftOut, Place, Retry, VerdictKind } from './shared';

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
  /** Name of the archive among the artifacts that it is a member of: it was not given by itself. */
  archive?: string | null;
  /** What was wrong with it. */
  problems: Problem[];
  /** Parts of its text that have names of their own, such as the cells of a notebook. */
  sections?: Section[];
}

/** What an artifact is, told from its content (never from its name alone). */
export type ArtifactKind = 'elf-core' | 'gpu-core' | 'minidump' | 'memory-snapshot' | 'flight-recorder' | 'nccl-ras' | 'nccl-inspector' | 'torchcomms-log' | 'bug-report' | 'elastic-error' | 'context' | 'diagnostic' | 'sanitizer' | 'notebook' | 'log-export' | 'metrics' | 'tfevents' | 'wandb-run' | 'log' | 'archive' | 'empty' | 'unknown' | (string & {});

/** An exact place, and what stands there. */
export interface Citation {
  /** Name of the artifact; empty for a fact about the report as a whole. */
  artifact: string;
  /** The place. */
  at: Place;
  /** What stands there, word for word. */
  quote?: string;
}

/** A line of the program's own code, with its text where somebody quotes it. */
export interface CodeLine {
  /** Source file, as the stack names it. */
  file?: string;
  /** The line in it, counted from 1. */
  line?: number;
  /** The function. */
  function?: string | null;
  /** The line's text, where an artifact quotes it. */
  source?: string | null;
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

/** One crash, read and diagnosed. */
export interface Document {
  /** `SCHEMA`. */
  schema: number;
  /** What crashed, and what it left. */
  report: ReportHead;
  /** What it comes to; absent where the report was not read yet. */
  verdict?: Verdict | null;
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
  /** What is wrong with pages of causes that are left out: what they would say is missing. */
  left_out?: LeftOut[];
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

/** How the process ended. */
export interface Exit {
  /** Signal name, such as `SIGSEGV`. */
  signal?: string | null;
  /** Exit code of a process that ended by itself. */
  code?: number | null;
}

/** A plugin's claim that a cause explains the report, every citation of which was checked. */
export interface Finding {
  /** Id of a documented cause. */
  cause?: string;
  /** The cause's title, or a more exact one. */
  title?: string;
  /** 0 to 1. */
  confidence?: number;
  /** True for what holds of so much that it explains nothing: it is named where no documented cause fits. */
  last_resort?: boolean;
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

/** A list that is a part of its own. */
export interface ListPart {
  /** How many entries it has. */
  entries?: number;
  /** How many of them are in the head. */
  shown?: number;
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

/** Whether evidence was there. */
export type Presence = 'found' | 'damaged' | 'absent' | (string & {});

/** One named defect of an artifact. Reading goes on after it. */
export interface Problem {
  /** A stable kebab-case name, such as `truncated` or `limit-events`. */
  code: string;
  /** What happened, to what, and what to do next; lower case, no trailing stop. */
  message: string;
  /** Where in the artifact, when that is known. */
  at?: Place | null;
}

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

/** A part of an artifact's text that people know by a name of its own, such as a cell of a notebook. */
export interface Section {
  /** Its first line. It goes on to the next section. */
  line?: number;
  /** What people call it, such as `cell 4, In [3]`. */
  name?: string;
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

/** What a report comes to. */
export interface Verdict {
  /** Which of the four. */
  kind?: VerdictKind;
  /** Why, in one sentence. */
  why?: string;
  /** The line of the program's own code at which it failed, where a stack has one. */
  code?: CodeLine | null;
}
