/**
 * The state of a view lives in its address, marked with the version of the form (`v=1`), so that a copied link
 * shows the same thing later.
 */

/** Version of the form that this build writes. */
export const VIEW_VERSION = 1;

/** One step each: `upgraders[n]` turns the parameters of version n + 1 into those of version n + 2. */
const upgraders: readonly ((params: URLSearchParams) => void)[] = [];

/** The parameters in the present form. Those of a newer build are kept as they are: what is known still works. */
export function upgrade(params: URLSearchParams): URLSearchParams {
  const upgraded = new URLSearchParams(params);
  const from = Number(params.get('v') ?? VIEW_VERSION);
  if (Number.isInteger(from) && from >= 1) upgraders.slice(from - 1).forEach((step) => step(upgraded));
  return upgraded;
}

/** What the search page shows. */
export interface SearchView {
  query: string;
  /** Where the page before ended, in the server's word; empty on the first page. */
  after: string;
}

export function readSearch(params: URLSearchParams): SearchView {
  const current = upgrade(params);
  return { query: current.get('q') ?? '', after: current.get('after') ?? '' };
}

export function searchHref({ query, after }: SearchView): string {
  return href('/', { q: query, after });
}

/** A path with those of the parameters that are not empty, and the version mark if there are any. */
export function href(path: string, params: Record<string, string | undefined>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value) search.set(name, value);
  if (search.size === 0) return path;
  search.set('v', String(VIEW_VERSION));
  // These are legal in a query as they are, and addresses stay readable with them.
  return `${path}?${search.toString().replaceAll('%3A', ':').replaceAll('%2F', '/')}`;
}

export function reportHref(id: string, params: Record<string, string | undefined> = {}): string {
  return href(`/reports/${encodeURIComponent(id)}`, params);
}

export function causeHref(id: string): string {
  return `/causes/${encodeURIComponent(id)}`;
}

export function groupHref(signature: string): string {
  return `/groups/${encodeURIComponent(signature)}`;
}

export function previewHref(number: number | string, params: Record<string, string | undefined> = {}): string {
  const given = Object.entries(params).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const query = new URLSearchParams(given).toString();
  return `/previews/${encodeURIComponent(number)}${query && `?${query}`}`;
}
