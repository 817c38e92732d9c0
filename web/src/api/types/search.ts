/** Made from the server's own description of its API by `make contract`: mend the Rust type, and not this file. */

import type { Json } from './json';
import type { Retry, VerdictKind } from './shared';

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

/** What a cause leads to: other events, and findings that rest on those alone. */
export interface Consequence {
  /** Id of the cause that it looks like. */
  cause?: string;
  /** A pattern that the events' texts match. */
  says?: string;
}

/** How often a value occurs among all matches. */
export interface FacetValue {
  /** The value. */
  value: string;
  /** Reports with it. */
  count: number;
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

/** A report that was found. */
export type Hit = Summary & {
  /** How many reports have the same signature, this one included, counted up to 10,000. */
  count: number;
};

/** What a list of reports shows of one. */
export interface Summary {
  /** Report id. */
  id: string;
  /** One line a person recognizes the crash by. */
  title?: string;
  /** What the report comes to; absent where that was not noted yet. */
  verdict?: VerdictKind | null;
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

/** One time that a cause was reproduced. */
export interface Verified {
  /** Date, ISO 8601. */
  date?: string;
  /** Hardware and versions. */
  on?: string;
  /** What was observed. */
  observed?: string;
}
