import { describe, expect, it } from 'vitest';
import type { Collectives } from '../api/types';
import { blame, blameInWords, placeOfRank } from './collectives';

const verdict = { group: '0', group_description: 'default_pg', sequence: 17, operation: 'nccl:all_reduce' };

describe('who holds the others up', () => {
  const cases: [Collectives, string | undefined][] = [
    [{ ranks: [0, 1] }, undefined],
    [
      { culprits: [3], verdicts: [{ ...verdict, kind: 'missing-rank', ranks: [3] }] },
      'rank 3 did not join ALL_REDUCE #17 of group default_pg',
    ],
    [
      {
        culprits: [2],
        verdicts: [
          { ...verdict, kind: 'not-completed', ranks: [0, 1] },
          { ...verdict, sequence: 16, kind: 'missing-rank', ranks: [2] },
        ],
      },
      'rank 2 did not join ALL_REDUCE #16 of group default_pg',
    ],
    [{ circle: [0, 1], verdicts: [{ ...verdict, kind: 'not-completed', ranks: [0, 1] }] }, 'ranks 0 and 1 wait for each other in a circle'],
    [
      { verdicts: [{ group: 'tp', sequence: 2, kind: 'shape-mismatch', ranks: [1] }] },
      'rank 1 came with another shape to a collective #2 of group tp',
    ],
    [{ culprits: [5], verdicts: [] }, 'rank 5 is waited for by the others'],
    [
      { verdicts: [{ ...verdict, kind: 'of-the-future', ranks: Array.from({ length: 20 }, (_, rank) => rank) }] },
      'ranks 0, 1, 2, 3, 4, 5 and 14 more differ at ALL_REDUCE #17 of group default_pg',
    ],
  ];
  it.each(cases)('%j', (collectives, says) => {
    const found = blame(collectives);
    expect(found && blameInWords(found)).toBe(says);
  });
});

it('what a rank left is an event of its own, or else a stack', () => {
  const thread = { id: 7, rank: 1, artifact: 'core.1', frames: [{}] };
  const told = { kind: 'watchdog' as const, detail: {} };
  const events = [
    { ...told, event: 0, rank: 0 },
    { ...told, event: 1, rank: 1, primary: false },
    { ...told, event: 2, rank: 1, primary: true },
  ];
  expect(placeOfRank({ evidence: { timeline: events, threads: [thread] } }, 1)).toBe('event:2');
  expect(placeOfRank({ evidence: { threads: [thread] } }, 1)).toBe('core.1:frame:7:0');
  expect(placeOfRank({ evidence: { threads: [thread] } }, 2)).toBeUndefined();
});
