/**
 * The little Markdown that causes and plugins write: paragraphs, lists, code blocks, `code`, **strong**, *emphasis* and
 * links. It becomes a tree, which a component draws: text stays text, so that nothing in it can become markup.
 */

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong'; inside: Inline[] }
  | { kind: 'emphasis'; inside: Inline[] }
  | { kind: 'link'; href: string; inside: Inline[] };

export type Block =
  { kind: 'paragraph'; inside: Inline[] } | { kind: 'list'; ordered: boolean; items: Inline[][] } | { kind: 'code'; text: string };

/** How deep emphasis and links may nest; deeper ones are shown as they are written. */
const DEEPEST = 4;
/** Characters of one emphasis at most, so that marks that nothing closes cost little. */
const LONGEST_EMPHASIS = 400;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const BULLET = /^ {0,3}[-*+] +(.*)$/;
const NUMBER = /^ {0,3}\d{1,9}[.)] +(.*)$/;

/** The blocks of a text. */
export function blocks(text: string): Block[] {
  const found: Block[] = [];
  const lines = text.split('\n');
  let paragraph: string[] = [];
  const end = () => {
    if (paragraph.length > 0) found.push({ kind: 'paragraph', inside: inline(paragraph.join('\n')) });
    paragraph = [];
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const fence = FENCE.exec(line)?.[1];
    const bullet = BULLET.exec(line);
    const item = bullet ?? NUMBER.exec(line);
    if (fence !== undefined) {
      end();
      let last = at + 1;
      while (last < lines.length && !lines[last]?.trimStart().startsWith(fence)) last += 1;
      found.push({ kind: 'code', text: lines.slice(at + 1, last).join('\n') });
      at = last;
    } else if (item) {
      end();
      const rest: string[] = [item[1] ?? ''];
      while (/^\s+\S/.test(lines[at + 1] ?? '') && !BULLET.test(lines[at + 1] ?? '') && !NUMBER.test(lines[at + 1] ?? '')) {
        at += 1;
        rest.push((lines[at] ?? '').trim());
      }
      const ordered = bullet === null;
      const before = found.at(-1);
      if (before?.kind === 'list' && before.ordered === ordered) before.items.push(inline(rest.join('\n')));
      else found.push({ kind: 'list', ordered, items: [inline(rest.join('\n'))] });
    } else if (line.trim() === '') {
      end();
    } else {
      paragraph.push(line);
    }
  }
  end();
  return found;
}

/** What can begin something that is no text. */
const SPECIAL = /\\[\\`*_[\]()#-]|`+|\*\*|\*|\[|<https?:\/\/[^\s<>]+>/g;

/** The pieces of a line. */
export function inline(text: string, depth = 0): Inline[] {
  const found: Inline[] = [];
  let plain = '';
  const push = (piece: Inline) => {
    if (plain !== '') found.push({ kind: 'text', text: plain });
    plain = '';
    found.push(piece);
  };
  let at = 0;
  for (;;) {
    SPECIAL.lastIndex = at;
    const mark = SPECIAL.exec(text);
    plain += text.slice(at, mark?.index);
    if (!mark) break;
    const piece = depth < DEEPEST ? begun(text, mark.index, mark[0], depth) : undefined;
    if (piece) push(piece.piece);
    else plain += mark[0].startsWith('\\') ? mark[0].slice(1) : mark[0];
    at = piece?.end ?? mark.index + mark[0].length;
  }
  if (plain !== '') found.push({ kind: 'text', text: plain });
  return found;
}

/** What a mark begins, if it is closed; and where that ends. */
function begun(text: string, at: number, mark: string, depth: number): { piece: Inline; end: number } | undefined {
  const start = at + mark.length;
  if (mark.startsWith('<')) {
    const href = mark.slice(1, -1);
    return { piece: { kind: 'link', href, inside: [{ kind: 'text', text: href }] }, end: start };
  }
  if (mark.startsWith('`')) {
    const close = text.indexOf(mark, start);
    if (close < 0 || text[close + mark.length] === '`') return undefined;
    return { piece: { kind: 'code', text: text.slice(start, close).replace(/^ (.*`.*) $/s, '$1') }, end: close + mark.length };
  }
  if (mark === '[') return link(text, start, depth);
  if (!mark.startsWith('*')) return undefined;
  // Of `2 * 3 * 4` and of `**kwargs` nothing is emphasis: what is emphasized touches its marks, and words do not.
  const close = closing(text, start, mark);
  if (close === undefined || /[\w*]/.test(text[at - 1] ?? '')) return undefined;
  const kind = mark === '**' ? 'strong' : 'emphasis';
  return { piece: { kind, inside: inline(text.slice(start, close), depth + 1) }, end: close + mark.length };
}

/** Where emphasis ends that begins here: after a character that is no space, before one that is no letter. */
function closing(text: string, start: number, mark: string): number | undefined {
  if (/[\s*]/.test(text[start] ?? ' ')) return undefined;
  let inCode = false;
  for (let at = start; at < Math.min(text.length, start + LONGEST_EMPHASIS); at += 1) {
    if (text[at] === '`') inCode = !inCode;
    if (inCode || text[at] !== '*' || !text.startsWith(mark, at) || /\s/.test(text[at - 1] ?? ' ')) continue;
    if (!/[\w*]/.test(text[at + mark.length] ?? ' ')) return at;
    // Two marks are strong emphasis within this one, not its end.
    if (mark === '*') while (text[at + 1] === '*') at += 1;
  }
  return undefined;
}

/** `[words](address)`, if the address is one of the web or of this site. */
function link(text: string, start: number, depth: number): { piece: Inline; end: number } | undefined {
  const rest = /^([^[\]\n]{1,500})\]\(([^()\s]{1,2000})\)/.exec(text.slice(start, start + 2600));
  if (!rest) return undefined;
  const [whole, words = '', href = ''] = rest;
  if (!/^(https?:\/\/|\/(?!\/)|#)/i.test(href)) return undefined;
  return { piece: { kind: 'link', href, inside: inline(words, depth + 1) }, end: start + whole.length };
}

/** The words of a line without its marks, where nothing but text can be shown. */
export function plain(text: string): string {
  const said = (pieces: readonly Inline[]): string => pieces.map((piece) => ('text' in piece ? piece.text : said(piece.inside))).join('');
  return said(inline(text));
}
