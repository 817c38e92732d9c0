import { expect, it } from 'vitest';
import { retryWords } from './retry';

it('puts advice into words, and takes advice it does not know for none', () => {
  expect(retryWords({ advice: 'retry-elsewhere', because: 'x' })).toBe('Worth another try on another machine.');
  const none = 'Whether another try helps is not known.';
  for (const retry of [undefined, {}, { advice: 'unknown' }, { advice: 'pray' }]) expect(retryWords(retry)).toBe(none);
});
