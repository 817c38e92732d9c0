// A report for tests, made of a case's folder: files of text are its lines, and `evidence.json`, where there is one,
// the evidence (`whycrash inspect --format json FOLDER > FOLDER/evidence.json` writes it). Nothing is bounded or
// checked here: whether citations hold, and what a run costs, `whycrash plugin test` says.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const NOT_LEFT = ['case.toml', 'evidence.json', 'expected.json'];

export function reportOf(folder) {
  const texts = new Map();
  for (const name of readdirSync(folder).sort()) {
    if (NOT_LEFT.includes(name)) continue;
    texts.set(name, readFileSync(join(folder, name), 'utf8').split('\n'));
    if (texts.get(name).at(-1) === '') texts.get(name).pop();
  }
  const path = join(folder, 'evidence.json');
  const document = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  const evidence = document.evidence ?? document;
  const json = (value) => (value == null ? undefined : JSON.stringify(value));
  const at = (path) => path.split('.').reduce((value, name) => value?.[name], evidence);
  const page = (list, first, count) => (list ?? []).slice(first, first + count);
  const lines = (artifact) =>
    [...texts]
      .filter(([name]) => artifact === undefined || name === artifact)
      .flatMap(([name, all]) => all.map((text, index) => ({ artifact: name, number: BigInt(index + 1), text })));
  const verdicts = (rank) =>
    (evidence.collectives?.verdicts ?? [])
      .map((verdict, number) => ({ ...verdict, number }))
      .filter((verdict) => rank === undefined || verdict.ranks?.includes(rank));
  return {
    artifacts: () =>
      [...texts].map(([name, all]) => ({ name, kind: 'log', bytes: BigInt(all.join('\n').length), lines: BigInt(all.length) })),
    fact: (path) => json(at(path)),
    context: (path) => json(at(`context.${path}`)),
    lines: (artifact, first, count) => lines(artifact).filter((line) => line.number >= first).slice(0, count),
    search: (artifact, pattern, limit) => lines(artifact).filter((line) => new RegExp(pattern, 'u').test(line.text)).slice(0, limit),
    threads: (first, count) =>
      page(evidence.threads, first, count).map((thread) => ({ ...thread, id: String(thread.id), frames: thread.frames?.length ?? 0 })),
    frames: (thread, first, count) => page(evidence.threads?.[thread]?.frames, first, count),
    events: (kind, first, count) =>
      page(
        (evidence.timeline ?? []).filter((event) => kind === undefined || event.kind === kind),
        first,
        count,
      ).map((event) => ({ ...event, number: event.event, detail: json(event.detail) ?? '' })),
    memorySnapshots: () => (evidence.memory_snapshots ?? []).map(json),
    collectives: (rank) => verdicts(rank).map(json),
    count: (of) => evidence[of]?.length ?? 0,
    codes: (thread, first, count) =>
      page(evidence.threads?.[thread]?.frames, first, count).map((frame) => ({
        ...inJs(frame),
        lines: frame.at?.line?.map(BigInt),
      })),
    modules: (first, count) =>
      page(evidence.modules, first, count).map((module) => ({
        ...inJs(module),
        first: big(module.start),
        end: big(module.end),
      })),
    // In a plugin there is also what binaries, drivers and libraries tell.
    software: (name) =>
      Object.entries(evidence.context?.packages ?? {})
        .map(([key, version]) => ({
          name: key.toLowerCase().replaceAll('_', '-'),
          version,
          fact: `context.packages.${key}`,
        }))
        .filter((software) => name === undefined || software.name === name),
    gpuCores: () => (evidence.gpu_cores ?? []).map(inJs),
    gpuFaults: (core, first, count) => page(evidence.gpu_cores?.[core]?.faults, first, count).map(inJs),
    gpuWarps: (core, first, count) => page(evidence.gpu_cores?.[core]?.warps, first, count).map(inJs),
    memorySummaries: () =>
      (evidence.memory_snapshots ?? []).map((snapshot) => ({
        ...inJs(snapshot),
        failedRequests: BigInt(snapshot.oom_events ?? 0),
      })),
    failedRequest: (snapshot) => inJs(evidence.memory_snapshots?.[snapshot]?.oom),
    clusters: (snapshot, at, first, count) => {
      const from = evidence.memory_snapshots?.[snapshot];
      const clusters = at === 'peak' ? from?.peak?.clusters : from?.clusters;
      return page(clusters, first, count).map((cluster) => ({
        ...inJs(cluster),
        blocks: BigInt(cluster.count),
        growth: (cluster.growth ?? []).map(BigInt),
      }));
    },
    pools: (snapshot, first, count) => page(evidence.memory_snapshots?.[snapshot]?.pools, first, count).map(inJs),
    usage: (snapshot, first, end, count) => {
      const usage = evidence.memory_snapshots?.[snapshot]?.usage ?? { event: [] };
      const rows = usage.event.map((event, row) => ({
        event: BigInt(event),
        timeUs: usage.time_us?.[row] === undefined ? undefined : BigInt(usage.time_us[row]),
        least: BigInt(usage.min[row]),
        most: BigInt(usage.max[row]),
      }));
      return rows.filter((row) => row.event >= first && row.event < end).slice(0, count);
    },
    rankOverview: () => {
      const told = evidence.collectives;
      return told && {
        recorded: told.ranks ?? [],
        unrecorded: told.ranks_without_recorder ?? [],
        culprits: told.culprits ?? [],
        circle: told.circle ?? [],
        behindOnce: told.behind_once ?? [],
        verdicts: told.verdicts?.length ?? 0,
      };
    },
    rankVerdicts: (rank, first, count) =>
      page(verdicts(rank), first, count).map((verdict) => ({
        groupDescription: '', entered: [], operation: '', detail: '', pointToPoint: false, frames: [], ...inJs(verdict),
      })),
    // In tests of a plugin nothing is documented, and nobody listens to advice.
    cause: () => undefined,
    advise: () => undefined,
  };
}

// Members whose numbers are 64 bits wide, which are of type BigInt in a plugin.
const WIDE = new Set(
  ('reserved allocated active requested inactive largestInactive pendingFree privatePools segments blocks events ' +
    'peakAllocated peakActive deviceFree usableInactive largestUsable traceEvent bytes faulted sequence').split(' '),
);
const HEX = new Set(['offset', 'stream']);

const big = (hex) => (hex === undefined || hex === null ? undefined : BigInt(hex));

// Names and numbers as a plugin gets them.
function inJs(record) {
  if (record === undefined || record === null) return undefined;
  const member = ([name, value]) => {
    const inCamelCase = name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
    if (value === null) return [inCamelCase, undefined];
    if (HEX.has(inCamelCase)) return [inCamelCase, big(value)];
    return [inCamelCase, WIDE.has(inCamelCase) && typeof value === 'number' ? BigInt(value) : value];
  };
  return Object.fromEntries(Object.entries(record).map(member));
}
