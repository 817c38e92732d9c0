// Prints what a report for tests in JavaScript answers to every call, one line of JSON for each case:
// `node calls.mjs FOLDER-OF-LIBRARY CASE…`; `plugins/builtin/hostile/every-call` asks the same.
import { resolve } from 'node:path';

const { caseReport, toldOf } = await import(resolve(process.argv[2], 'whycrash/testing.mjs'));

const FACTS = [
  '', 'nothing', 'crash', 'crash.signal', '/crash/signal', 'threads', 'threads.0', 'threads.0.frames.0.function',
  '/threads/0/id', 'threads.x', 'timeline.0', 'timeline.0.detail', 'modules.0', 'memory_snapshots.0',
  'memory_snapshots.0.clusters.0.frames.0', 'memory_curves.0', 'memory_details.0.artifact',
  'memory_details.0.blocks.1', 'memory_details.0.blocks.1.address', 'memory_details.0.trace.0.action',
  'memory_details.0.stacks.0', 'gpu_cores.0', 'collectives', 'collectives.verdicts.0.kind', 'communicators.0',
  'processes.0', 'context', 'context.host', 'history.earlier.0.title', 'history.earlier.0.conclusions',
  'history.incident.0',
];
const CONTEXT = ['', 'host', '/host', 'packages', 'packages.torch', 'python.version'];
const LISTS = [
  'threads', 'modules', 'memory_snapshots', 'memory_details', 'memory_curves', 'gpu_cores', 'timeline',
  'communicators', 'processes', 'context', 'nothing',
];
const PATTERNS = ['rror', '^.*[0-9]+$', 'no line has this', '('];
const [PAGE, LAST, END] = [4096, 2 ** 32 - 1, 2n ** 64n - 1n];

const RECORDS = {
  artifact: 'name kind bytes lines',
  line: 'artifact number text',
  thread: 'id name rank pid crashed artifact frames omitted',
  frame: 'kind function file line module address inline trust signal',
  event: 'number kind detail text artifact lines rank pid time primary survived',
  code: 'buildId offset lines',
  module: 'path buildId first end symbols artifact',
  software: 'name version fact',
  core: 'artifact device exception kernel offset file line block thread gridSize blockSize name architecture',
  fault: 'exception sm warp lane block thread kernel offset',
  warps: 'kernel offset count faulted',
  snapshot:
    'artifact device reserved allocated active requested inactive largestInactive pendingFree privatePools segments blocks ' +
    'events peakAllocated peakActive expandableSegments failedRequests blocksKept eventsKept',
  failed: 'requested deviceFree allocated reserved stream usableInactive largestUsable traceEvent frames',
  cluster: 'bytes blocks growth frames',
  pool: 'stream privatePool sizeClass reserved allocated pendingFree inactive largestInactive',
  stretch: 'event timeUs least most',
  block: 'address bytes requested state stream privatePool frames fact',
  entry: 'number action address bytes stream privatePool timeUs frames fact',
  overview: 'recorded unrecorded culprits circle behindOnce verdicts',
  verdict: 'number group groupDescription sequence kind ranks entered operation detail time pointToPoint frames',
  earlier: 'id title received conclusions fact',
  conclusion: 'cause title confidence plugin',
  other: 'id title received group host ranks signal exception fact',
};

// What is none is told apart from a null.
const parsed = (text) => (text === undefined || text === '' ? null : text === 'null' ? 'a null' : JSON.parse(text));

// Numbers of 64 bits are of type BigInt, as in a plugin, and become texts.
function plain(said) {
  if (said === undefined || said === null) return null;
  if (typeof said === 'bigint') return said.toString();
  return Array.isArray(said) ? said.map(plain) : said;
}

const value = (record, kind) =>
  RECORDS[kind].split(' ').map((name) => {
    if (kind === 'event' && name === 'detail') return parsed(record.detail);
    return name === 'conclusions' ? listed(record.conclusions, 'conclusion') : plain(record[name]);
  });
const listed = (records, kind) => records.map((record) => value(record, kind));
const maybe = (record, kind) => (record === undefined ? null : value(record, kind));

function found(report, artifact, pattern, limit) {
  try {
    return listed(report.search(artifact, pattern, limit), 'line');
  } catch {
    return 'wrong';
  }
}

