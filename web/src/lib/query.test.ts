import { describe, expect, it } from 'vitest';
import { describeTerm, filters, hasFilter, quote, terms, toggleFilter, withFilter, withoutFilter, withoutTerm } from './query';

describe('terms', () => {
  it.each([
    ['', []],
    [
      'cuda oom',
      [
        [undefined, 'cuda'],
        [undefined, 'oom'],
      ],
    ],
    ['signal:SIGSEGV', [['signal', 'SIGSEGV']]],
    [
      'host:"node 7" worker',
      [
        ['host', 'node 7'],
        [undefined, 'worker'],
      ],
    ],
    ['"killed by signal"', [[undefined, 'killed by signal']]],
    ['function:"a \\"b\\" c"', [['function', 'a "b" c']]],
    ['host:"never closed', [['host', 'never closed']]],
    ['std::bad_alloc', [[undefined, 'std::bad_alloc']]],
  ])('%s', (query, expected) => {
    expect(terms(query).map((term) => [term.field, term.value])).toEqual(expected);
  });
});

describe('filters are added once, found and removed', () => {
  it.each([
    ['', 'signal', 'SIGSEGV', 'signal:SIGSEGV'],
    ['oom ', 'host', 'node 7', 'oom host:"node 7"'],
    ['oom', 'function', 'a "b"', 'oom function:"a \\"b\\""'],
    ['oom', 'function', 'back\\slash', 'oom function:"back\\\\slash"'],
  ])('%s + %s:%s', (query, field, value, expected) => {
    const added = withFilter(query, field, value);
    expect(added).toBe(expected);
    expect(hasFilter(added, field, value)).toBe(true);
    expect(withFilter(added, field, value)).toBe(added);
    expect(withoutFilter(added, field, value)).toBe(query.trim());
    expect(toggleFilter(toggleFilter(query, field, value), field, value)).toBe(query.trim());
  });

  it('leaves the other terms as they were typed', () => {
    expect(withoutFilter('"killed by"  signal:SIGKILL host:"a b"', 'signal', 'SIGKILL')).toBe('"killed by" host:"a b"');
    expect(filters('word signal:SIGKILL')).toHaveLength(1);
  });
});

it('quotes only what needs it', () => {
  expect(quote('oom-fragmentation')).toBe('oom-fragmentation');
  expect(quote('torch.OutOfMemoryError')).toBe('torch.OutOfMemoryError');
  expect(quote('a b')).toBe('"a b"');
  expect(quote('')).toBe('""');
});

describe('what is left out and what only begins so are filters too', () => {
  it.each([
    ['-host:node-7', 'not host:node-7'],
    ['host:gpu*', 'host:gpu*'],
    ['-host:gpu*', 'not host:gpu*'],
    ['NOT signal:SIGKILL', 'not signal:SIGKILL'],
    ['-"killed by"', 'not "killed by"'],
    ['host:"node 7"*', 'host:"node 7"*'],
    ['alloc*', 'alloc*'],
    ['-exception:torch.OutOfMemoryError', 'not exception:torch.OutOfMemoryError'],
  ])('%s', (text, says) => {
    const query = `oom ${text} "a phrase" std::vector`;
    const [filter, ...others] = filters(query);
    expect(others).toEqual([]);
    expect(filter && describeTerm(filter)).toBe(says);
    expect(filter && withoutTerm(query, filter.start)).toBe('oom "a phrase" std::vector');
  });

  it.each(['oom - 7', 'a-b', '3 -', 'NOT', '"quoted -host:x"'])('%s has none', (query) => expect(filters(query)).toEqual([]));

  it('a facet is not chosen by its opposite', () => {
    expect(hasFilter('-host:a', 'host', 'a')).toBe(false);
    expect(hasFilter('host:a*', 'host', 'a')).toBe(false);
    expect(toggleFilter('-host:a', 'host', 'a')).toBe('-host:a host:a');
  });

  it('a term that stands twice loses only the one that is taken away', () => {
    expect(withoutTerm('host:a -host:a', 7)).toBe('host:a');
  });
});
