// Makes a component of the plugin; `whycrash plugin build` runs it. Types are left out, so that lines stay what they are.
import { cp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import amaro from 'amaro';
import { componentize } from '@bytecodealliance/componentize-js';

const OTHERS = ['build', 'cases', 'causes', 'node_modules', 'test', 'wit'];
const [component, interfaces, source] = [resolve(process.argv[2]), resolve('wit'), resolve('build/source')];

async function* sources(folder) {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !OTHERS.includes(path) && !entry.name.startsWith('.')) yield* sources(path);
    if (entry.isFile() && /\.(js|ts|json)$/.test(path) && !path.endsWith('.d.ts')) yield path;
  }
}

await rm(source, { recursive: true, force: true });
for await (const path of sources('.')) {
  const to = join(source, path);
  await mkdir(dirname(to), { recursive: true });
  if (path.endsWith('.ts')) {
    await writeFile(to, amaro.transformSync(await readFile(path, 'utf8'), { mode: 'strip-only' }).code);
  } else {
    await cp(path, to);
  }
}
// Paths that are told when the plugin fails begin here.
process.chdir(source);
const made = await componentize({
  sourcePath: 'whycrash/component.js',
  witPath: interfaces,
  worldName: 'plugin',
  // A plugin has no clock, no randomness, no files and no network.
  disableFeatures: ['random', 'stdio', 'clocks', 'http', 'fetch-event'],
});
await writeFile(component, made.component);
