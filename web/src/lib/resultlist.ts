/** The list of results that a report was opened from, so that its neighbours are one key away. */

const KEY = 'whycrash.results';

export interface ResultList {
  /** Address of the list. */
  href: string;
  ids: string[];
}

export function rememberResults(list: ResultList): void {
  sessionStorage.setItem(KEY, JSON.stringify(list));
}

export function recallResults(): ResultList | undefined {
  const stored = sessionStorage.getItem(KEY);
  return stored === null ? undefined : (JSON.parse(stored) as ResultList);
}
