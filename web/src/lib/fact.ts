/** Facts: values of the evidence by their dotted paths, and what they say in words. */
import type { Evidence, Json } from '../api/types';
import { bytes, count, duration, time, words } from './format';

/** The value at a path, or nothing. */
export function factAt(evidence: Evidence, path: string): Json | undefined {
  let found: unknown = evidence;
  for (const step of path.split('.')) {
    found = found !== null && typeof found === 'object' ? (found as Record<string, unknown>)[step] : undefined;
  }
  return found as Json | undefined;
}

type Unit = 'bytes' | 'count' | 'text';

/** A path with `*` for any number or name, what its value counts, and a sentence with `$` for the value. */
type Phrase = readonly [path: string, unit: Unit, says: string];

const PHRASES: readonly Phrase[] = [
  ['memory_snapshots.*.oom.requested', 'bytes', 'asked for $'],
  ['memory_snapshots.*.oom.device_free', 'bytes', '$ free on the device when it failed'],
  ['memory_snapshots.*.oom.usable_inactive', 'bytes', '$ free in blocks that the request could have used'],
  ['memory_snapshots.*.oom.largest_usable', 'bytes', 'largest block that the request could have used: $'],
  ['memory_snapshots.*.oom.stream', 'text', 'asked for on stream $'],
  ['memory_snapshots.*.oom.frames.*', 'text', 'asked for by $'],
  ['memory_snapshots.*.reserved', 'bytes', '$ reserved from the driver'],
  ['memory_snapshots.*.allocated', 'bytes', '$ allocated'],
  ['memory_snapshots.*.active', 'bytes', '$ allocated or waiting to be free'],
  ['memory_snapshots.*.requested', 'bytes', '$ asked for by what is allocated'],
  ['memory_snapshots.*.peak_allocated', 'bytes', '$ allocated at the most'],
  ['memory_snapshots.*.inactive', 'bytes', '$ free, but held by the allocator'],
  ['memory_snapshots.*.largest_inactive', 'bytes', 'largest free block: $'],
  ['memory_snapshots.*.pending_free', 'bytes', '$ freed, but another stream may still use it'],
  ['memory_snapshots.*.private_pools', 'bytes', '$ reserved for CUDA graphs'],
  ['memory_snapshots.*.segments', 'count', '$ segments'],
  ['memory_snapshots.*.blocks', 'count', '$ blocks'],
  ['memory_snapshots.*.events', 'count', '$ entries in the trace'],
  ['memory_snapshots.*.device', 'text', 'on GPU $'],
  ['memory_snapshots.*.expandable_segments', 'text', 'expandable segments: $'],
  ['memory_snapshots.*.settings.*', 'text', 'allocator setting * is $'],
  ['memory_snapshots.*.clusters.*.bytes', 'bytes', '$ held by allocations of one place'],
  ['memory_snapshots.*.clusters.*.count', 'count', '$ blocks allocated by one place'],
  ['memory_snapshots.*.clusters.*.frames.*', 'text', 'allocated by $'],
  ['collectives.culprits', 'text', 'others wait for rank $'],
  ['collectives.circle', 'text', 'these ranks wait for each other: $'],
  ['collectives.ranks', 'text', 'flight recorders of rank $'],
  ['collectives.ranks_without_recorder', 'text', 'no flight recorder of rank $'],
  ['collectives.verdicts.*.detail', 'text', '$'],
  ['collectives.verdicts.*.kind', 'text', 'verdict: $'],
  ['collectives.verdicts.*.ranks', 'text', 'differs on rank $'],
  ['collectives.verdicts.*.entered', 'text', 'entered by rank $'],
  ['collectives.verdicts.*.operation', 'text', 'operation $'],
  ['collectives.verdicts.*.group', 'text', 'group $'],
  ['collectives.verdicts.*.sequence', 'count', 'operation number $ of its group'],
  ['collectives.verdicts.*.frames.*', 'text', 'called from $'],
  ['crash.signal', 'text', 'ended by $'],
  ['crash.rank', 'text', 'rank $ was the first to fail'],
  ['crash.code', 'text', 'signal code $'],
  ['crash.exit_code', 'text', 'ended with exit code $'],
  ['crash.address', 'text', 'at address $'],
  ['crash.address_kind', 'text', 'kind of address: $'],
  ['crash.access', 'text', 'while it tried to $'],
  ['crash.message', 'text', 'last words: $'],
  ['crash.instruction', 'text', 'at the instruction $'],
  ['gpu_cores.*.exception', 'text', 'GPU exception $'],
  ['gpu_cores.*.kernel', 'text', 'in the kernel $'],
  ['gpu_cores.*.block', 'text', 'in block $'],
  ['gpu_cores.*.thread', 'text', 'in thread $'],
  ['context.environment.*', 'text', '* was set to $'],
  ['context.host', 'text', 'on host $'],
  ['context.command', 'text', 'command: $'],
];

const KNOWN = PHRASES.map(([path, unit, says]) => {
  const pattern = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll('*', '([^.]+)')}$`);
  return { pattern, unit, says };
});

/** What the fact says, in words: `memory_snapshots.0.oom.requested`, 1258291200 is `asked for 1.17 GiB`. */
export function describeFact(path: string, value: Json | undefined): string {
  for (const { pattern, unit, says } of KNOWN) {
    const match = pattern.exec(path);
    if (match) return says.replace('*', () => match.at(-1) ?? '').replace('$', () => shown(value, unit));
  }
  return humanised(path, value);
}

/** For a path that is not in the table: its names as words, and the value with the unit that its name tells. */
function humanised(path: string, value: Json | undefined): string {
  const steps = path.split('.');
  const name = steps.at(-1) ?? '';
  const label = steps
    .map((step, index) => (/^\d+$/.test(step) && index > 0 ? `${Number(step) + 1}` : words(step)))
    .join(', ')
    .replaceAll(/, (\d+)(?=,|$)/g, ' $1');
  return `${label}: ${byName(name, value)}`;
}

/** Units that names end in, with how many milliseconds one is. */
const TIMES: Partial<Record<string, number>> = { ns: 1e-6, us: 1e-3, ms: 1, millis: 1, seconds: 1000, secs: 1000 };

function byName(name: string, value: Json | undefined): string {
  const number = numberOf(value);
  const last = name.split('_').at(-1) ?? '';
  if (number !== undefined) {
    if (last === 'bytes') return bytes(number);
    const scale = TIMES[last];
    if (scale !== undefined && !name.startsWith('time')) return duration(number * scale);
    if (last === 'kib' || last === 'kb') return bytes(number * 1024);
    if (last === 'mib' || last === 'mb') return bytes(number * 1024 ** 2);
  }
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:/.test(value)) return time(value);
  return shown(value, 'text');
}

function shown(value: Json | undefined, unit: Unit): string {
  const number = numberOf(value);
  if (number !== undefined && unit === 'bytes') return bytes(number);
  if (number !== undefined && unit === 'count') return count(number);
  if (value === undefined) return 'nothing';
  if (value === null) return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return listed(value) ?? value;
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map((item) => shown(item, unit)).join(', ');
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([name, item]) => `${words(name)} ${shown(item, 'text')}`)
      .join(', ');
  return String(value);
}

/** A quote is text: that of a list is the list in JSON. */
function listed(text: string): string | undefined {
  if (!/^\[.*\]$/s.test(text)) return undefined;
  try {
    return shown(JSON.parse(text) as Json, 'text');
  } catch {
    return undefined;
  }
}

function numberOf(value: Json | undefined): number | undefined {
  if (typeof value === 'string') return /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : undefined;
  return typeof value === 'number' ? value : undefined;
}
