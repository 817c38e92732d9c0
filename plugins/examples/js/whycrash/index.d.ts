// What a plugin in JavaScript or TypeScript is written with.
import type { Citation, Domain, Event, Frame, Line, Report as Interface, Retry, Thread } from './interface.js';

export type * from './interface.js';

/** A report: everything of the interface, and some of it made easier. */
export interface Report extends Interface {
  /** Lines of all text artifacts that match a regular expression of linear time; 64 unless told otherwise. */
  find(pattern: string, limit?: number): Line[];
  /** The line with the `n` before it and the `n` behind it; 5 unless told otherwise. */
  around(line: Line, n?: number): Line[];
  /** The lines that an event tells of, the first 1024; none where it is not of a text. */
  linesOf(event: Event): Line[];
  /** The value at a dotted path into the evidence, such as `crash.signal`; undefined where there is none. */
  get(path: string): any;
  /** A citation of a fact, if it is there. */
  citeFact(path: string): Citation | undefined;
}

/** What a plugin is: its name, its version, the causes that it can name, and the evidence that it needs. */
export interface Info {
  name: string;
  version: string;
  causes: string[];
  needs?: { anyOf?: string[]; allOf?: string[] };
}

/** The claim that a documented cause explains the report. It needs at least one citation. */
export interface Finding {
  cause: string;
  /** 0 to 1. */
  confidence: number;
  explanation?: string;
  citations: Citation[];
  title?: string;
  contradictions?: Citation[];
  firstStep?: string;
  /** Who owns the failure in this very case, in place of what the cause's page says. */
  owner?: Domain;
  /** Whether a second try is worth it in this very case, in place of what the cause's page says. */
  retry?: Retry;
  /** Why, where `retry` is given. */
  because?: string;
}

/** An artifact that would decide between causes, and the exact setting or command that makes it. */
export interface CollectNext {
  artifact: string;
  how: string;
  decidesBetween?: string[];
}

/** What was found. No finding is the right answer when nothing fits. */
export interface Diagnosis {
  findings?: Finding[];
  next?: CollectNext[];
}

/** What `diagnose` may return; nothing is a good answer. */
export type Answer = Diagnosis | Finding | Finding[] | undefined | void;

/** What a line says of a number. */
export interface Point {
  line: Line;
  value: number;
}

/** Keeps a line with the run, as `console.log` does. The first 100 are shown by `whycrash plugin test`. */
export function log(...words: unknown[]): void;

/** A citation of a line, of lines that follow each other, or of an event. */
export function cite(place: Line | Event | Line[]): Citation;
/** A citation of the frame at this index of a thread. */
export function citeFrame(thread: Thread, index: number, frame: Frame): Citation;
/** A citation of a fact, by its dotted path, with its value. */
export function citeFact(path: string, value: unknown): Citation;

/** The `key=value` and `key: value` pairs of a line; of a key that comes twice the last value. */
export function keyValues(line: Line | string): Record<string, string>;
/** The number that a value is, also with a unit behind it; NaN and Infinity are numbers here. */
export function number(text: string | undefined): number | undefined;
/** What these lines say of the number with this key, in their order: `series(report.find('loss='), 'loss')`. */
export function series(lines: Line[], key: string): Point[];
/** The first date with a time in a line, in seconds since 1970; one without a zone is taken to be UTC. */
export function timeOf(line: Line | string): number | undefined;
