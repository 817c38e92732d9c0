import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LogPages } from './logpages.svelte';

const TOTAL = 2_400_000;
/** Lines that the server sends at most. */
let cap = 2000;
let asked: [number, number][] = [];
let aborted = 0;

beforeEach(() => {
  cap = 2000;
  asked = [];
  aborted = 0;
  vi.useFakeTimers();
  vi.stubGlobal('sessionStorage', { getItem: () => null });
  vi.stubGlobal('fetch', (address: string, { signal }: { signal: AbortSignal }) => {
    const query = new URL(address, 'http://server').searchParams;
    const from = Number(query.get('from'));
    const to = Math.min(Number(query.get('to')), TOTAL, from + cap - 1);
    asked.push([from, to]);
    const lines = Array.from({ length: Math.max(0, to - from + 1) }, (_, n) => `line ${from + n}`);
    return new Promise<Response>((resolve, reject) => {
      signal.addEventListener('abort', () => {
        aborted += 1;
        reject(new Error('aborted'));
      });
      setTimeout(() => resolve(new Response(JSON.stringify({ from, lines, total: TOTAL }))), 50);
    });
  });
});
afterEach(() => void vi.useRealTimers());

const arrive = () => vi.advanceTimersByTimeAsync(1000);

it('fetches what is looked at, with what is around it', async () => {
  const log = new LogPages('id', 'train.log');
  log.want(1_200_000, 1_200_200);
  await arrive();
  expect(asked).toHaveLength(1);
  expect([log.line(1_200_000), log.line(1_200_200), log.line(1), log.total]).toEqual(['line 1200000', 'line 1200200', undefined, TOTAL]);
});

it('fetches nothing twice, and little for a turn of the wheel', async () => {
  const log = new LogPages('id', 'train.log');
  for (let line = 1; line < 3000; line += 5) {
    log.want(line, line + 200);
    await vi.advanceTimersByTimeAsync(16);
  }
  await arrive();
  expect(asked.length).toBeLessThanOrEqual(5);
  expect(log.line(3000)).toBe('line 3000');
  const before = asked.length;
  log.want(1, 3000);
  await arrive();
  expect(asked).toHaveLength(before);
});

it('goes back in large steps too', async () => {
  const log = new LogPages('id', 'train.log');
  for (let line = 100_000; line > 97_000; line -= 5) {
    log.want(line, line + 200);
    await vi.advanceTimersByTimeAsync(16);
  }
  await arrive();
  expect(asked.length).toBeLessThanOrEqual(5);
  expect(log.line(97_005)).toBe('line 97005');
});

it('asks for nothing that the reader only flew over', async () => {
  const log = new LogPages('id', 'train.log');
  log.want(1, 200);
  await arrive();
  for (let step = 1; step <= 60; step += 1) {
    log.want(step * 40_000 - 300, step * 40_000);
    await vi.advanceTimersByTimeAsync(16);
  }
  await arrive();
  expect(asked.length).toBeLessThanOrEqual(6);
  expect(aborted).toBeGreaterThanOrEqual(1);
  expect(log.line(TOTAL)).toBe(`line ${TOTAL}`);
});

it('asks on where the server sends fewer lines than asked for', async () => {
  cap = 70;
  const log = new LogPages('id', 'train.log');
  log.want(5000, 5200);
  await arrive();
  for (let line = 5000; line <= 5200; line += 1) expect(log.line(line)).toBe(`line ${line}`);
});

it('does not hold a whole log', async () => {
  const log = new LogPages('id', 'train.log');
  for (let line = 1; line < 200_000; line += 1000) {
    log.want(line, line + 200);
    await arrive();
  }
  expect(log.line(1)).toBeUndefined();
  expect(log.line(199_001)).toBe('line 199001');
});

it('asks no more when it is closed', async () => {
  const log = new LogPages('id', 'train.log');
  log.want(1, 200);
  log.close();
  await arrive();
  expect(asked).toHaveLength(0);
});

it('says what went wrong, and asks again when told to', async () => {
  const works = globalThis.fetch;
  vi.stubGlobal('fetch', () => Promise.reject(new Error('no route')));
  const log = new LogPages('id', 'train.log');
  log.want(1, 200);
  await arrive();
  expect(log.error?.code).toBe('unreachable');
  vi.stubGlobal('fetch', works);
  log.retry();
  await arrive();
  expect([log.error, log.line(200)]).toEqual([undefined, 'line 200']);
});
