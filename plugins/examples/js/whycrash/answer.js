// What `about` and `diagnose` return, and how it is held to its form: what is wrong is said in words.

export class WrongAnswer extends TypeError {}

const DOMAINS = ['program', 'data', 'environment', 'framework', 'hardware', 'network', 'operator', 'unknown'];
const RETRIES = ['again', 'elsewhere', 'change-first', 'ask-owner', 'unknown'];

export function plainInfo(info) {
  members(info, 'what about() returned', ['name', 'version', 'causes', 'needs']);
  const needs = info.needs ?? {};
  members(needs, 'needs', ['anyOf', 'allOf']);
  return {
    name: text(info.name, 'name'),
    version: text(info.version, 'version'),
    causes: list(info.causes, 'causes', text),
    needs_any_of: list(needs.anyOf ?? [], 'needs.anyOf', text),
    needs_all_of: list(needs.allOf ?? [], 'needs.allOf', text),
  };
}

export function plainAnswer(answer) {
  const { findings = [], next = [] } = diagnosisOf(answer);
  return {
    findings: list(findings, 'findings', finding),
    next: list(next, 'next', collect),
    advice: findings.map(advice).filter((one) => one.domain || one.retry),
  };
}

function diagnosisOf(answer) {
  if (answer === undefined || answer === null) return {};
  if (Array.isArray(answer)) return { findings: answer };
  if (typeof answer !== 'object') {
    throw new WrongAnswer(`diagnose() returned ${shown(answer)}: return a finding, a list of them, {findings, next}, or nothing`);
  }
  if ('cause' in answer) return { findings: [answer] };
  members(answer, 'what diagnose() returned', ['findings', 'next']);
  return answer;
}

const FINDING = [
  'cause', 'confidence', 'explanation', 'citations', 'title', 'contradictions', 'firstStep', 'owner', 'retry', 'because',
];

function finding(of, at) {
  members(of, at, FINDING);
  if (typeof of.confidence !== 'number' || !(of.confidence >= 0 && of.confidence <= 1)) {
    throw new WrongAnswer(`${at}.confidence is ${shown(of.confidence)}: give a number from 0 to 1`);
  }
  return {
    cause: text(of.cause, `${at}.cause`),
    title: maybe(of.title, `${at}.title`),
    confidence: of.confidence,
    explanation: text(of.explanation ?? '', `${at}.explanation`),
    citations: list(of.citations ?? [], `${at}.citations`, citation),
    contradictions: list(of.contradictions ?? [], `${at}.contradictions`, citation),
    first_step: maybe(of.firstStep, `${at}.firstStep`),
  };
}

const advice = (of, index) => ({
  cause: of.cause,
  domain: oneOf(DOMAINS, of.owner, `findings[${index}].owner`),
  retry: oneOf(RETRIES, of.retry, `findings[${index}].retry`),
  because: maybe(of.because, `findings[${index}].because`),
});

function collect(of, at) {
  members(of, at, ['artifact', 'how', 'decidesBetween']);
  return {
    artifact: text(of.artifact, `${at}.artifact`),
    how: text(of.how, `${at}.how`),
    decides_between: list(of.decidesBetween ?? [], `${at}.decidesBetween`, text),
  };
}

const PLACES = {
  line: (value, at) => [count(value?.first, `${at} first line`), count(value?.last, `${at} last line`)],
  bytes: (value, at) => [count(value?.first, `${at} first byte`), count(value?.end, `${at} end`)],
  frame: (value, at) => ({ thread: text(value?.thread, `${at} thread`), index: count(value?.index, `${at} index`) }),
  event: (value, at) => count(value, `${at} event`),
  fact: (value, at) => text(value, `${at} fact`),
};

function citation(of, at) {
  if (of === null || typeof of !== 'object' || !('quote' in of)) {
    throw new WrongAnswer(`${at} is ${shown(of)}: cite a place with cite(line)`);
  }
  const place = Object.hasOwn(PLACES, of.at?.tag ?? '') ? PLACES[of.at.tag] : undefined;
  if (!place) throw new WrongAnswer(`${at}.at is ${shown(of.at)}: cite a place with cite(line)`);
  return {
    artifact: text(of.artifact, `${at}.artifact`),
    at: { [of.at.tag]: place(of.at.val, at) },
    quote: text(of.quote, `${at}.quote`),
  };
}

function members(of, at, known) {
  if (of === null || typeof of !== 'object' || Array.isArray(of)) {
    throw new WrongAnswer(`${at} is ${shown(of)}: give an object with ${known.join(', ')}`);
  }
  const other = Object.keys(of).find((name) => !known.includes(name));
  if (other !== undefined) throw new WrongAnswer(`${at} has a member ${other}, which nothing reads: there are ${known.join(', ')}`);
}

function text(value, at) {
  if (typeof value !== 'string') throw new WrongAnswer(`${at} is ${shown(value)}: give a string`);
  return value;
}

const maybe = (value, at) => (value === undefined || value === null ? null : text(value, at));

function count(value, at) {
  const number = typeof value === 'bigint' ? Number(value) : value;
  if (!Number.isSafeInteger(number) || number < 0) throw new WrongAnswer(`${at} is ${shown(value)}: give a whole number`);
  return number;
}

function list(values, at, each) {
  if (!Array.isArray(values)) throw new WrongAnswer(`${at} is ${shown(values)}: give a list`);
  return values.map((value, index) => each(value, `${at}[${index}]`));
}

function oneOf(names, value, at) {
  if (value === undefined || value === null) return null;
  if (!names.includes(value)) throw new WrongAnswer(`${at} is ${shown(value)}: give one of ${names.join(', ')}`);
  return value;
}

// A value in an error message, shortened.
function shown(value) {
  let text;
  try {
    text = JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? `${member}n` : member)) ?? String(value);
  } catch {
    text = String(value);
  }
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
