import { describe, expect, it } from 'vitest';
import { href, readSearch, reportHref, searchHref, upgrade } from './view';

describe('a search view goes into an address and comes back', () => {
  it.each([
    [{ query: '', page: 1 }, '/'],
    [{ query: 'signal:SIGSEGV', page: 1 }, '/?q=signal:SIGSEGV&v=1'],
    [{ query: 'a & b="c"', page: 3 }, '/?q=a+%26+b%3D%22c%22&page=3&v=1'],
  ])('%j', (view, address) => {
    expect(searchHref(view)).toBe(address);
    expect(readSearch(new URL(address, 'http://x').searchParams)).toEqual(view);
  });
});

it.each(['0', '-1', '1.5', 'x', ''])('page=%s is the first page', (page) => {
  expect(readSearch(new URLSearchParams({ page })).page).toBe(1);
});

it('empty parameters are left out', () => {
  expect(href('/x', { a: '', b: undefined })).toBe('/x');
  expect(reportHref('ab', { at: 'train.log:1-2' })).toBe('/reports/ab?at=train.log:1-2&v=1');
});

it.each(['1', '99', '0', 'x'])('parameters of form %s survive', (v) => {
  expect(upgrade(new URLSearchParams({ v, q: 'oom' })).get('q')).toBe('oom');
});
