/** Long lists of the evidence: a document has their first entries, and the server the rest. */
import type { Evidence, Place, ReportDocument } from '../api/types';

/** Where the server has a list whole, by its name. */
const PATHS: Partial<Record<string, string>> = {
  threads: 'threads',
  timeline: 'timeline',
  modules: 'modules',
  memory_snapshots: 'memory',
  memory_curves: 'memory',
  gpu_cores: 'gpu-cores',
};

/** Where to ask for those of these lists that the document does not have whole, each place once. */
export function pathsOf(document: Partial<ReportDocument>, lists: readonly string[]): string[] {
  const split = lists.filter((list) => document.parts?.[list]);
  return [...new Set(split.flatMap((list) => PATHS[list] ?? []))];
}

/** Those of these lists whose first entries do not do: there are none, or the place to show is not among them. */
export function missing(document: Partial<ReportDocument>, lists: readonly string[], at: Place | undefined): string[] {
  const shown = (list: string) => document.parts?.[list]?.shown ?? 0;
  const has = (list: string): boolean => {
    if (shown(list) === 0) return false;
    const evidence = document.evidence ?? {};
    const { frame, event } = at ?? {};
    if (list === 'threads' && frame) return !!evidence.threads?.some((thread) => String(thread.id) === String(frame.thread));
    if (list === 'timeline' && event !== undefined) return !!evidence.timeline?.some((entry) => entry.event === event);
    const index = listOf(at?.fact)[0] === list ? Number(at?.fact?.replace(/^\//, '').split(/[./]/)[1]) : 0;
    return !(index >= shown(list));
  };
  return lists.filter((list) => document.parts?.[list] && !has(list));
}

/** How many entries a list has, whether they are here or not. */
export function countOf(document: Partial<ReportDocument>, list: 'threads' | 'timeline' | 'memory_snapshots' | 'gpu_cores'): number {
  return document.parts?.[list]?.entries ?? document.evidence?.[list]?.length ?? 0;
}

/** The list that a dotted path leads into. */
export function listOf(fact: string | undefined): string[] {
  const first = fact?.replace(/^\//, '').split(/[./]/)[0];
  return first ? [first] : [];
}

/** The document's evidence with the lists that came since. */
export function merged(document: Partial<ReportDocument>, loaded: readonly Evidence[]): Evidence {
  return Object.assign({}, document.evidence, ...loaded) as Evidence;
}
