import { describe, expect, it } from 'vitest';
import { safeJson, safeText } from './safetext';

const cases: [string, string][] = [
  ['plain text, 日誌, naïve, \t tab\nline', 'plain text, 日誌, naïve, \t tab\nline'],
  ['node-\u202e71', 'node-⟨U+202E⟩71'],
  ['a\u0000b\u0007c\u001f', 'a␀b␇c␟'],
  ['\u009b31m', '⟨U+009B⟩31m'],
  ['\u2066hidden\u2069\u200b', '⟨U+2066⟩hidden⟨U+2069⟩⟨U+200B⟩'],
  ['tag\u{e0041}', 'tag⟨U+E0041⟩'],
  ['back\\slash "quoted" \\u001b', 'back\\slash "quoted" \\u001b'],
  ['\b\f', '␈␌'],
];

describe('what can not be seen is shown', () => {
  it.each(cases)('%j', (text, expected) => {
    expect(safeText(text)).toBe(expected);
    expect(JSON.parse(safeJson(JSON.stringify({ text })))).toEqual({ text: expected });
    // As a server writes it that escapes everything.
    const escaped = [...`${text}`].map((c) =>
      (c.codePointAt(0) ?? 0) > 0xffff ? c : `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    expect(JSON.parse(safeJson(`"${escaped.join('')}"`))).toBe(expected);
  });
});

it('drops the colours of terminals', () => {
  expect(JSON.parse(safeJson(JSON.stringify('\u001b[1;31mred\u001b[0m \u001b]0;title\u0007')))).toBe('red ␛]0;title␇');
});
