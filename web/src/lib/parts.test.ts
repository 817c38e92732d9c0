import { expect, test } from 'vitest';
import { countOf, listOf, merged, missing, pathsOf } from './parts';

const told = { kind: 'watchdog' as const, detail: {} };
const document = {
  evidence: {
    threads: [{ id: 1 }],
    timeline: [
      { ...told, event: 0 },
      { ...told, event: 1 },
    ],
  },
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

test('a list is missing where its first entries do not do', () => {
  const start = { ...document, parts: { ...document.parts, timeline: { entries: 9, shown: 2 } } };
  expect(missing(start, ['threads', 'timeline'], undefined)).toEqual([]);
  expect(missing(start, ['memory_snapshots'], undefined)).toEqual(['memory_snapshots']);
  expect(missing(start, ['threads'], { frame: { thread: '1', index: 0 } })).toEqual([]);
  expect(missing(start, ['threads'], { frame: { thread: 2, index: 0 } })).toEqual(['threads']);
  expect(missing(start, ['timeline'], { event: 1 })).toEqual([]);
  expect(missing(start, ['timeline'], { event: 7 })).toEqual(['timeline']);
  expect(missing(start, ['timeline'], { fact: 'timeline.1.text' })).toEqual([]);
  expect(missing(start, ['timeline'], { fact: '/timeline/2/text' })).toEqual(['timeline']);
  expect(missing({}, ['threads'], undefined)).toEqual([]);
});
