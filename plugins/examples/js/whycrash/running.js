// How a plugin is run, natively and in the sandbox alike: what it prints is logged, and what it throws is told with the places
// in its own source.
import { WrongAnswer, plainAnswer, plainInfo } from './answer.js';
import { reportAround } from './report.js';

// Frames of a stack that are told at most, and characters of a message that goes on for ever.
const FRAMES = 30;
const MESSAGE_CHARACTERS = 2000;
const LEVELS = ['log', 'info', 'warn', 'error', 'debug', 'trace', 'dir'];
// What a plugin has none of.
const ABSENT = ['setTimeout', 'setInterval', 'setImmediate', 'fetch'];

// A plugin failed; the text says how.
export class Failure extends Error {}

export const about = (app, log) => call(log, () => plainInfo(functionOf(app, 'about')()), (said) => said);

export const diagnose = (app, report, log) => call(log, () => functionOf(app, 'diagnose')(reportAround(report)), plainAnswer);

function functionOf(app, name) {
  if (typeof app[name] !== 'function') throw new WrongAnswer(`the plugin does not export a function ${name}`);
  return app[name];
}

// Calls it, and when it promises something waits for that.
function call(log, run, then) {
  const putBack = withhold(log);
  const fail = (error) => {
    putBack();
    throw error instanceof Failure ? error : new Failure(told(error));
  };
  const settle = (value) => {
    const answer = then(value);
    putBack();
    return answer;
  };
  try {
    const said = run();
    return typeof said?.then === 'function' ? said.then(settle).catch(fail) : settle(said);
  } catch (error) {
    return fail(error);
  }
}

// Puts what is logged in the place of what the console does, and what says so in the place of clocks and timers; gives what
// puts all of it back.
function withhold(log) {
  const write = (...words) => words.map(spelled).join(' ').split('\n').forEach((line) => log(line));
  const instead = [
    ...LEVELS.map((level) => [globalThis.console, level, write]),
    [Date, 'now', absent('Date.now')],
    ...ABSENT.map((name) => [globalThis, name, absent(name)]),
  ];
  const before = instead.filter(([owner, name]) => owner?.[name]).map(([owner, name]) => [owner, name, owner[name]]);
  const put = ([owner, name, value]) => {
    try {
      owner[name] = value;
    } catch {
      // It stays what it is where the engine does not let go of it.
    }
  };
  instead.filter(([owner, name]) => owner?.[name]).forEach(put);
  return () => before.forEach(put);
}

const absent = (name) => () => {
  throw new Error(`${name}(): a plugin has no clock, no timers and no network, so that it says the same of a report for ever`);
};

function spelled(value) {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return told(value);
  if (value === null || typeof value !== 'object') return typeof value === 'bigint' ? `${value}n` : String(value);
  try {
    return JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? `${member}n` : member));
  } catch {
    return String(value);
  }
}

// What was thrown, with the places where it came from, in the files of the plugin.
export function told(error) {
  if (error instanceof WrongAnswer) return error.message;
  if (!(error instanceof Error)) return `it threw ${spelled(error)}`;
  const message = `${error.name}${error.message ? `: ${error.message.slice(0, MESSAGE_CHARACTERS)}` : ''}`;
  const frames = framesOf(error.stack ?? '');
  const omitted = frames.length - FRAMES;
  if (omitted > 0) frames.splice(FRAMES / 2, omitted, `    … ${omitted} frames more`);
  const cause = error.cause === undefined ? [] : [`caused by ${told(error.cause)}`];
  return [message, ...frames, ...cause].join('\n');
}

// The frames of both engines, `at name (file:line:column)` and `name@file:line:column`, as the former.
function framesOf(stack) {
  const here = root();
  const frames = [];
  for (const line of stack.split('\n')) {
    const found = /^\s+at (?:(.*?) \()?(.*?:\d+:\d+)\)?$/.exec(line) ?? /^(.*?)@(.*?:\d+:\d+)$/.exec(line);
    if (!found) continue;
    const file = found[2].replace(here, '').replace('file://', '');
    const isOthers = /(^|\/| )whycrash\/[\w.]+js:|^node:|initializer\.js|^evalmachine/.test(file);
    if (!isOthers) frames.push(`    at ${found[1] ? `${found[1]} (${file})` : file}`);
  }
  return frames;
}

// What stands before the paths of the plugin's files in a stack, as it does before the path of this one. The sandbox ends
// where somebody asks for `import.meta`.
function root() {
  const [, before] = /(?:^|[(@]|at )((?:file:\/\/)?[^(@\n]*?)whycrash\/running\.js:\d/m.exec(new Error().stack ?? '') ?? [];
  return before ?? '';
}
