import { expect, it } from 'vitest';
import { ago, bytes, confidenceWord, counted, differ, duration, fileName, percent, plural } from './format';

it.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.00 KiB'],
  [1536, '1.50 KiB'],
  [20 * 1024 * 1024, '20.0 MiB'],
  [1023.9 * 1024 ** 2, '1.00 GiB'],
  [80 * 1024 ** 3, '80.0 GiB'],
  [5000 * 1024 ** 4, '5000 TiB'],
])('%d bytes are %s', (count, text) => expect(bytes(count)).toBe(text));

it.each([
  [9999, '9,999'],
  [10_000, '10,000+'],
  [12_345, '12,345'],
])('%d reports are shown as %s', (reports, text) => expect(counted(reports)).toBe(text));

it.each([
  [1, 'near certain'],
  [0.9, 'near certain'],
  [0.72, 'likely'],
  [0.5, 'possible'],
  [0.3, 'possible'],
  [0.1, 'weak'],
])('confidence %d is %s', (confidence, word) => expect(confidenceWord(confidence)).toBe(word));

it.each([
  [10, 'just now'],
  [50, '1 min ago'],
  [3000, '50 min ago'],
  [7200, '2 h ago'],
  [86_400, '1 day ago'],
])('%d seconds back is %s', (seconds, text) => {
  const now = Date.parse('2026-03-01T12:00:00Z');
  expect(ago(new Date(now - seconds * 1000).toISOString(), now)).toBe(text);
});

it('keeps what is no time', () => expect(ago('yesterday')).toBe('yesterday'));
it.each([
  ['/usr/lib/libc.so.6', 'libc.so.6'],
  ['C:\\a\\b.dll', 'b.dll'],
  ['x', 'x'],
  ['/a/', '/a/'],
])('the name of %s is %s', (path, name) => expect(fileName(path)).toBe(name));
it('counts', () => expect([plural(1, 'report'), plural(1200, 'report')]).toEqual(['1 report', '1,200 reports']));

it.each([
  [600_000, '10 min'],
  [2500, '2.5 s'],
  [0.0125, '12.5 µs'],
  [5_400_000, '1.5 h'],
  [0, '0 ns'],
])('%d ms are %s', (milliseconds, text) => expect(duration(milliseconds)).toBe(text));
it('times that people would call the same are one', () => {
  expect(differ('2026-03-01T12:00:00Z', '2026-03-01T12:05:00Z')).toBe(false);
  expect(differ('2026-03-01T12:00:00Z', '2026-02-28T12:00:00Z')).toBe(true);
  expect(differ('2026-03-01T12:00:00Z', 'unknown')).toBe(false);
});

it.each([
  [0, '0 %'],
  [0.001, '1 %'],
  [0.5, '50 %'],
  [0.997, '99 %'],
  [1, '100 %'],
])('%d of one is %s: only all of it is 100 %%', (fraction, text) => expect(percent(fraction)).toBe(text));
