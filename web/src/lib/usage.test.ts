import { describe, expect, it } from 'vitest';

import { outline, ownPlace } from './usage';

describe('outline', () => {
  it('reaches the highest value and dips to the lowest', () => {
    const path = outline({ event: [0, 5], min: [0, 50], max: [100, 100] }, 200, 10);
    expect(path).toBe('M0 10L0.0 10.0L0.0 0.0L100.0 0.0L100.0 5.0L100.0 0.0L200.0 0.0L200 10Z');
  });

  it('is as high as what the full height stands for says', () => {
    expect(outline({ min: [50], max: [50] }, 200, 10, 100)).toBe('M0 10L0.0 5.0L0.0 5.0L200.0 5.0L200 10Z');
    expect(outline({ min: [100], max: [100] }, 200, 10, 50)).toContain('L200.0 0.0');
  });

  it('is empty without rows', () => {
    expect(outline({}, 200, 10)).toBe('');
  });
});

describe('ownPlace', () => {
  it('prefers the innermost Python line', () => {
    const frames = ['at::_ops::empty::call()', 'logits (/job/train.py:52)', 'step (/job/train.py:88)'];
    expect(ownPlace(frames)).toBe('logits (/job/train.py:52)');
  });

  it('falls back to the innermost frame', () => {
    expect(ownPlace(['a', 'b'])).toBe('a');
    expect(ownPlace([])).toBeUndefined();
  });
});
