import { describe, expect, it } from 'vitest';

import { endOf, extremes, gpusOf, isBad, nameOf, numeric, stretches, valueOf } from './gpus';

const context = {
  started: '2026-03-01T10:00:00Z',
  ended: '2026-03-01T10:00:20Z',
  gpus: [{ name: 'One' }, { name: 'Two' }],
  gpu_timeline: [
    { device: 0, uuid: 'GPU-a', total: 100, used: [[0, 10]], failures: [{ at: 900, why: 'fell off the bus' }] },
    {
      device: 1,
      uuid: 'GPU-b',
      total: 100,
      used: [
        [0, 10],
        [5000, 90],
      ],
      health: { of_tomorrow: [[0, 7]], throttled_by: [[0, []]], busy_percent: [[0, 50]] },
      processes: [{ pid: 4711, used: [[0, 90]] }],
      xids: [{ at: 700, code: 48 }],
      failures: [{ at: 650, why: 'does not answer' }],
    },
  ],
};

describe('the devices of a context', () => {
  it('have their model, and what was told of them in order', () => {
    const [one, two] = gpusOf(context);
    expect(one?.model).toBe('One');
    expect(one?.told).toEqual([{ at: 900, text: 'fell off the bus' }]);
    expect(two?.told.map((told) => told.text)).toEqual(['does not answer', 'Xid 48']);
    expect(two?.processes).toEqual([{ pid: 4711, used: [[0, 90]] }]);
    expect(two?.busy).toEqual([[0, 50]]);
  });

  it('have the series that nobody knows behind those that are known', () => {
    const [, two] = gpusOf(context);
    expect(two?.health.map((series) => series.name)).toEqual(['busy_percent', 'throttled_by', 'of_tomorrow']);
  });

  it('are none, or empty, where the context says nothing or nonsense', () => {
    expect(gpusOf({})).toEqual([]);
    expect(gpusOf({ gpu_timeline: 'x' })).toEqual([]);
    const nonsense = [null, { used: [[1], ['x', 2], 7, [3, 'y']], health: [1], processes: [4], xids: {}, failures: [null] }];
    const [one, two] = gpusOf({ gpu_timeline: nonsense, gpus: 5 });
    expect(one).toMatchObject({ number: 0, used: [], health: [], processes: [], told: [] });
    expect(two).toMatchObject({ number: 1, used: [], processes: [{ pid: 0, used: [] }], told: [{ at: 0, text: 'did not answer' }] });
  });
});

it('the time ends with the job, or with what was noted last', () => {
  const gpus = gpusOf(context);
  expect(endOf(gpus, context)).toBe(20_000);
  expect(endOf(gpus, {})).toBe(5000);
  expect(endOf([], {})).toBe(0);
});

describe('the stretches of a series', () => {
  it('keep each value until the next one', () => {
    const used = [
      [0, 10],
      [50, 90],
      [55, 20],
    ] as const;
    expect(stretches(used, 100, 4)).toEqual({ min: [10, 10, 20, 20], max: [10, 10, 90, 20] });
  });

  it('begin at nothing, and have what comes at the very end', () => {
    expect(stretches([[100, 5]], 100, 2)).toEqual({ min: [0, 0], max: [0, 5] });
    expect(stretches([], 0, 2)).toEqual({ min: [0, 0], max: [0, 0] });
    expect(stretches([[0, 5]], 0, 2)).toEqual({ min: [5, 5], max: [5, 5] });
  });
});

it('values are told with their units', () => {
  expect(nameOf('sm_clock_mhz')).toBe('SM clock');
  expect(nameOf('of_tomorrow')).toBe('of tomorrow');
  expect(valueOf('sm_clock_mhz', 1980)).toBe('1,980 MHz');
  expect(valueOf('throttled_by', ['power-cap', 'thermal-slowdown'])).toBe('power cap, thermal slowdown');
  expect(valueOf('throttled_by', [])).toBe('nothing');
  expect(valueOf('row_remap_pending', true)).toBe('yes');
  expect(valueOf('held_bytes', 2048)).toBe('2.00 KiB');
});

it('errors are bad signs, and their absence is none', () => {
  expect(isBad('ecc_uncorrected', 1)).toBe(true);
  expect(isBad('ecc_uncorrected', 0)).toBe(false);
  expect(isBad('row_remap_failed', true)).toBe(true);
  expect(isBad('throttled_by', [])).toBe(false);
  expect(isBad('throttled_by', ['power-cap'])).toBe(true);
  expect(isBad('temperature_c', 92)).toBe(false);
});

it('extremes are those of the numbers', () => {
  expect(
    extremes(
      numeric([
        [0, 5],
        [1, 'x'],
        [2, 9],
      ]),
    ),
  ).toEqual([5, 9]);
});
