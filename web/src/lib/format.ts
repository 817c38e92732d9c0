/** Numbers, sizes and times in the form people read them. */

const SIZES = ['KiB', 'MiB', 'GiB', 'TiB'];

/** Bytes in binary units with three digits, such as `1.50 GiB`. */
export function bytes(count: number): string {
  let value = Math.abs(count);
  if (value < 1024) return `${count} B`;
  let unit = -1;
  do {
    value /= 1024;
    unit += 1;
  } while (value >= 1023.5 && unit < SIZES.length - 1);
  const digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${count < 0 ? '-' : ''}${value.toFixed(digits)} ${SIZES[unit]}`;
}

/** A whole number with its digits in groups. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 report`, `2 reports`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** How far the server counts reports: so many stand for as many or more. */
const COUNTED = 10_000;

/** A number of reports, such as `2` or `10,000+`. */
export function counted(reports: number): string {
  return reports === COUNTED ? `${count(COUNTED)}+` : count(reports);
}

/** How often something was seen. */
export function seen(times: number): string {
  return times === 1 ? 'seen once' : `seen ${counted(times)}×`;
}

/** How sure a finding is, in a word. */
export function confidenceWord(confidence: number): string {
  if (confidence >= 0.9) return 'near certain';
  if (confidence >= 0.65) return 'likely';
  if (confidence >= 0.3) return 'possible';
  return 'weak';
}

/** A share in whole per cents. What is not all of it is never 100 %, and what is more than nothing never 0 %. */
export function percent(fraction: number): string {
  const rounded = Math.round(fraction * 100);
  const [least, most] = [fraction > 0 ? 1 : 0, fraction < 1 ? 99 : 100];
  return `${Math.min(most, Math.max(least, rounded))} %`;
}

/** A time in full, in the reader's zone; the text itself when it is no time. */
export function time(rfc3339: string): string {
  const date = new Date(rfc3339);
  if (Number.isNaN(date.getTime())) return rfc3339;
  return date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

/** How long ago, such as `5 min ago`; a date when it is long ago. */
export function ago(rfc3339: string, now = Date.now()): string {
  const date = new Date(rfc3339);
  const seconds = (now - date.getTime()) / 1000;
  if (Number.isNaN(seconds)) return rfc3339;
  if (seconds < 45) return 'just now';
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  if (seconds < 14 * 86_400) return plural(Math.round(seconds / 86_400), 'day') + ' ago';
  return date.toLocaleDateString(undefined, { dateStyle: 'medium' });
}

/** Whether two times are so far apart that a reader should see both. */
export function differ(one: string, other: string): boolean {
  return Math.abs(Date.parse(one) - Date.parse(other)) > 10 * 60_000;
}

/** A span of time in its largest unit, such as `10 min`. */
export function duration(milliseconds: number): string {
  const units: [string, number][] = [
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
    ['ms', 1],
    ['µs', 1e-3],
  ];
  const [name, size] = units.find(([, unit]) => Math.abs(milliseconds) >= unit) ?? ['ns', 1e-6];
  return `${Number((milliseconds / size).toPrecision(3))} ${name}`;
}

/** `rank 3`, `ranks 1, 2 and 5`; many are counted. */
export function rankList(ranks: readonly number[]): string {
  if (ranks.length > 8) return `ranks ${ranks.slice(0, 6).join(', ')} and ${count(ranks.length - 6)} more`;
  const [last] = ranks.slice(-1);
  return ranks.length === 1 ? `rank ${last}` : `ranks ${ranks.slice(0, -1).join(', ')} and ${last}`;
}

/** The last part of a path, of either kind of system. */
export function fileName(path: string): string {
  return path.split(/[/\\]/).pop() || path;
}

/** A kebab- or snake-case name as words. */
export function words(name: string): string {
  return name.replaceAll(/[-_]/g, ' ');
}
