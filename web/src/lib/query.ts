/**
 * Editing of search queries: words, and `field:value` terms, with quotes around values that need them; `-` before a
 * term leaves out what matches it, and `*` after it makes it the beginning of what is looked for.
 *
 * A query stays the text that its writer typed; editing changes only the terms concerned.
 */

/** One term of a query, with where it stands in the text. */
export interface Term {
  /** Absent for bare words. */
  field?: string;
  /** The value without quotes and without the star of a prefix. */
  value: string;
  /** Whether matching reports are left out. */
  negated: boolean;
  /** Whether the value is only the beginning of what is looked for. */
  prefix: boolean;
  start: number;
  end: number;
}

const TERM = /(NOT\s+(?=\S)|-(?=\S))?(?:([a-z_]+):(?!:))?("(?:[^"\\]|\\.)*"?\*?|\S+)/g;

/**
 * The terms of a query, in order. A field is a lower-case word before a single colon, as the server reads it, so that
 * `std::vector` is text. An unclosed quote reaches to the end.
 */
export function terms(query: string): Term[] {
  return [...query.matchAll(TERM)].map((match) => {
    const [text, negation, field, raw = ''] = match;
    const prefix = raw.endsWith('*');
    return {
      ...(field !== undefined && { field }),
      value: unquote(prefix ? raw.slice(0, -1) : raw),
      negated: negation !== undefined,
      prefix,
      start: match.index,
      end: match.index + text.length,
    };
  });
}

/** The terms that are more than words: they name a field, leave something out, or are the beginning of words. */
export function filters(query: string): Term[] {
  return terms(query).filter((term) => term.field !== undefined || term.negated || term.prefix);
}

/** A filter in words. */
export function describeTerm({ field, value, negated, prefix }: Term): string {
  return `${negated ? 'not ' : ''}${field === undefined ? '' : `${field}:`}${quote(value)}${prefix ? '*' : ''}`;
}

/** Whether the query has this filter. */
export function hasFilter(query: string, field: string, value: string): boolean {
  return terms(query).some((term) => is(term, field, value));
}

/** The query with this filter, added at its end unless it is there. */
export function withFilter(query: string, field: string, value: string): string {
  if (hasFilter(query, field, value)) return query;
  return `${query.trimEnd()} ${field}:${quote(value)}`.trimStart();
}

/** The query without this filter. */
export function withoutFilter(query: string, field: string, value: string): string {
  return without(query, (term) => is(term, field, value));
}

/** The query without the term that begins there. */
export function withoutTerm(query: string, start: number): string {
  return without(query, (term) => term.start === start);
}

/** The query with this filter if it lacked it, or without it if it had it. */
export function toggleFilter(query: string, field: string, value: string): string {
  return hasFilter(query, field, value) ? withoutFilter(query, field, value) : withFilter(query, field, value);
}

/** A value as it is written in a query. */
export function quote(value: string): string {
  return /^[\w.-]+$/.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`;
}

function is(term: Term, field: string, value: string): boolean {
  return term.field === field && term.value === value && !term.negated && !term.prefix;
}

function without(query: string, drop: (term: Term) => boolean): string {
  const kept = terms(query).filter((term) => !drop(term));
  return kept.map((term) => query.slice(term.start, term.end)).join(' ');
}

function unquote(raw: string): string {
  if (!raw.startsWith('"')) return raw;
  return raw.replace(/^"|(?<!\\)"$/g, '').replace(/\\(.)/g, '$1');
}