function* calls(report) {
  const artifacts = report.artifacts();
  yield ['artifacts', listed(artifacts, 'artifact')];
  for (const [name, last] of [...artifacts.map(({ name, lines }) => [name, lines]), ['no such file', 1n]]) {
    for (const [first, count] of [[0n, 3], [2n, 2], [last, 5], [1n, 0], [END, 1]]) {
      yield [`lines ${name} ${first} ${count}`, listed(report.lines(name, first, count), 'line')];
    }
    yield [`search ${name}`, found(report, name, '[a-z]+', 2)];
  }
  for (const pattern of PATTERNS) {
    yield [`search ${pattern}`, found(report, undefined, pattern, 5)];
    yield [`search none ${pattern}`, found(report, undefined, pattern, 0)];
  }
  for (const path of FACTS) yield [`fact ${path}`, parsed(report.fact(path))];
  for (const path of CONTEXT) yield [`context ${path}`, parsed(report.context(path))];
  for (const name of LISTS) yield [`count ${name}`, report.count(name)];
  yield ['threads', listed(report.threads(0, PAGE), 'thread')];
  yield ['threads 1 2', listed(report.threads(1, 2), 'thread')];
  yield ['threads beyond', listed(report.threads(LAST, 1), 'thread')];
  for (const thread of [0, 1, 2, LAST]) {
    for (const [first, count] of [[0, PAGE], [1, 2], [LAST, 1]]) {
      yield [`frames ${thread} ${first} ${count}`, listed(report.frames(thread, first, count), 'frame')];
      yield [`codes ${thread} ${first} ${count}`, listed(report.codes(thread, first, count), 'code')];
    }
  }
  yield ['events', listed(report.events(undefined, 0, PAGE), 'event')];
  yield ['events 1 2', listed(report.events(undefined, 1, 2), 'event')];
  for (const kind of ['python-exception', 'cuda-oom', 'no-such']) {
    yield [`events ${kind}`, listed(report.events(kind, 0, 2), 'event')];
  }
  yield ['modules', listed(report.modules(0, PAGE), 'module')];
  yield ['modules 1 1', listed(report.modules(1, 1), 'module')];
  yield ['software', listed(report.software(undefined), 'software')];
  yield ['software torch', listed(report.software('torch'), 'software')];
  yield ['gpu-cores', listed(report.gpuCores(), 'core')];
  for (const core of [0, 1, LAST]) {
    for (const [first, count] of [[0, PAGE], [1, 1]]) {
      yield [`gpu-faults ${core} ${first} ${count}`, listed(report.gpuFaults(core, first, count), 'fault')];
      yield [`gpu-warps ${core} ${first} ${count}`, listed(report.gpuWarps(core, first, count), 'warps')];
    }
  }
  yield* snapshots(report);
  yield* together(report);
}

function* snapshots(report) {
  yield ['memory-snapshots', report.memorySnapshots().map(parsed)];
  yield ['memory-summaries', listed(report.memorySummaries(), 'snapshot')];
  for (const snapshot of [0, 1, LAST]) {
    yield [`failed-request ${snapshot}`, maybe(report.failedRequest(snapshot), 'failed')];
    for (const [first, count] of [[0, PAGE], [1, 1]]) {
      for (const moment of ['end', 'peak']) {
        const clusters = report.clusters(snapshot, moment, first, count);
        yield [`clusters ${moment} ${snapshot} ${first} ${count}`, listed(clusters, 'cluster')];
      }
      yield [`pools ${snapshot} ${first} ${count}`, listed(report.pools(snapshot, first, count), 'pool')];
    }
    for (const [first, end, count] of [[0n, END, PAGE], [0n, END, 10], [3n, 40n, 7], [5n, 5n, 3], [0n, 9n, 0]]) {
      const stretches = report.usage(snapshot, first, end, count);
      yield [`usage ${snapshot} ${first} ${end} ${count}`, listed(stretches, 'stretch')];
    }
    const blocks = report.blocks(snapshot, 0n, PAGE);
    const address = blocks[Math.floor(blocks.length / 2)]?.address ?? 1n;
    yield [`blocks ${snapshot}`, listed(blocks, 'block')];
    for (const [first, count] of [[address, 2], [address + 1n, 2], [END, 1], [0n, 0]]) {
      yield [`blocks ${snapshot} ${first} ${count}`, listed(report.blocks(snapshot, first, count), 'block')];
    }
    const entries = report.trace(snapshot, 0n, PAGE);
    const number = entries[Math.floor(entries.length / 2)]?.number ?? 1n;
    yield [`trace ${snapshot}`, listed(entries, 'entry')];
    for (const [first, count] of [[number, 3], [END, 1], [0n, 0]]) {
      yield [`trace ${snapshot} ${first} ${count}`, listed(report.trace(snapshot, first, count), 'entry')];
    }
  }
}

function* together(report) {
  for (const rank of [undefined, 0, LAST]) {
    const name = rank ?? 'all';
    yield [`collectives ${name}`, report.collectives(rank).map(parsed)];
    yield [`rank-verdicts ${name}`, listed(report.rankVerdicts(rank, 0, PAGE), 'verdict')];
    yield [`rank-verdicts ${name} 1 1`, listed(report.rankVerdicts(rank, 1, 1), 'verdict')];
  }
  yield ['rank-overview', maybe(report.rankOverview(), 'overview')];
  for (const [first, count] of [[0, PAGE], [1, 1], [LAST, 1]]) {
    yield [`earlier ${first} ${count}`, listed(report.earlier(first, count), 'earlier')];
    yield [`incident ${first} ${count}`, listed(report.incident(first, count), 'other')];
  }
}

for (const folder of process.argv.slice(3)) console.log(JSON.stringify([...calls(caseReport(toldOf(folder)))]));
