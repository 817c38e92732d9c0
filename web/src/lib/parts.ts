/** Long lists of the evidence: a document has their first entries, and the server the rest. */
import type { Document, Evidence } from '../api/types';

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
export function pathsOf(document: Document, lists: readonly string[]): string[] {
  const split = lists.filter((list) => document.parts?.[list]);
  return [...new Set(split.flatMap((list) => PATHS[list] ?? []))];
}

/** How many entries a list has, whether they are here or not. */
export function countOf(document: Document, list: 'threads' | 'timeline' | 'memory_snapshots' | 'gpu_cores'): number {
  return document.parts?.[list]?.entries ?? document.evidence?.[list]?.length ?? 0;
}

/** The list that a dotted path leads into. */
export function listOf(fact: string | undefined): string[] {
  const first = fact?.replace(/^\//, '').split(/[./]/)[0];
  return first ? [first] : [];
}

/** The document's evidence with the lists that came since. */
export function merged(document: Document, loaded: readonly Evidence[]): Evidence {
  return Object.assign({}, document.evidence, ...loaded) as Evidence;
}
