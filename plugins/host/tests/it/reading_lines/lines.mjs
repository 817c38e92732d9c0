// Prints what the readers of lines in JavaScript say of each line of a file: `node lines.mjs FOLDER-OF-LIBRARY FILE`.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const { keyValues, number, series, timeOf } = await import(resolve(process.argv[2], 'whycrash/index.js'));

const plain = (value) =>
  value === undefined ? null : Number.isFinite(value) ? value : String(value).toLowerCase().replace('infinity', 'inf');

for (const text of readFileSync(process.argv[3], 'utf8').split('\n').slice(0, -1)) {
  const { loss, name } = keyValues(text);
  const [point] = series([{ artifact: 'x', number: 1, text }], 'loss');
  console.log(JSON.stringify([loss ?? null, name ?? null, plain(point?.value), plain(timeOf(text)), plain(number(text))]));
}
