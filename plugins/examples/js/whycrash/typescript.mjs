// Lets Node run TypeScript whose types can be left out: `node --import ./whycrash/typescript.mjs FILE.ts`. Later versions do so by
// themselves. Lines and columns stay what they are.
import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';

if (!process.features.typescript) register(import.meta.url);

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const { default: amaro } = await import('amaro');
  const { code } = amaro.transformSync(await readFile(fileURLToPath(url), 'utf8'), { mode: 'strip-only' });
  return { format: 'module', source: code, shortCircuit: true };
}
