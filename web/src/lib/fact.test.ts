import { expect, it } from 'vitest';
import { describeFact, factAt } from './fact';

const evidence = { memory_snapshots: [{ reserved: 2048, segments: 4096 }], context: { host: 'node-7' } };

it.each([
  ['memory_snapshots.0.reserved', 2048],
  ['memory_snapshots.0.segments', 4096],
  ['context.host', 'node-7'],
  ['context.host.length', undefined],
  ['memory_snapshots.7.reserved', undefined],
])('%s is %j', (path, value) => expect(factAt(evidence, path)).toBe(value));

it.each([
  ['memory_snapshots.0.oom.requested', '1258291200', 'asked for 1.17 GiB'],
  ['memory_snapshots.0.oom.requested', 1258291200, 'asked for 1.17 GiB'],
  ['memory_snapshots.0.segments', 4096, '4,096 segments'],
  ['memory_snapshots.3.clusters.2.bytes', '2048', '2.00 KiB held by allocations of one place'],
  ['memory_snapshots.0.clusters.0.frames.0', 'step (train.py:5)', 'allocated by step (train.py:5)'],
  ['collectives.verdicts.0.ranks', [3], 'differs on rank 3'],
  ['collectives.verdicts.0.ranks', '[1,3]', 'differs on rank 1, 3'],
  ['collectives.verdicts.0.detail', 'entered by 0; not by $1', 'entered by 0; not by $1'],
  ['crash.signal', 'SIGSEGV', 'ended by SIGSEGV'],
  ['context.environment.OMP_NUM_THREADS', '4', 'OMP_NUM_THREADS was set to 4'],
  ['gpu_cores.0.block', [1, 0, 2], 'in block 1, 0, 2'],
])('%s %j is known: %s', (path, value, says) => expect(describeFact(path, value)).toBe(says));

it.each([
  ['context.memory.host_used_bytes', 3 * 1024 ** 3, 'context, memory, host used bytes: 3.00 GiB'],
  ['gpu_cores.1.watchdog_ms', 600_000, 'gpu cores 2, watchdog ms: 10 min'],
  ['something.new.waited_seconds', 2.5, 'something, new, waited seconds: 2.5 s'],
  ['something.new', null, 'something, new: none'],
  ['something.set', true, 'something, set: yes'],
  ['something.at', { first: 1, last: 2 }, 'something, at: first 1, last 2'],
  ['something.gone', undefined, 'something, gone: nothing'],
])('%s is not known, and read as well as it goes', (path, value, says) => expect(describeFact(path, value)).toBe(says));
