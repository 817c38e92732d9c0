/** Made from the server's own description of its API by `make contract`: mend the Rust type, and not this file. */

/** A frame by its thread and its index there, innermost first. */
export interface FramePlace {
  /** `crate::Thread::id` of a thread of the same artifact. */
  thread: ThreadId;
  /** Index into `crate::Thread::frames`. */
  index: number;
}

/** An address, offset or 64-bit identifier. In JSON: `"0x7f0aab1c1740"`. */
export type Hex = string;

/** What is wrong with a page that is therefore left out; all other pages stand. */
export interface LeftOut {
  /** The page's file, with the name of its folder: `pages/team-licence.md`. */
  page?: string;
  /** Line in it, counted from 1. */
  line?: number;
  /** What is wrong, and what to write instead. */
  message?: string;
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
  /** The number of an event in the timeline (`crate::Event::event`). */
  event?: number;
  /** Bytes `a` up to, not including, `b` of the artifact as stored. */
  bytes?: [number, number];
  /** A dotted path into the report's evidence, such as `memory_snapshots.0.reserved`. */
  fact?: string;
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

/** Names a thread within its artifact. */
export type ThreadId = number | string;

/** The four kinds of verdicts. */
export type VerdictKind = 'cause' | 'nothing-failed' | 'unreadable' | 'unknown-failure' | (string & {});
