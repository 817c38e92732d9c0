/** A window onto a text artifact that may be far too large to load: a few lines at a time, from the server. */
import { api, ApiError } from '../api/client';

/** Lines asked for at a time. */
const CHUNK = 300;
/** Lines held at most; the far end is given up when more come. */
const HELD = 1500;
/** Lines shown before the one that was asked for. */
const LEAD = 40;

export class LogWindow {
  /** Number of the first line of `lines`, counted from 1. */
  first = $state(1);
  lines = $state.raw<readonly string[]>([]);
  /** Lines of the whole artifact, once the server has said it. */
  total = $state<number>();
  loading = $state(false);
  error = $state.raw<ApiError>();
  readonly #id: string;
  readonly name: string;

  constructor(id: string, name: string) {
    this.#id = id;
    this.name = name;
  }

  get last(): number {
    return this.first + this.lines.length - 1;
  }

  get atEnd(): boolean {
    return this.total !== undefined && this.last >= this.total;
  }

  has(line: number): boolean {
    return this.lines.length > 0 && line >= this.first && line <= this.last;
  }

  /** Shows this line with what is around it. */
  async open(line: number): Promise<void> {
    if (this.has(line)) return;
    const from = Math.max(1, line - LEAD);
    let lines = await this.#fetch(from, from + CHUNK - 1);
    if (!lines) return;
    this.#show(from, lines);
    // Of long lines the server sends fewer than asked for, so that the one that is wanted may be missing.
    if (this.has(line) || line > (this.total ?? line)) return;
    lines = await this.#fetch(line, line + CHUNK - 1);
    if (lines) this.#show(line, lines);
  }

  async earlier(): Promise<void> {
    if (this.first <= 1 || this.loading) return;
    const from = Math.max(1, this.first - CHUNK);
    const lines = await this.#fetch(from, this.first - 1);
    if (!lines) return;
    const adjacent = from + lines.length === this.first;
    this.#show(from, adjacent ? [...lines, ...this.lines].slice(0, HELD) : lines);
  }

  async later(): Promise<void> {
    if (this.atEnd || this.loading) return;
    const lines = await this.#fetch(this.last + 1, this.last + CHUNK);
    if (!lines) return;
    const all = [...this.lines, ...lines];
    const surplus = Math.max(0, all.length - HELD);
    this.#show(this.first + surplus, all.slice(surplus));
  }

  #show(first: number, lines: readonly string[]): void {
    this.first = first;
    this.lines = lines;
  }

  async #fetch(from: number, to: number): Promise<string[] | undefined> {
    this.loading = true;
    this.error = undefined;
    try {
      const answer = await api.lines(this.#id, this.name, from, to);
      this.total = answer.total ?? this.total;
      return answer.lines ?? [];
    } catch (error) {
      this.error = error instanceof ApiError ? error : new ApiError(String(error), 0);
      return undefined;
    } finally {
      this.loading = false;
    }
  }
}
