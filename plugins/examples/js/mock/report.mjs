// A report for tests, made of a case's folder: files of text are its lines, and `evidence.json`, where there is one, the
// evidence (`whycrash inspect --format json FOLDER > FOLDER/evidence.json` writes it). Nothing is bounded or checked here:
// whether citations hold, and what a run costs, `whycrash plugin test` says.
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
    collectives: (rank) =>
      (evidence.collectives?.verdicts ?? []).filter((verdict) => rank === undefined || verdict.ranks?.includes(rank)).map(json),
  };
}
