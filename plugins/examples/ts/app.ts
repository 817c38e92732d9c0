// Says when a job ended because it got no licence.
import { cite } from './whycrash/index.js';
import type { Answer, Info, Report } from './whycrash/index.js';

export function about(): Info {
  return {
    name: 'example-plugin',
    version: '0.1.0',
    causes: ['example-plugin-licence'],
    needs: { anyOf: ['text'] },
  };
}

export function diagnose(report: Report): Answer {
  const [line] = report.find('ERROR licence checkout failed: ', 1);
  if (!line) return;
  const reason = line.text.split('failed: ')[1];
  return {
    cause: 'example-plugin-licence',
    confidence: 0.95,
    explanation: `The program got no licence: ${reason}.`,
    citations: [cite(line)],
  };
}
