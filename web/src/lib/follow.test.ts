import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { follow } from './follow';

/** A page that can be hidden. */
const page = Object.assign(new EventTarget(), { hidden: false });
/** What the server sends at each request, a piece at a time; a number is a refusal. */
let answers: (ReadableStream<Uint8Array> | number)[] = [];
const ask = vi.fn((_: string, options: RequestInit) => {
  const answer = answers.shift() ?? 429;
  if (typeof answer === 'number') return Promise.resolve(new Response('', { status: answer }));
  options.signal?.addEventListener('abort', () => void answer.cancel().catch(() => undefined));
  return Promise.resolve(new Response(answer));
});

function stream(...pieces: string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(to) {
      for (const piece of pieces) to.enqueue(new TextEncoder().encode(piece));
    },
  });
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('document', page);
  vi.stubGlobal('window', new EventTarget());
  vi.stubGlobal('sessionStorage', { getItem: () => 'secret' });
  vi.stubGlobal('fetch', ask);
  ask.mockClear();
  page.hidden = false;
});
afterEach(() => void vi.useRealTimers());

it('hands on what the server tells, whole and in order', async () => {
  const told = vi.fn(() => Promise.resolve());
  answers = [
    stream(': nothing new\n\n', 'event: progress\ndata: {"state":"proc', 'essing"}\n\nevent: progress\ndata: {"state":"done"}\n\n'),
  ];
  const end = follow('/events', told);
  await vi.advanceTimersByTimeAsync(100);
  expect(told.mock.calls).toEqual([[{ state: 'processing' }], [{ state: 'done' }]]);
  expect(ask.mock.calls[0]?.[1].headers).toMatchObject({ authorization: 'Bearer secret' });
  end();
});

it('asks now and then where the server does not tell', async () => {
  const told = vi.fn(() => Promise.resolve());
  answers = [429];
  const end = follow('/events', told);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(told.mock.calls.length).toBeGreaterThan(2);
  expect(ask).toHaveBeenCalledTimes(1);
  end();
  const asked = told.mock.calls.length;
  await vi.advanceTimersByTimeAsync(600_000);
  expect(told.mock.calls.length).toBe(asked);
});

it('listens to nothing while nobody looks', async () => {
  const told = vi.fn(() => Promise.resolve());
  answers = [stream(), stream()];
  const end = follow('/events', told);
  await vi.advanceTimersByTimeAsync(100);
  page.hidden = true;
  page.dispatchEvent(new Event('visibilitychange'));
  expect(ask.mock.calls[0]?.[1].signal?.aborted).toBe(true);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(told).not.toHaveBeenCalled();
  page.hidden = false;
  page.dispatchEvent(new Event('visibilitychange'));
  await vi.advanceTimersByTimeAsync(100);
  expect(told).toHaveBeenCalledTimes(1);
  expect(ask).toHaveBeenCalledTimes(2);
  end();
});
