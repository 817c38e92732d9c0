/** A part of a long list, so that a page stays light whatever a crash left: 100,000 events, 16,000 threads. */
export class ListWindow {
  /** Index of the first item shown. */
  first = $state(0);
  /** Index after the last item shown. */
  end = $state(0);
  readonly #length: number;
  readonly #step: number;

  /** Shows `step` items from the start, or about as many around `index`. */
  constructor(length: number, step: number, index = 0) {
    this.#length = length;
    this.#step = step;
    // What stands early in the list is shown with all that comes before it.
    const first = index < step / 2 ? 0 : index - Math.floor(step / 4);
    this.first = Math.max(0, Math.min(first, length - step));
    this.end = Math.min(length, this.first + step);
  }

  get before(): number {
    return this.first;
  }

  get after(): number {
    return this.#length - this.end;
  }

  earlier(): void {
    this.first = Math.max(0, this.first - this.#step);
  }

  later(): void {
    this.end = Math.min(this.#length, this.end + this.#step);
  }
}
