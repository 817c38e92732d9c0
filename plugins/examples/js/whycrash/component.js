// What the sandbox runs: the plugin in `app.js` as a component of the interface.
import log from 'log';
import * as app from '../app.js';
import * as running from './running.js';

export function about() {
  try {
    const { name, version, causes, needs_any_of: anyOf, needs_all_of: allOf } = running.about(app, log);
    return { name, version, causes, needs: { anyOf, allOf } };
  } catch (failure) {
    // The interface has no other place for it.
    failure.message.split('\n').forEach((line) => log(line));
    throw failure;
  }
}

export function diagnose(report) {
  const fail = (failure) => {
    throw failure.message;
  };
  const answer = ({ findings, next, advice }) => {
    for (const { cause, domain, retry, because } of advice) report.advise({ cause, ...known({ domain, retry, because }) });
    return { findings: findings.map(finding), next: next.map(({ decides_between: decidesBetween, ...of }) => ({ ...of, decidesBetween })) };
  };
  try {
    const said = running.diagnose(app, report, log);
    return typeof said.then === 'function' ? said.then(answer, fail) : answer(said);
  } catch (failure) {
    return fail(failure);
  }
}

const known = (members) => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));

const finding = ({ citations, contradictions, first_step: firstStep, ...of }) => ({
  ...known({ ...of, firstStep }),
  citations: citations.map(citation),
  contradictions: contradictions.map(citation),
});

function citation({ artifact, at, quote }) {
  const [[tag, value]] = Object.entries(at);
  const places = {
    line: () => ({ first: BigInt(value[0]), last: BigInt(value[1]) }),
    bytes: () => ({ first: BigInt(value[0]), end: BigInt(value[1]) }),
  };
  return { artifact, at: { tag, val: places[tag]?.() ?? value }, quote };
}
