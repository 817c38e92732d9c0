/**
 * Where a reader is in millions of lines, of which only those in sight are on the page.
 *
 * The truth is an {@link Anchor}: a line and how far its top is above that of the view. The scroll bar only shows it:
 * browsers do not scroll farther than some 17 to 33 million pixels, and lines that wrap have heights that nobody knows
 * before they are drawn.
 */

/** Height of the scrolled area at most, in pixels: what every browser can do. */
const MOST_PIXELS = 8_000_000;

/** What is at the top of the view: so many pixels into this line, counted from 1. */
export interface Anchor {
  line: number;
  offset: number;
}

/** Lines on the page, with where each begins, in pixels from the first of them; the last entry is where they end. */
export interface Layout {
  first: number;
  tops: readonly number[];
  /** Height of a line that is not on the page. */
  row: number;
  total: number;
}

/** Height of the scrolled area for so many lines. */
export function scrollHeight(total: number, row: number): number {
  return Math.min(MOST_PIXELS, Math.ceil(total * row));
}

/** The place so many pixels below the top of the first line on the page, or above it if negative. */
export function anchorAt({ first, tops, row, total }: Layout, pixels: number): Anchor {
  if (pixels < 0) {
    const lines = Math.ceil(-pixels / row);
    return first - lines < 1 ? { line: 1, offset: 0 } : { line: first - lines, offset: pixels + lines * row };
  }
  const end = tops.at(-1) ?? 0;
  if (pixels >= end) {
    const lines = Math.floor((pixels - end) / row);
    return { line: Math.min(total, first + tops.length - 1 + lines), offset: 0 };
  }
  let index = 0;
  while ((tops[index + 1] ?? Infinity) <= pixels) index += 1;
  return { line: first + index, offset: pixels - (tops[index] ?? 0) };
}

/** The place that a scroll bar shows which is so far down: 0 is the beginning, 1 the end. */
export function anchorOf(fraction: number, total: number, row: number, height: number): Anchor {
  const lines = Math.max(0, fraction) * Math.max(0, total - Math.floor(height / row));
  const line = Math.min(total, Math.floor(lines) + 1);
  return fraction >= 1 ? { line: total, offset: 0 } : { line, offset: (lines % 1) * row };
}

/** How far down the scroll bar is for a place: the inverse of {@link anchorOf}, short of both ends. */
export function fractionOf({ line, offset }: Anchor, total: number, row: number, height: number): number {
  const lines = Math.max(1, total - Math.floor(height / row));
  return Math.min(1, (line - 1 + Math.min(1, offset / row)) / lines);
}
