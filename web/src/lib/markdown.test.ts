import { describe, expect, it } from 'vitest';
import { blocks, inline, plain, type Block, type Inline } from './markdown';

/** The tree as one line of text. */
function said(pieces: readonly Inline[]): string {
  return pieces
    .map((piece) => {
      if (piece.kind === 'text') return piece.text;
      if (piece.kind === 'code') return `<code>${piece.text}</code>`;
      if (piece.kind === 'link') return `<a ${piece.href}>${said(piece.inside)}</a>`;
      return `<${piece.kind}>${said(piece.inside)}</${piece.kind}>`;
    })
    .join('');
}

function shape(block: Block): string {
  if (block.kind === 'code') return `pre(${block.text})`;
  if (block.kind === 'list') return `${block.ordered ? 'ol' : 'ul'}(${block.items.map(said).join('|')})`;
  return `p(${said(block.inside)})`;
}

describe('within a line', () => {
  it.each([
    ['plain', 'plain'],
    ['call `all_reduce` on *every* rank', 'call <code>all_reduce</code> on <emphasis>every</emphasis> rank'],
    ['**never** do *that*', '<strong>never</strong> do <emphasis>that</emphasis>'],
    ['**one *two* three**', '<strong>one <emphasis>two</emphasis> three</strong>'],
    ['`*** stack smashing detected ***`', '<code>*** stack smashing detected ***</code>'],
    ['`` a ` b ``', '<code>a ` b</code>'],
    ['f(*args, **kwargs)', 'f(*args, **kwargs)'],
    ['2 * 3 * 4 and 2*3*4', '2 * 3 * 4 and 2*3*4'],
    ['libcudnn*.so and libcuda*', 'libcudnn*.so and libcuda*'],
    ['*not closed, `nor this', '*not closed, `nor this'],
    ['snake_case_name and __init__', 'snake_case_name and __init__'],
    [String.raw`\*plain\*`, '*plain*'],
    ['[the page](https://example.org/a)', '<a https://example.org/a>the page</a>'],
    ['[cause](/causes/x)', '<a /causes/x>cause</a>'],
    ['<https://example.org>', '<a https://example.org>https://example.org</a>'],
    ['[bad](javascript:alert(1))', '[bad](javascript:alert(1))'],
    ['[bad](//evil.example)', '[bad](//evil.example)'],
    ['x[10, 10] and a[i](j)', 'x[10, 10] and a[i](j)'],
    ['<b>bold</b><script>alert(1)</script>', '<b>bold</b><script>alert(1)</script>'],
  ])('%s', (text, expected) => expect(said(inline(text))).toBe(expected));

  it('of markup nothing but text is made', () => {
    expect(inline('<img src=x onerror=alert(1)>')).toEqual([{ kind: 'text', text: '<img src=x onerror=alert(1)>' }]);
  });
});

it('paragraphs, lists and code stand by themselves', () => {
  const text = 'First\nline.\n\n- one\n- `two`\n  more\n\n1. a\n2. b\n```sh\nmake *all*\n```\nlast';
  expect(blocks(text).map(shape)).toEqual(['p(First\nline.)', 'ul(one|<code>two</code>\nmore)', 'ol(a|b)', 'pre(make *all*)', 'p(last)']);
});

it('takes time in proportion to the text, whatever is in it', () => {
  const cost = (text: string) => {
    const start = performance.now();
    blocks(text);
    return performance.now() - start;
  };
  for (const piece of ['*', '**a ', '`', '[', '[a](', '*a`', '- ', '\\', '``` \n']) {
    cost(piece.repeat(1000));
    const ratio = (cost(piece.repeat(8000)) + 5) / (cost(piece.repeat(2000)) + 5);
    expect(ratio, piece).toBeLessThan(40);
  }
});

it('the words alone are left where marks can not be shown', () => {
  expect(plain('`CUDA error` from *outside* [the allocator](/causes/x)')).toBe('CUDA error from outside the allocator');
});
