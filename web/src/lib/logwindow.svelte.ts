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
  /** Lines of the whole artifact, where the server knows. */
  total = $state<number>();
  atEnd = $state(false);
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

  has(line: number): boolean {
    return this.lines.length > 0 && line >= this.first && line <= this.last;
  }

  /** Shows this line with what is around it. */
  async open(line: number): Promise<void> {
    if (this.has(line)) return;
    const from = Math.max(1, line - LEAD);
    const lines = await this.#fetch(from, from + CHUNK - 1);
    if (!lines) return;
    this.first = from;
    this.lines = lines;
    this.atEnd = lines.length < CHUNK;
  }

  async earlier(): Promise<void> {
    if (this.first <= 1 || this.loading) return;
    const from = Math.max(1, this.first - CHUNK);
    const lines = await this.#fetch(from, this.first - 1);
    if (!lines) return;
    const all = [...lines, ...this.lines];
    this.first = from;
    this.lines = all.slice(0, HELD);
    if (all.length > HELD) this.atEnd = false;
  }

  async later(): Promise<void> {
    if (this.atEnd || this.loading) return;
    const lines = await this.#fetch(this.last + 1, this.last + CHUNK);
    if (!lines) return;
    const all = [...this.lines, ...lines];
    const surplus = Math.max(0, all.length - HELD);
    this.first += surplus;
    this.lines = all.slice(surplus);
    this.atEnd = lines.length < CHUNK;
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
