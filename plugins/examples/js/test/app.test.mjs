// `npm test`, or plain `node --test`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { about, diagnose } from '../app.js';
import { reportOf } from '../whycrash/testing.mjs';

test('a checkout that failed is found, and the line that says so cited', () => {
  const finding = diagnose(reportOf('cases/licence-server-down'));
  assert.deepEqual(about().causes, [finding.cause]);
  assert.equal(finding.explanation, 'The program got no licence: server lic01.example.com:27000 does not answer.');
  assert.deepEqual(finding.citations[0].at, { tag: 'line', val: { first: 2, last: 2 } });
});

test('a healthy log is not', () => {
  assert.equal(diagnose(reportOf('cases/healthy-log')), undefined);
});
