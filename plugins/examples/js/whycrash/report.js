// The report as plugins get it: numbers are numbers, and what is asked for every day is easier.
import { citeFact } from './index.js';

// Parameters of 64 bits, which the interface takes as BigInt, by their places.
const WIDE = { lines: [1], usage: [1, 2], blocks: [1], trace: [1] };
const MOST = 2n ** 64n - 1n;
// Lines of an event that are given at most.
const EVENT_LINES = 1024;

// Around what the host gives, or what tests make of a case.
export function reportAround(inner) {
  const easier = {
    search: (artifact, pattern, limit) => {
      try {
        return plain(inner.search(artifact, pattern, limit));
      } catch (error) {
        throw new SyntaxError(`the pattern ${JSON.stringify(pattern)} is wrong: ${error.payload ?? error.message}`);
      }
    },
    find: (pattern, limit = 64) => report.search(undefined, pattern, limit),
    around: (line, n = 5) => {
      const first = Math.max(line.number - n, 1);
      return report.lines(line.artifact, first, line.number + n - first + 1);
    },
    linesOf: ({ artifact, lines }) =>
      lines ? report.lines(artifact, lines[0], Math.min(lines[1] - lines[0] + 1, EVENT_LINES)) : [],
    get: (path) => {
      const value = report.fact(path);
      return value === undefined ? undefined : JSON.parse(value);
    },
    citeFact: (path) => {
      const value = report.get(path);
      return value === undefined || value === null ? undefined : citeFact(path, value);
    },
  };
  const report = new Proxy(inner, {
    get(_, name) {
      if (Object.hasOwn(easier, name)) return easier[name];
      const member = inner[name];
      if (typeof member !== 'function') return member;
      return (...given) => plain(member.apply(inner, given.map((value, at) => (WIDE[name]?.includes(at) ? wide(value) : value))));
    },
  });
  return report;
}

const wide = (value) => {
  if (typeof value === 'bigint') return value;
  const whole = Math.trunc(value);
  return Number.isNaN(whole) || whole < 0 ? 0n : Number.isFinite(whole) ? BigInt(whole) : MOST;
};

// Numbers of 64 bits as numbers; only one that none can hold stays what it is.
function plain(value) {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}
