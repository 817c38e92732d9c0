import { expect, test } from 'vitest';
import { earlier, renewal, runs } from './plugins';

test('runs are told with how they ended and what they cost', () => {
  expect(runs({})).toBe('not run yet');
  expect(runs({ skipped: 3 })).toBe('not run on any of 3 reports');
  const told = runs({ ok: 3, failed: 1, fuel: 4000, most_fuel: 1500, most_memory: 1 << 20 });
  expect(told).toContain('4 runs, 1 failed, 1,000 fuel each, 1,500 fuel and 1');
});

test('versions beside the present one are told, newest first', () => {
  const versions = ['1.0.0', '1.1.0', '2.0.0'].map((version) => ({ version, sha256: version }));
  expect(earlier({ sha256: '1.1.0', versions })).toEqual(['2.0.0', '1.0.0']);
  expect(earlier({})).toEqual([]);
});

test('what is still to be diagnosed anew is told, and nothing where nothing is', () => {
  expect(renewal({ waiting: 1200, of: 3000 })).toBe('1,200 of 3,000 stored reports still to be diagnosed anew, behind new ones');
  expect(renewal({ waiting: 0, of: 3000 })).toBeUndefined();
  expect(renewal({})).toBeUndefined();
});
