/**
 * Places of a report in addresses: `?at=train.log:120-121`, `?at=core.zst:frame:4711:0`, `?at=event:3`,
 * `?at=snapshot.pickle:bytes:0-16`, `?at=fact:memory_snapshots.0.reserved`.
 *
 * An address names the place itself rather than a finding's number, so that it still leads there when plugins
 * change their minds.
 */
import type { Place, Thread, ThreadId } from '../api/types';

/** A place with the artifact it is in (empty for the report as a whole). */
export interface Target {
  artifact: string;
  at: Place;
}

/** The parts of the evidence, each a tab of the report page. */
export type Part = 'threads' | 'logs' | 'memory' | 'gpus' | 'collectives' | 'gpu' | 'timeline' | 'context' | 'artifacts' | 'plugins';

/** A target as the value of `at` in an address; absent when the place is of a kind not known here. */
export function formatTarget({ artifact, at }: Target): string | undefined {
  if (at.line) return `${artifact}:${range(at.line[0], at.line[1])}`;
  if (at.frame) return `${artifact}:frame:${at.frame.thread}:${at.frame.index}`;
  if (at.event !== undefined) return `event:${at.event}`;
  if (at.bytes) return `${artifact}:bytes:${at.bytes[0]}-${at.bytes[1]}`;
  if (at.fact !== undefined) return `fact:${at.fact}`;
  return undefined;
}

/** The inverse of {@link formatTarget}. Artifact names may hold colons, so the patterns match from the end. */
export function parseTarget(text: string): Target | undefined {
  const fact = /^fact:(.+)$/.exec(text);
  if (fact) return { artifact: '', at: { fact: fact[1] ?? '' } };
  const event = /^event:(\d+)$/.exec(text);
  if (event) return { artifact: '', at: { event: Number(event[1]) } };
  const frame = /^(.*):frame:([^:]+):(\d+)$/.exec(text);
  if (frame) {
    const [, artifact = '', thread = '', index] = frame;
    return { artifact, at: { frame: { thread: threadId(thread), index: Number(index) } } };
  }
  const bytes = /^(.*):bytes:(\d+)-(\d+)$/.exec(text);
  if (bytes) return { artifact: bytes[1] ?? '', at: { bytes: [Number(bytes[2]), Number(bytes[3])] } };
  const line = /^(.*):(\d+)(?:-(\d+))?$/.exec(text);
  if (line) {
    const from = Number(line[2]);
    return { artifact: line[1] ?? '', at: { line: [from, Math.max(from, Number(line[3] ?? from))] } };
  }
  return undefined;
}

/** Where a place is shown. */
export function partOf(at: Place): Part {
  if (at.line) return 'logs';
  if (at.frame) return 'threads';
  if (at.event !== undefined) return 'timeline';
  if (at.fact !== undefined) return partOfFact(at.fact);
  return 'artifacts';
}

/** A place in words, such as `train.log, lines 120 to 121`. */
export function describeTarget({ artifact, at }: Target): string {
  const inArtifact = artifact === '' ? '' : `${artifact}, `;
  if (at.line) {
    const [from, to] = at.line;
    return from === to ? `${inArtifact}line ${from}` : `${inArtifact}lines ${from} to ${to}`;
  }
  if (at.frame) return `${inArtifact}thread ${at.frame.thread}, frame ${at.frame.index}`;
  if (at.event !== undefined) return `${inArtifact}event ${at.event}`;
  if (at.bytes) return `${inArtifact}bytes ${at.bytes[0]} to ${at.bytes[1]}`;
  if (at.fact !== undefined) return `${inArtifact}${at.fact}`;
  return artifact;
}

/** Whether a frame citation means this thread. Thread ids are unique only within their artifact. */
export function isThread(thread: Thread, artifact: string, id: ThreadId): boolean {
  return String(thread.id) === String(id) && (artifact === '' || (thread.artifact ?? artifact) === artifact);
}

function partOfFact(path: string): Part {
  const parts: Partial<Record<string, Part>> = {
    memory_snapshots: 'memory',
    collectives: 'collectives',
    gpu_cores: 'gpu',
    timeline: 'timeline',
    threads: 'threads',
    modules: 'threads',
    crash: 'threads',
  };
  if (path.startsWith('context.gpu_timeline.')) return 'gpus';
  return parts[path.split('.', 1)[0] ?? ''] ?? 'context';
}

function threadId(text: string): ThreadId {
  return /^\d+$/.test(text) ? Number(text) : text;
}

function range(from: number, to: number): string {
  return from === to ? String(from) : `${from}-${to}`;
}
