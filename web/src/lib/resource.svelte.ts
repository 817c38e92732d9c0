/** Something loaded from the server, with what to show until it is here and when it does not come. */
import { untrack } from 'svelte';
import { ApiError } from '../api/client';

/** Answers kept so that going back shows a page at once and at its old scroll position. */
const KEPT = 40;
const cache = new Map<string, unknown>();

export class Resource<T> {
  data = $state.raw<T>();
  error = $state.raw<ApiError>();
  loading = $state(true);
  #key = '';
  #fetch: () => Promise<T>;

  private constructor(fetcher: () => Promise<T>) {
    this.#fetch = fetcher;
  }

  /**
   * Loads anew whenever what `source` reads changes. The key names the answer in the cache; with `stay` the answer
   * before is shown until the new one comes. Call during set-up.
   */
  static of<T>(source: () => { key: string; fetch: () => Promise<T>; stay?: boolean }): Resource<T> {
    const resource = new Resource<T>(() => Promise.reject(new Error('not started')));
    $effect.pre(() => {
      const { key, fetch, stay } = source();
      resource.#fetch = fetch;
      resource.#key = key;
      const before = stay ? untrack(() => resource.data) : undefined;
      resource.data = (cache.get(key) as T | undefined) ?? before;
      void resource.reload();
    });
    return resource;
  }

  /** Asks again, showing what is here until the answer comes. */
  async reload(): Promise<void> {
    const key = this.#key;
    this.loading = true;
    try {
      const data = await this.#fetch();
      keep(key, data);
      if (key !== this.#key) return;
      this.data = data;
      this.error = undefined;
    } catch (error) {
      if (key !== this.#key) return;
      // What is shown must be an answer to this very question.
      this.data = cache.get(key) as T | undefined;
      this.error = error instanceof ApiError ? error : new ApiError(String(error), 0);
    }
    this.loading = false;
  }
}

/** Gives up all answers that were kept: something was changed that may be in any of them. */
export function forget(): void {
  cache.clear();
}

function keep(key: string, data: unknown): void {
  cache.delete(key);
  cache.set(key, data);
  const oldest = cache.keys().next();
  if (cache.size > KEPT && !oldest.done) cache.delete(oldest.value);
}
