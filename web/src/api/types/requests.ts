/** Made from the server's own description of its API by `make contract`: mend the Rust type, and not this file. */

import type { DiagnosisVersion, Document, Finding, Outcome } from './diagnosis';
import type { Json } from './json';
import type { PluginInfo, Preview, RenewalStatus, Renewed } from './plugins';
import type { Summary } from './search';
import type { LeftOut } from './shared';

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

/** A plugin that was published, disabled or enabled. */
export type ChangedPlugin = PluginInfo & {
  /** What follows for the reports that are stored. */
  diagnosed_anew?: Renewed | null;
};

/** Reports that change. How many there are in all, the preview says. */
export interface ChangedReports {
  /** In the order of their ids. */
  reports: Summary[];
  /** What to give as `after` for the next page; absent on the last one. */
  next?: string | null;
}

/** A report without and with what is tried. */
export type Compared = Diff & {
  /** What is found now. */
  before: Finding[];
  /** What would be found. */
  after: Finding[];
};

/** What became of a report that shall be gone. */
export interface Deleted {
  /** Its id. */
  id: string;
  /** False if there was no such report. */
  deleted: boolean;
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

/** How much of the evidence a document has. */
export type Extent = 'start' | 'whole' | (string & {});

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

/** A report in a list. */
export type ListedReport = Summary & {
  /** How far it has come. */
  state: ReportState;
  /** How many reports have the same signature, this one included, counted up to 10,000; absent while it has none. */
  count?: number | null;
};

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

/** A plugin of which something changed; absent members for one that was not there. */
export interface PluginChange {
  /** Name. */
  name: string;
  /** Version before and after. */
  version: [string | null, string | null];
  /** How its runs ended. */
  outcome: [Outcome | null, Outcome | null];
}

/** What was done. */
export type PreviewDone = Preview & {
  /** Reports of which something else is concluded now. */
  reports_changed: number;
  /** What follows for the other reports that are stored. */
  diagnosed_anew?: Renewed | null;
};

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
  /** Stored reports that are diagnosed anew, because plugins or pages changed or somebody asked for it. */
  diagnosing_anew: RenewalStatus;
  /**
   * What is wrong with pages of causes that are left out. Requests are served all the same; what these pages would say
   * is missing.
   */
  left_out?: LeftOut[];
}

/** A plugin or a page that is gone. */
export interface Removed {
  /** Its name. */
  name: string;
  /** What follows for the reports that are stored. */
  diagnosed_anew?: Renewed | null;
}

/** A report's document, and how far the report has come. */
export type ReportDocument = Progress & Document;

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

/** In which order results come. */
export type Sort = 'relevance' | 'newest' | (string & {});

/** How far an upload has come. */
export interface Uploaded {
  /** Bytes that are durably here. */
  offset: number;
  /** Bytes that were declared. */
  bytes: number;
  /** Whether the artifact is whole and has the declared SHA-256. */
  stored: boolean;
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
