// Runs the plugin on this machine: `node whycrash/native.mjs APP ANSWER [EVIDENCE]` writes what it says about itself, and of the
// report that `whycrash plugin case` wrote down, as JSON. `whycrash plugin test` runs this.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runInThisContext } from 'node:vm';
import * as running from './running.js';
import { caseReport } from './testing.mjs';

// Seconds that a run may take: the sandbox, which is slower, would have stopped it by then.
const SECONDS = 15;
// Lines and characters that are kept of what is logged, as in the sandbox.
const [LINES, CALLS, CHARACTERS] = [100, 10_000, 4096];

const [app, answer, evidence] = process.argv.slice(2);
const folder = new URL('..', import.meta.url).href;
const said = { log: [] };
let calls = 0;

function log(line) {
  calls += 1;
  if (calls > CALLS) throw new Error(`it logged more than ${CALLS} lines`);
  if (said.log.length < LINES) said.log.push(line.slice(0, CHARACTERS));
}

try {
  const plugin = await load(pathToFileURL(resolve(app)).href);
  said.about = await within(() => running.about(plugin, log));
  if (evidence) {
    const report = caseReport(JSON.parse(readFileSync(evidence, 'utf8')));
    said.diagnosis = await within(() => running.diagnose(plugin, report, log));
  }
} catch (failure) {
  said.error = failure.message;
}
writeFileSync(answer, JSON.stringify(said));
process.exit(0);

async function load(url) {
  try {
    return await import(url);
  } catch (error) {
    const told = error instanceof SyntaxError ? toldOfSyntax(url) : running.told(error);
    throw new running.Failure(`${app} can not be loaded:\n${told}`);
  }
}

// Where the syntax is wrong is told by Node alone, to who does not catch it.
function toldOfSyntax(url) {
  const script = ['--input-type=module', '--eval', `await import(${JSON.stringify(url)})`];
  const { stderr } = spawnSync(process.execPath, [...process.execArgv, ...script], { encoding: 'utf8' });
  const lines = stderr.split('\n');
  const last = lines.findIndex((line) => line.startsWith('SyntaxError'));
  return lines.slice(0, last + 1).join('\n').replaceAll(folder, '');
}

// Ends a run that takes too long, and says which lines it was at.
function within(run) {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.start');
  const name = Symbol.for('whycrash.run');
  globalThis[name] = run;
  try {
    return runInThisContext("globalThis[Symbol.for('whycrash.run')]()", { timeout: SECONDS * 1000 });
  } catch (error) {
    if (error.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    let places = [];
    session.post('Profiler.stop', (_, { profile }) => (places = busiest(profile)));
    throw new running.Failure(
      [`it ran for more than ${SECONDS} seconds: is there a loop without an end? It was at`, ...places].join('\n'),
    );
  } finally {
    session.disconnect();
  }
}

// The lines of the plugin that took most, most first.
function busiest({ nodes }) {
  const places = nodes.flatMap(({ callFrame: { functionName, url }, positionTicks = [] }) => {
    const isOwn = url.startsWith(folder) && !url.startsWith(`${folder}whycrash/`);
    const place = (line) => `    at ${functionName || 'top'} (${url.slice(folder.length)}:${line})`;
    return isOwn ? positionTicks.map(({ line, ticks }) => ({ ticks, place: place(line) })) : [];
  });
  return places.sort((a, b) => b.ticks - a.ticks).slice(0, 3).map(({ place }) => place);
}
