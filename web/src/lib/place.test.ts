import { describe, expect, it } from 'vitest';
import type { Place } from '../api/types';
import { describeTarget, formatTarget, parseTarget, partOf } from './place';

const cases: [string, Place, string, string, string][] = [
  ['train.log', { line: [120, 121] }, 'train.log:120-121', 'logs', 'train.log, lines 120 to 121'],
  ['train.log', { line: [7, 7] }, 'train.log:7', 'logs', 'train.log, line 7'],
  ['C:\\a:b.log', { line: [7, 9] }, 'C:\\a:b.log:7-9', 'logs', 'C:\\a:b.log, lines 7 to 9'],
  ['core.zst', { frame: { thread: 4711, index: 0 } }, 'core.zst:frame:4711:0', 'threads', 'core.zst, thread 4711, frame 0'],
  [
    'stderr.txt',
    { frame: { thread: 'traceback-1', index: 2 } },
    'stderr.txt:frame:traceback-1:2',
    'threads',
    'stderr.txt, thread traceback-1, frame 2',
  ],
  ['', { event: 3 }, 'event:3', 'timeline', 'event 3'],
  ['core', { bytes: [0, 16] }, 'core:bytes:0-16', 'artifacts', 'core, bytes 0 to 16'],
  ['', { fact: 'memory_snapshots.0.reserved' }, 'fact:memory_snapshots.0.reserved', 'memory', 'memory_snapshots.0.reserved'],
  [
    '',
    { fact: 'context.gpu_timeline.1.xids.0.code' },
    'fact:context.gpu_timeline.1.xids.0.code',
    'gpus',
    'context.gpu_timeline.1.xids.0.code',
  ],
  ['', { fact: 'context.host' }, 'fact:context.host', 'context', 'context.host'],
];

describe('a place goes into an address and comes back', () => {
  it.each(cases)('%s %j', (artifact, at, text, part, words) => {
    expect(formatTarget({ artifact, at })).toBe(text);
    expect(parseTarget(text)).toEqual({ artifact, at });
    expect(partOf(at)).toBe(part);
    expect(describeTarget({ artifact, at })).toBe(words);
  });
});

it.each(['', 'train.log', 'train.log:', 'event:x', 'fact:'])('%j is no place', (text) => {
  expect(parseTarget(text)).toBeUndefined();
});

it('a range that runs backwards is its first line', () => {
  expect(parseTarget('a.log:9-3')).toEqual({ artifact: 'a.log', at: { line: [9, 9] } });
});

it('a kind of place from the future has no address', () => {
  expect(formatTarget({ artifact: 'a', at: {} })).toBeUndefined();
});
