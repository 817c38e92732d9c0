import { beforeEach, expect, it, vi } from 'vitest';
import { LogWindow } from './logwindow.svelte';

const TOTAL = 10_000;
/** Lines that the server sends at most. */
let cap = 1000;

beforeEach(() => {
  cap = 1000;
  vi.stubGlobal('sessionStorage', { getItem: () => null });
  vi.stubGlobal('fetch', (address: string) => {
    const query = new URL(address, 'http://server').searchParams;
    const from = Number(query.get('from'));
    const to = Math.min(Number(query.get('to')), TOTAL, from + cap - 1);
    const lines = Array.from({ length: Math.max(0, to - from + 1) }, (_, n) => `line ${from + n}`);
    return Promise.resolve(new Response(JSON.stringify({ from, lines, total: TOTAL })));
  });
});

/** Fails unless the window is without gaps and says what it holds. */
function check(log: LogWindow, first: number, last: number) {
  expect([log.first, log.last]).toEqual([first, last]);
  expect(log.lines[0]).toBe(`line ${first}`);
  expect(log.lines.at(-1)).toBe(`line ${last}`);
  expect(log.lines).toHaveLength(last - first + 1);
}

it('opens around a line, and grows to both ends', async () => {
  const log = new LogWindow('id', 'train.log');
  await log.open(5000);
  check(log, 4960, 5259);
  await log.earlier();
  check(log, 4660, 5259);
  await log.later();
  check(log, 4660, 5559);
});

it('never holds more than a few screens', async () => {
  const log = new LogWindow('id', 'train.log');
  await log.open(1);
  for (let turn = 0; turn < 10; turn += 1) await log.later();
  check(log, 1801, 3300);
  for (let turn = 0; turn < 10; turn += 1) await log.earlier();
  check(log, 1, 1500);
});

it('knows where the log ends, and shows the end to who asks for more', async () => {
  const log = new LogWindow('id', 'train.log');
  await log.open(TOTAL - 10);
  expect(log.atEnd).toBe(true);
  await log.open(TOTAL + 1);
  check(log, 9961, TOTAL);
});

it('shows the wanted line though fewer lines come than asked for', async () => {
  cap = 7;
  const log = new LogWindow('id', 'train.log');
  await log.open(5000);
  check(log, 5000, 5006);
  await log.later();
  check(log, 5000, 5013);
  await log.earlier();
  check(log, 4700, 4706);
});
