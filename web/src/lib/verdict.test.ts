import { expect, test } from 'vitest';
import type { ReportDocument } from '../api/types';
import { headline, place } from './verdict';

function report(members: object): Partial<ReportDocument> {
  return { report: { title: 'ValueError in train.py:88: no' }, ...members } as Partial<ReportDocument>;
}

const id = '0123456789abcdef';

test('a cause stands above what failed, with how sure it is', () => {
  const findings = [{ cause: 'py-config-error', title: 'A wrong setting', confidence: 0.97 }];
  const shown = headline(report({ findings, verdict: { kind: 'cause', why: '' } }), id);
  expect(shown).toEqual({ words: 'Cause · 97 % sure', title: 'A wrong setting', failed: 'ValueError in train.py:88: no', tone: 'bad' });
  const unsure = [{ cause: 'x', title: 'x', confidence: 0.3 }];
  expect(headline(report({ findings: unsure }), id).words).toBe('Possible cause · 30 % sure');
});

test('each verdict has words of its own', () => {
  const words = (kind: string) => headline(report({ verdict: { kind, why: '' } }), id).words;
  const all = ['unknown-failure', 'nothing-failed', 'unreadable'].map(words);
  expect(all).toEqual(['A failure that is not known here', 'Nothing failed', 'Could not be read']);
});

test('a report that was not read yet is named by its id', () => {
  expect(headline({}, id)).toEqual({ words: '', title: 'Report 01234567', failed: undefined, tone: 'plain' });
});

test('a place is the file and the line', () => {
  expect(place({ file: '/srv/job/train.py', line: 88 })).toBe('train.py:88');
  expect(place({ file: 'C:\\job\\train.py', line: 8 })).toBe('train.py:8');
});
