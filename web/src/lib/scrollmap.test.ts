import { describe, expect, it } from 'vitest';
import { anchorAt, anchorOf, fractionOf, scrollHeight, type Layout } from './scrollmap';

const ROW = 20;
const HEIGHT = 500;

it('a scrolled area is never higher than browsers can', () => {
  expect(scrollHeight(100, ROW)).toBe(2000);
  expect(scrollHeight(2_400_000, ROW)).toBe(8_000_000);
});

describe('the scroll bar and the place in the log follow each other', () => {
  for (const total of [26, 1000, 2_400_000, 3_000_000_000]) {
    it.each([0, 0.1, 0.5, 0.999])(`%d of ${total} lines`, (fraction) => {
      const anchor = anchorOf(fraction, total, ROW, HEIGHT);
      expect(anchor.line).toBeGreaterThanOrEqual(1);
      expect(anchor.line).toBeLessThanOrEqual(total);
      expect(fractionOf(anchor, total, ROW, HEIGHT)).toBeCloseTo(fraction, 5);
    });
  }
  it('to the very end', () => expect(anchorOf(1, 2_400_000, ROW, HEIGHT).line).toBe(2_400_000));
  it('of a log shorter than the view', () => expect(anchorOf(0.5, 3, ROW, HEIGHT)).toEqual({ line: 1, offset: 0 }));
});

describe('pixels become lines', () => {
  /** Lines 11 to 13 on the page, the second of which wraps. */
  const layout: Layout = { first: 11, tops: [0, 20, 80, 100], row: ROW, total: 1000 };
  it.each([
    [0, 11, 0],
    [19, 11, 19],
    [20, 12, 0],
    [79, 12, 59],
    [80, 13, 0],
    [100, 14, 0],
    [145, 16, 0],
    [-1, 10, 19],
    [-20, 10, 0],
    [-45, 8, 15],
    [-1000, 1, 0],
    [1_000_000, 1000, 0],
  ])('%d pixels below line 11 is line %d', (pixels, line, offset) => {
    expect(anchorAt(layout, pixels)).toEqual({ line, offset });
  });
});
