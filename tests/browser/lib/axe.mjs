/** Accessibility rules, checked by axe. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const SOURCE = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** Fails if the page breaks any rule; says which, and where. */
export async function assertAccessible(page, name) {
  await page.evaluate(SOURCE);
  const violations = await page.evaluate(async () => {
    const { violations: found } = await globalThis.axe.run(document);
    return found.map((rule) => `${rule.id}: ${rule.help}: ${rule.nodes.map((node) => `${node.target} ${node.failureSummary}`).join('; ')}`);
  });
  assert.deepEqual(violations, [], name);
}
