import { describe, expect, it } from 'vitest';
import { href, readSearch, reportHref, searchHref, upgrade } from './view';

describe('a search view goes into an address and comes back', () => {
  it.each([
    [{ query: '', after: '' }, '/'],
    [{ query: 'signal:SIGSEGV', after: '' }, '/?q=signal:SIGSEGV&v=1'],
    [{ query: 'a & b="c"', after: 'eyJ4IjoxfQ' }, '/?q=a+%26+b%3D%22c%22&after=eyJ4IjoxfQ&v=1'],
  ])('%j', (view, address) => {
    expect(searchHref(view)).toBe(address);
    expect(readSearch(new URL(address, 'http://x').searchParams)).toEqual(view);
  });
});

it('empty parameters are left out', () => {
  expect(href('/x', { a: '', b: undefined })).toBe('/x');
  expect(reportHref('ab', { at: 'train.log:1-2' })).toBe('/reports/ab?at=train.log:1-2&v=1');
});

it.each(['1', '99', '0', 'x'])('parameters of form %s survive', (v) => {
  expect(upgrade(new URLSearchParams({ v, q: 'oom' })).get('q')).toBe('oom');
});
