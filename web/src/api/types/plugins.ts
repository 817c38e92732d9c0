/** Made from the server's own description of its API by `make contract`: mend the Rust type, and not this file. */

import type { LeftOut } from './shared';

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

/** A plugin, and what was published under its name. */
export type ListedPlugin = PluginInfo & {
  /** Its versions, oldest first; of one that was not published here there are none. */
  versions?: PublishedVersion[];
};

/** The pages that were published here. */
export interface Pages {
  /** By id. */
  pages: PublishedPage[];
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
  /**
   * Digest of the sources that it was built of, where its package says so: builds of the same sources have it in
   * common, also where their bytes differ.
   */
  sources?: string | null;
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
  /** What is wrong with pages of causes that are left out: what they would say is missing. */
  left_out?: LeftOut[];
}

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
  /** Reports in its scope. */
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
  /** What follows for the other reports when it is applied, once it is ready. */
  diagnosed_anew?: Renewed | null;
};

/** How far a preview has come. */
export type PreviewState = 'running' | 'ready' | 'applied' | 'undone' | 'cancelled' | 'failed' | (string & {});

/** Previews. */
export interface Previews {
  /** The last one first. */
  previews: Preview[];
}

/** A page that was published here. */
export interface PublishedPage {
  /** Id of its cause. */
  id: string;
  /** One line; absent where the page can not be used. */
  title?: string | null;
  /** SHA-256 of its file. */
  sha256: string;
  /** Reports that its cause was found in. */
  reports: number;
  /** The preview that applied it, while that can be undone. */
  preview?: number | null;
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

/** How far diagnosing stored reports anew has come. */
export interface RenewalStatus {
  /** Reports that are still to be diagnosed anew. */
  waiting: number;
  /** The most that there were to be since none was. */
  of: number;
}

/** What a change means for the reports that are stored. */
export interface Renewed {
  /** Reports that are diagnosed anew, one after the other, while new reports go first. */
  reports: number;
  /** Reports that have a diagnosis. */
  of: number;
}
