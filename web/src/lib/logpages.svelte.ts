/**
 * The lines of a text artifact that may be far too large to load. What a reader looks at is fetched from the server in
 * windows, and kept in pages until it is far away.
 */
import { api, ApiError } from '../api/client';

/** Lines of one page of the cache. */
const PAGE = 1000;
/** Most lines asked for at a time: what the server sends at most. */
const WINDOW = 2000;
/** Lines asked for at first, so that the first ones are there soon. */
const FIRST_WINDOW = 500;
/** Pages kept; those farthest from the reader go first. */
const PAGES = 40;
/** Characters kept: lines can be long. */
const CHARACTERS = 24_000_000;
/** How long a reader must have stood still before lines are asked for… */
const STILL_MS = 80;
/** …and how long one who does not stop waits for them. */
const PATIENCE_MS = 400;

interface Range {
  first: number;
  last: number;
}

interface Page {
  lines: (string | undefined)[];
  characters: number;
}

interface Flight extends Range {
  abort: AbortController;
}

export class LogPages {
  /** Lines of the whole artifact, once the server has said it. */
  total = $state<number>();
  error = $state.raw<ApiError>();
  /** Counts what arrived, so that what reads lines is told. */
  #arrived = $state(0);
  readonly #id: string;
  readonly #name: string;
  readonly #pages = new Map<number, Page>();
  #wanted: Range = { first: 1, last: 1 };
  #flight: Flight | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Since when lines are wanted that are not here. */
  #waiting: number | undefined;
  /** Whether the reader goes towards the beginning. */
  #backwards = false;

  constructor(id: string, name: string) {
    this.#id = id;
    this.#name = name;
  }

  /** The line, counted from 1, if it is here. */
  line(number: number): string | undefined {
    void this.#arrived;
    return this.#pages.get(pageOf(number))?.lines[(number - 1) % PAGE];
  }

  /** Says what the reader looks at: it is fetched soon, unless it is here or they go on. */
  want(first: number, last: number): void {
    const wanted = { first: Math.max(1, first), last: Math.min(last, this.total ?? Infinity) };
    if (wanted.first !== this.#wanted.first) this.#backwards = wanted.first < this.#wanted.first;
    this.#wanted = wanted;
    if (this.#flight && !overlap(this.#flight, wanted)) this.#land();
    const missing = this.#missing();
    if (missing === undefined) {
      this.#wait(undefined);
    } else if (!this.#flight || missing < this.#flight.first || missing > this.#flight.last) {
      this.#soon();
    }
  }

  /** Asks again after an error. */
  retry(): void {
    this.error = undefined;
    this.#fetch();
  }

  /** Nobody looks any more. */
  close(): void {
    this.#wait(undefined);
    this.#land();
  }

  #has(number: number): boolean {
    return this.#pages.get(pageOf(number))?.lines[(number - 1) % PAGE] !== undefined;
  }

  /** The first wanted line that is not here. */
  #missing(): number | undefined {
    for (let line = this.#wanted.first; line <= this.#wanted.last; line += 1) if (!this.#has(line)) return line;
    return undefined;
  }

  #soon(): void {
    const now = Date.now();
    const since = (this.#waiting ??= now);
    const nothingYet = this.#pages.size === 0 && this.total === undefined;
    this.#wait(nothingYet ? 0 : Math.max(0, Math.min(STILL_MS, since + PATIENCE_MS - now)), since);
  }

  #wait(milliseconds: number | undefined, since?: number): void {
    clearTimeout(this.#timer);
    this.#waiting = since;
    this.#timer = milliseconds === undefined ? undefined : setTimeout(() => this.#fetch(), milliseconds);
  }

  #land(): void {
    this.#flight?.abort.abort();
    this.#flight = undefined;
  }

  #fetch(): void {
    this.#wait(undefined);
    const missing = this.#missing();
    if (missing === undefined) return;
    this.#land();
    const { first, last } = this.#around(missing);
    const flight = { first, last, abort: new AbortController() };
    this.#flight = flight;
    api
      .lines(this.#id, this.#name, first, last, flight.abort.signal)
      .then((answer) => {
        if (this.#flight !== flight) return;
        this.#flight = undefined;
        this.error = undefined;
        this.total = answer.total ?? this.total ?? 0;
        this.#keep(first, answer.lines ?? []);
        // Of long lines the server sends fewer than asked for.
        if ((answer.lines ?? []).length > 0) this.want(this.#wanted.first, this.#wanted.last);
      })
      .catch((error: unknown) => {
        if (this.#flight !== flight) return;
        this.#flight = undefined;
        this.error = error instanceof ApiError ? error : new ApiError(String(error), 0);
      });
  }

  /** The lines around a missing one that are missing too, most of them where the reader is going. */
  #around(missing: number): Range {
    const most = this.total === undefined ? FIRST_WINDOW : WINDOW;
    const before = Math.floor(this.#backwards ? (most * 3) / 4 : most / 8);
    const end = this.total ?? Infinity;
    let first = missing;
    while (first > 1 && missing - first < before && !this.#has(first - 1)) first -= 1;
    let last = missing;
    while (last < end && last - first + 1 < most && !this.#has(last + 1)) last += 1;
    return { first, last };
  }

  #keep(first: number, lines: readonly string[]): void {
    lines.forEach((line, index) => {
      const number = first + index;
      const page = this.#pages.get(pageOf(number)) ?? { lines: [], characters: 0 };
      page.lines[(number - 1) % PAGE] = line;
      page.characters += line.length;
      this.#pages.set(pageOf(number), page);
    });
    this.#forget();
    this.#arrived += 1;
  }

  /** Gives up the pages farthest from the reader, as long as there are too many. */
  #forget(): void {
    const here = pageOf(this.#wanted.first);
    const far = [...this.#pages.keys()].sort((a, b) => Math.abs(b - here) - Math.abs(a - here));
    let characters = [...this.#pages.values()].reduce((sum, page) => sum + page.characters, 0);
    for (const number of far) {
      if (this.#pages.size <= PAGES && characters <= CHARACTERS) return;
      if (Math.abs(number - here) <= 1) return;
      characters -= this.#pages.get(number)?.characters ?? 0;
      this.#pages.delete(number);
    }
  }
}

function pageOf(line: number): number {
  return Math.floor((line - 1) / PAGE);
}

function overlap(a: Range, b: Range): boolean {
  return a.first <= b.last && b.first <= a.last;
}
