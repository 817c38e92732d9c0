// What a plugin in JavaScript or TypeScript is written with: citations, and small readers of log lines. Everything here works
// alike in `whycrash plugin test`, in your own tests and in the sandbox. `index.d.ts` says what each is.

// Characters of a line that are quoted; a log line can be of any length.
const QUOTE_CHARACTERS = 400;

const PAIR =
  /(?<![\w.\/-])([A-Za-z_][\w.\/-]*)["']?[ \t]*(?:=(?!=)|:(?!:|\/\/))[ \t]*(?:"([^"]*)"|'([^']*)'|([^ \t\n\r\f\v,;|()[\]{}"']+))/g;
const NUMBER = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?:%|[A-Za-z\/]*)$/;
const NO_NUMBER = /^([+-]?)(nan|inf|infinity)$/i;
const TIME =
  /(?<!\d)(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:(Z)|([+-])(\d\d):?(\d\d))?/g;

export function log(...words) {
  console.log(...words);
}

export function cite(place) {
  if (Array.isArray(place)) {
    if (place.length === 0) throw new RangeError('there is no line to cite: the list is empty');
    const quote = place.map(({ text }) => text.trim()).join('\n');
    return ofLines(place[0].artifact, place[0].number, place.at(-1).number, quote);
  }
  if (place === undefined || place === null || place.number === undefined) {
    throw new TypeError(`cite() takes a line, lines or an event, and not ${JSON.stringify(place)}`);
  }
  const { artifact, number, text } = place;
  if ('kind' in place && 'primary' in place) return { artifact, at: { tag: 'event', val: number }, quote: short(text) };
  return ofLines(artifact, number, number, short(text));
}

export function citeFrame(thread, index, frame) {
  const quote = frame.function ?? frame.module ?? frame.file ?? '';
  return { artifact: thread.artifact, at: { tag: 'frame', val: { thread: thread.id, index } }, quote };
}

export function citeFact(path, value) {
  return { artifact: '', at: { tag: 'fact', val: path }, quote: short(typeof value === 'string' ? value : JSON.stringify(value)) };
}

export function keyValues(line) {
  const found = {};
  for (const [, key, double, single, bare] of textOf(line).matchAll(PAIR)) found[key] = double ?? single ?? bare;
  return found;
}

export function number(text) {
  if (text === undefined || text === null) return undefined;
  const [, sign, word] = NO_NUMBER.exec(text) ?? [];
  if (word) return word.toLowerCase() === 'nan' ? NaN : sign === '-' ? -Infinity : Infinity;
  const found = NUMBER.exec(text);
  return found ? Number(found[1]) : undefined;
}

export function series(lines, key) {
  return lines
    .map((line) => ({ line, value: number(keyValues(line)[key]) }))
    .filter(({ value }) => value !== undefined);
}

export function timeOf(line) {
  for (const found of textOf(line).matchAll(TIME)) {
    const [year, month, day, hour, minute, second] = found.slice(1, 7).map(Number);
    const [fraction, , sign, hours, minutes] = found.slice(7);
    const midnight = new Date(Date.UTC(year, month - 1, day));
    const isDate = midnight.getUTCMonth() === month - 1 && midnight.getUTCDate() === day && year >= 1970;
    if (!isDate || hour > 23 || minute > 59) continue;
    const ahead = (Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60) * (sign === '-' ? -1 : 1);
    return midnight.getTime() / 1000 + hour * 3600 + minute * 60 + second - ahead + Number(`0.${fraction ?? 0}`);
  }
  return undefined;
}

const ofLines = (artifact, first, last, quote) => ({ artifact, at: { tag: 'line', val: { first, last } }, quote });
const textOf = (line) => (typeof line === 'string' ? line : line.text);
const short = (text) => [...text.trim()].slice(0, QUOTE_CHARACTERS).join('');
