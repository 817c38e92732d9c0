// `npm test`, or plain `node --test`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { about, diagnose } from '../app.js';
import { reportOf } from '../mock/report.mjs';

test('a checkout that failed is found, and the line that says so cited', () => {
  const { findings } = diagnose(reportOf('cases/licence-server-down'));
  assert.deepEqual(about().causes, [findings[0].cause]);
  assert.equal(findings[0].explanation, 'The program got no licence: server lic01.example.com:27000 does not answer.');
  assert.deepEqual(findings[0].citations[0].at, { tag: 'line', val: { first: 2n, last: 2n } });
});

test('a healthy log is not', () => {
  assert.deepEqual(diagnose(reportOf('cases/healthy-log')).findings, []);
});
