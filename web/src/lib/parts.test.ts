import { expect, test } from 'vitest';
import { countOf, listOf, merged, pathsOf } from './parts';

const document = {
  evidence: { threads: [{ id: 1 }], timeline: [{ event: 0 }, { event: 1 }] },
  parts: { threads: { entries: 300, shown: 1 }, memory_snapshots: { entries: 9 }, memory_curves: { entries: 9 }, new_list: { entries: 1 } },
};

test('only lists that are not whole are asked for, each place once', () => {
  expect(pathsOf(document, ['threads', 'timeline'])).toEqual(['threads']);
  expect(pathsOf(document, ['memory_snapshots', 'memory_curves'])).toEqual(['memory']);
  expect(pathsOf(document, ['timeline', 'new_list'])).toEqual([]);
  expect(pathsOf({}, ['threads'])).toEqual([]);
});

test('entries that are elsewhere count', () => {
  expect(countOf(document, 'threads')).toBe(300);
  expect(countOf(document, 'timeline')).toBe(2);
  expect(countOf({}, 'gpu_cores')).toBe(0);
});

test('a fact leads into a list', () => {
  expect(listOf('memory_snapshots.0.reserved')).toEqual(['memory_snapshots']);
  expect(listOf('/threads/0/id')).toEqual(['threads']);
  expect(listOf(undefined)).toEqual([]);
});

test('what came takes the place of what was here', () => {
  const whole = merged(document, [{ threads: [{ id: 1 }, { id: 2 }] }]);
  expect(whole.threads).toHaveLength(2);
  expect(whole.timeline).toHaveLength(2);
});
