/**
 * Editing of search queries: words, and `field:value` terms, with quotes around values that need them.
 *
 * A query stays the text that its writer typed; editing changes only the terms concerned.
 */

/** One term of a query, with where it stands in the text. */
export interface Term {
  /** Absent for a bare word. */
  field?: string;
  /** The value without quotes. */
  value: string;
  start: number;
  end: number;
}

const TERM = /(?:([a-z_]+):(?!:))?("(?:[^"\\]|\\.)*"?|\S+)/g;

/**
 * The terms of a query, in order. A field is a lower-case word before a single colon, as the server reads it, so that
 * `std::vector` is text. An unclosed quote reaches to the end.
 */
export function terms(query: string): Term[] {
  return [...query.matchAll(TERM)].map((match) => {
    const [text, field, raw = ''] = match;
    const place = { start: match.index, end: match.index + text.length };
    return field === undefined ? { value: unquote(raw), ...place } : { field, value: unquote(raw), ...place };
  });
}

/** The terms that name a field. */
export function filters(query: string): Term[] {
  return terms(query).filter((term) => term.field !== undefined);
}

/** Whether the query has this filter. */
export function hasFilter(query: string, field: string, value: string): boolean {
  return filters(query).some((term) => term.field === field && term.value === value);
}

/** The query with this filter, added at its end unless it is there. */
export function withFilter(query: string, field: string, value: string): string {
  if (hasFilter(query, field, value)) return query;
  return `${query.trimEnd()} ${field}:${quote(value)}`.trimStart();
}

/** The query without this filter. */
export function withoutFilter(query: string, field: string, value: string): string {
  const kept = terms(query).filter((term) => term.field !== field || term.value !== value);
  return kept.map((term) => query.slice(term.start, term.end)).join(' ');
}

/** The query with this filter if it lacked it, or without it if it had it. */
export function toggleFilter(query: string, field: string, value: string): string {
  return hasFilter(query, field, value) ? withoutFilter(query, field, value) : withFilter(query, field, value);
}

/** A value as it is written in a query. */
export function quote(value: string): string {
  return /^[\w.-]+$/.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`;
}

function unquote(raw: string): string {
  if (!raw.startsWith('"')) return raw;
  return raw.replace(/^"|(?<!\\)"$/g, '').replace(/\\(.)/g, '$1');
}
