/** Facts: values of the evidence by their dotted paths. */
import type { Evidence, Json } from '../api/types';
import { bytes } from './format';

/** Numbers of a memory snapshot that are no sizes. */
const COUNTS = ['device', 'segments', 'blocks', 'events', 'count'];

/** The value at a path, or nothing. */
export function factAt(evidence: Evidence, path: string): Json | undefined {
  let found: unknown = evidence;
  for (const step of path.split('.')) {
    found = found !== null && typeof found === 'object' ? (found as Record<string, unknown>)[step] : undefined;
  }
  return found as Json | undefined;
}

/** What a value at a path is as a size, such as `1.10 GiB`, if it is one. */
export function sizeOf(path: string, value: Json | undefined): string | undefined {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || number < 1024 || !path.startsWith('memory_snapshots.')) return undefined;
  return COUNTS.includes(path.split('.').at(-1) ?? '') ? undefined : bytes(number);
}
