import { expect, it } from 'vitest';
import { factAt, sizeOf } from './fact';

const evidence = { memory_snapshots: [{ reserved: 2048, segments: 4096 }], context: { host: 'node-7' } };

it.each([
  ['memory_snapshots.0.reserved', 2048, '2.00 KiB'],
  ['memory_snapshots.0.segments', 4096, undefined],
  ['context.host', 'node-7', undefined],
  ['context.host.length', undefined, undefined],
  ['memory_snapshots.7.reserved', undefined, undefined],
])('%s is %j', (path, value, size) => {
  expect(factAt(evidence, path)).toBe(value);
  expect(sizeOf(path, value)).toBe(size);
});
