// Makes a component of the plugin; `whycrash plugin build` runs it.
import { writeFile } from 'node:fs/promises';
import { componentize } from '@bytecodealliance/componentize-js';

const { component } = await componentize({
  sourcePath: 'whycrash/component.js',
  witPath: 'wit',
  worldName: 'plugin',
  // A plugin has no clock, no randomness, no files and no network.
  disableFeatures: ['random', 'stdio', 'clocks', 'http', 'fetch-event'],
});
await writeFile(process.argv[2], component);
