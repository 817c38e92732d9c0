import { expect, test } from 'vitest';
import { changes } from './diagnoses';

test('each version is told by what it changed', () => {
  const rows = changes([
    { version: 4, causes: ['b', 'a'] },
    { version: 3, causes: ['a', 'b'] },
    { version: 2, causes: ['a', 'b'] },
    { version: 1, causes: ['c'] },
  ]);
  expect(rows.map((row) => [row.version, row.gained, row.lost, row.reordered, row.first])).toEqual([
    [4, [], [], true, false],
    [3, [], [], false, false],
    [2, ['a', 'b'], ['c'], false, false],
    [1, [], [], false, true],
  ]);
  expect(changes([])).toEqual([]);
});
