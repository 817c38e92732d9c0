import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { pauseMs, poll, whenShown } from './poll';

/** A page that can be hidden. */
const page = Object.assign(new EventTarget(), { hidden: false });

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('document', page);
  vi.stubGlobal('window', new EventTarget());
  page.hidden = false;
});
afterEach(() => void vi.useRealTimers());

function show(shown: boolean) {
  page.hidden = !shown;
  page.dispatchEvent(new Event('visibilitychange'));
}

it('asks less and less often', async () => {
  const work = vi.fn(() => Promise.resolve());
  const end = poll(work);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(work.mock.calls.length).toBeLessThanOrEqual(6);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(work.mock.calls.length).toBeLessThanOrEqual(6 + 3_600_000 / pauseMs(99) + 3);
  end();
  const asked = work.mock.calls.length;
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(work.mock.calls.length).toBe(asked);
});

it('asks nothing while nobody looks, and at once when somebody does again', async () => {
  const work = vi.fn(() => Promise.resolve());
  const end = poll(work);
  show(false);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(work).not.toHaveBeenCalled();
  show(true);
  expect(work).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(pauseMs(1));
  expect(work).toHaveBeenCalledTimes(2);
  end();
});

it('asks one question at a time', async () => {
  let answer = () => {};
  const work = vi.fn(() => new Promise<void>((resolve) => (answer = resolve)));
  const end = poll(work);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(work).toHaveBeenCalledTimes(1);
  answer();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(work).toHaveBeenCalledTimes(2);
  end();
});

it('coming back is told once, however a browser tells it', () => {
  const work = vi.fn();
  const end = whenShown(work);
  window.dispatchEvent(new Event('focus'));
  show(true);
  expect(work).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1000);
  window.dispatchEvent(new Event('focus'));
  expect(work).toHaveBeenCalledTimes(2);
  end();
  vi.advanceTimersByTime(1000);
  window.dispatchEvent(new Event('focus'));
  expect(work).toHaveBeenCalledTimes(2);
});
