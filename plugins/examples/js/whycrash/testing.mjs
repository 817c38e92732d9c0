// A report for tests, made of a case's folder: `whycrash plugin case FOLDER` writes what a plugin is told of a case into its
// `evidence.json`; without that file there are the lines of its texts and nothing else. Nothing is bounded or checked
// here: whether citations hold, and what a run costs, `whycrash plugin test` says.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { reportAround } from './report.js';

const NOT_LEFT = ['case.toml', 'evidence.json', 'expected.json', 'history.json'];
// What patterns of linear time do not have.
const NOT_LINEAR = /\(\?<?[=!]|\\[1-9]|\(\?P=/;
// Members of the evidence that are told as a whole, and lists of which every entry is told by itself.
const WHOLE = ['crash', 'collectives'];
const LISTS = [
  'threads', 'modules', 'memory_snapshots', 'memory_details', 'gpu_cores', 'timeline', 'communicators', 'processes',
];

// The report of a case, to call `diagnose` with: `reportOf('cases/healthy-log')`.
export const reportOf = (folder) => reportAround(caseReport(toldOf(folder)));

// What the host answers elsewhere.
export function caseReport({ artifacts = [], evidence = {}, software = [], history }) {
  const json = (value) => (value === undefined ? undefined : JSON.stringify(value));
  const page = (list, first, count) => (list ?? []).slice(first, first + count);
  const context = (path) => json(descend(evidence.context, dotted(path)));
  const lines = (artifact) =>
    artifacts
      .filter(({ name }) => artifact === undefined || name === artifact)
      .flatMap(({ name, lines = [] }) => lines.map((text, index) => ({ artifact: name, number: BigInt(index + 1), text })));
  const verdicts = (rank) =>
    (evidence.collectives?.verdicts ?? [])
      .map((verdict, number) => ({ verdict, number }))
      .filter(({ verdict }) => rank === undefined || verdict.ranks?.includes(rank));
  const detailOf = (snapshot) => {
    const number = (evidence.memory_details ?? []).findIndex((detail) => isOf(detail, snapshot));
    return { number, detail: evidence.memory_details?.[number] ?? {} };
  };
  return {
    artifacts: () =>
      artifacts.map(({ name, kind, bytes, lines = [] }) => ({ name, kind, bytes: BigInt(bytes), lines: BigInt(lines.length) })),
    fact: (path) => {
      const [member, rest] = split(dotted(path));
      if (member === 'context') return context(rest);
      if (member === 'history') return json(descend(history, rest));
      const isTold = WHOLE.includes(member) || (LISTS.includes(member) && rest !== '');
      return isTold ? json(descend(evidence[member], rest)) : undefined;
    },
    context,
    lines: (artifact, first, count) => lines(artifact).filter((line) => line.number >= first).slice(0, count),
    search: (artifact, pattern, limit) => {
      // As the host has it, a dot is anything within a line, also the carriage return of a line that is drawn over.
      if (NOT_LINEAR.test(pattern)) throw new SyntaxError('there are no look-around and no back-references');
      const compiled = new RegExp(pattern, 'su');
      return lines(artifact).filter((line) => compiled.test(line.text)).slice(0, limit);
    },
    threads: (first, count) =>
      page(evidence.threads, first, count).map((thread) => ({
        ...inJs(thread),
        id: String(thread.id),
        crashed: thread.crashed ?? false,
        frames: thread.frames?.length ?? 0,
        omitted: BigInt(thread.frames_omitted ?? 0),
      })),
    frames: (thread, first, count) =>
      page(evidence.threads?.[thread]?.frames, first, count).map((frame) => ({ inline: false, signal: false, ...inJs(frame) })),
    events: (kind, first, count) =>
      page(
        (evidence.timeline ?? []).filter((event) => kind === undefined || event.kind === kind),
        first,
        count,
      ).map((event) => ({
        primary: false,
        survived: false,
        ...inJs(event),
        number: event.event,
        detail: json(event.detail) ?? '',
        lines: event.at?.line?.map(BigInt),
      })),
    memorySnapshots: () => (evidence.memory_snapshots ?? []).map(json),
    collectives: (rank) => verdicts(rank).map(({ verdict }) => json(verdict)),
    count: (of) => (LISTS.includes(of) ? (evidence[of]?.length ?? 0) : 0),
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
    software: (name) => software.filter((one) => name === undefined || one.name === name),
    gpuCores: () => (evidence.gpu_cores ?? []).map(inJs),
    gpuFaults: (core, first, count) => page(evidence.gpu_cores?.[core]?.faults, first, count).map(inJs),
    gpuWarps: (core, first, count) =>
      page(evidence.gpu_cores?.[core]?.warps, first, count).map((warps) => ({
        ...inJs(warps),
        count: BigInt(warps.count),
      })),
    memorySummaries: () =>
      (evidence.memory_snapshots ?? []).map((snapshot) => ({
        ...inJs(snapshot),
        failedRequests: BigInt(snapshot.oom_events ?? 0),
        blocksKept: BigInt(detailOf(snapshot).detail.blocks?.length ?? 0),
        eventsKept: BigInt(detailOf(snapshot).detail.trace?.length ?? 0),
      })),
    failedRequest: (snapshot) => {
      const failed = inJs(evidence.memory_snapshots?.[snapshot]?.oom);
      return failed && { frames: [], ...failed };
    },
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
      const of = evidence.memory_snapshots?.[snapshot];
      if (!of?.usage) return [];
      const curve = (evidence.memory_curves ?? []).find((curve) => isOf(curve, of));
      const levels = [...(curve?.levels ?? []), of.usage].map(stretches);
      let chosen = levels.find((level) => within(level, first, end).length <= count) ?? levels.at(-1);
      while (within(chosen, first, end).length > count && chosen.length > 1) chosen = halved(chosen);
      return within(chosen, first, end).slice(0, count);
    },
    blocks: (snapshot, address, count) => {
      const { number, detail } = detailOf(evidence.memory_snapshots?.[snapshot]);
      const blocks = (detail.blocks ?? []).map((block, index) => ({
        ...inJs(block),
        frames: detail.stacks?.[block.stack] ?? [],
        fact: `memory_details.${number}.blocks.${index}.address`,
      }));
      return blocks.filter((block) => block.address > address || address < block.address + block.bytes).slice(0, count);
    },
    trace: (snapshot, first, count) => {
      const { number, detail } = detailOf(evidence.memory_snapshots?.[snapshot]);
      const entries = (detail.trace ?? []).map((entry, index) => ({
        ...inJs(entry),
        number: BigInt(entry.number),
        frames: detail.stacks?.[entry.stack] ?? [],
        fact: `memory_details.${number}.trace.${index}.action`,
      }));
      return entries.filter((entry) => entry.number >= first).slice(0, count);
    },
    earlier: (first, count) =>
      page(told(history?.earlier, 'history.earlier'), first, count).map((report) => ({ conclusions: [], ...report })),
    incident: (first, count) =>
      page(told(history?.incident, 'history.incident'), first, count).map((report) => ({ ranks: [], ...report })),
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
      page(verdicts(rank), first, count).map(({ verdict, number }) => ({
        groupDescription: '', ranks: [], entered: [], operation: '', detail: '', pointToPoint: false, frames: [],
        ...inJs(verdict), number,
      })),
    // In tests of a plugin nothing is documented, and nobody listens to advice.
    cause: () => undefined,
    recogniseTables: () => [],
    advise: () => undefined,
  };
}

// What `whycrash plugin case` wrote down, or else the lines of the texts.
export function toldOf(folder) {
  const path = join(folder, 'evidence.json');
  if (existsSync(path)) return JSON.parse(readFileSync(path, 'utf8'));
  const left = readdirSync(folder).filter((name) => !NOT_LEFT.includes(name)).sort();
  const artifact = (name) => {
    const text = readFileSync(join(folder, name));
    const lines = text.toString('utf8').split('\n').map((line) => line.replace(/\r$/, ''));
    return { name, kind: 'log', bytes: text.length, lines: lines.at(-1) === '' ? lines.slice(0, -1) : lines };
  };
  return { artifacts: left.map(artifact) };
}

// A JSON pointer as a dotted path; a dotted path as it is.
const dotted = (path) =>
  path.startsWith('/') ? path.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~') : path;

function split(path) {
  const dot = path.indexOf('.');
  return dot < 0 ? [path, ''] : [path.slice(0, dot), path.slice(dot + 1)];
}

// A key that itself has dots, such as a package's name, is found when it comes last.
function descend(value, path) {
  if (path === '' || value === undefined || value === null) return path === '' ? value : undefined;
  if (Array.isArray(value)) {
    const [key, rest] = split(path);
    return /^\d+$/.test(key) ? descend(value[Number(key)], rest) : undefined;
  }
  if (typeof value !== 'object') return undefined;
  if (Object.hasOwn(value, path)) return value[path];
  const [key, rest] = split(path);
  return rest !== '' && Object.hasOwn(value, key) ? descend(value[key], rest) : undefined;
}

const isOf = (value, snapshot) => value.artifact === snapshot?.artifact && value.device === snapshot?.device;

const told = (list, fact) => (list ?? []).map((report, number) => ({ ...report, fact: `${fact}.${number}.title` }));

const stretches = (curve) =>
  curve.event.map((event, row) => ({
    event: BigInt(event),
    timeUs: curve.time_us?.[row] === undefined ? undefined : BigInt(curve.time_us[row]),
    least: BigInt(curve.min[row]),
    most: BigInt(curve.max[row]),
  }));

// The rows that tell of these trace entries.
function within(rows, first, end) {
  if (first >= end) return [];
  const begun = rows.filter((row) => row.event <= first).length;
  return rows.slice(Math.max(begun - 1, 0)).filter((row) => row.event < end);
}

// Neighbours as one.
const halved = (rows) =>
  rows
    .filter((_, row) => row % 2 === 0)
    .map((first, pair) => {
      const second = rows[2 * pair + 1] ?? first;
      const least = first.least < second.least ? first.least : second.least;
      return { ...first, least, most: first.most > second.most ? first.most : second.most };
    });

// Members whose numbers are 64 bits wide, which are of type BigInt in a plugin.
const WIDE = new Set(
  ('reserved allocated active requested inactive largestInactive pendingFree privatePools segments blocks events ' +
    'peakAllocated peakActive deviceFree usableInactive largestUsable traceEvent bytes faulted sequence timeUs').split(' '),
);
const HEX = new Set(['offset', 'stream', 'address']);
// Pairs of such numbers.
const PAIRS = new Set(['privatePool']);

const big = (hex) => (hex === undefined || hex === null ? undefined : BigInt(hex));

// Names and numbers as a plugin gets them.
function inJs(record) {
  if (record === undefined || record === null) return undefined;
  const member = ([name, value]) => {
    const inCamelCase = name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
    if (value === null) return [inCamelCase, undefined];
    if (HEX.has(inCamelCase)) return [inCamelCase, big(value)];
    if (PAIRS.has(inCamelCase)) return [inCamelCase, value.map(BigInt)];
    return [inCamelCase, WIDE.has(inCamelCase) && typeof value === 'number' ? BigInt(value) : value];
  };
  return Object.fromEntries(Object.entries(record).map(member));
}
