// Says when a job ended because it got no licence.

export function about() {
  return {
    name: 'example-plugin',
    version: '0.1.0',
    causes: ['example-plugin-licence'],
    needs: { anyOf: ['text'], allOf: [] },
  };
}

export function diagnose(report) {
  const [line] = report.search(undefined, 'ERROR licence checkout failed: ', 1);
  if (!line) return { findings: [], next: [] };
  const reason = line.text.split('failed: ')[1];
  const at = { tag: 'line', val: { first: line.number, last: line.number } };
  const finding = {
    cause: 'example-plugin-licence',
    confidence: 0.95,
    explanation: `The program got no licence: ${reason}.`,
    citations: [{ artifact: line.artifact, at, quote: line.text }],
    contradictions: [],
  };
  return { findings: [finding], next: [] };
}
