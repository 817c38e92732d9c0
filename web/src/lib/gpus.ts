/** GPUs over time, as the collector noted them: `gpu_timeline` of the context. Anybody may have written it. */
import type { Json } from '../api/types';
import { bytes, count, words } from './format';

/** A value, and the milliseconds since the job's start from which on it was so. */
export type Change<T> = readonly [at: number, value: T];

/** How a device did in one respect. */
export interface Series {
  name: string;
  changes: Change<Json>[];
}

/** What a device or its driver told of. */
export interface Told {
  at: number;
  text: string;
}

/** A device over time. */
export interface Gpu {
  number: number;
  /** Its model, where that is known. */
  model: string | undefined;
  uuid: string | undefined;
  /** Bytes on the device, and those in use. */
  total: number;
  used: Change<number>[];
  busy: Change<number>[];
  health: Series[];
  processes: { pid: number; used: Change<number>[] }[];
  told: Told[];
}

type Members = { [key: string]: Json };

/** What people call the series, and what stands behind their values. */
const NAMES: Partial<Record<string, readonly [name: string, unit: string]>> = {
  busy_percent: ['busy', '%'],
  sm_clock_mhz: ['SM clock', 'MHz'],
  memory_clock_mhz: ['memory clock', 'MHz'],
  throttled_by: ['clocks held down by', ''],
  temperature_c: ['temperature', '°C'],
  power_w: ['power', 'W'],
  ecc_corrected: ['ECC errors, corrected', ''],
  ecc_uncorrected: ['ECC errors, uncorrected', ''],
  rows_remapped_corrected: ['rows remapped after corrected errors', ''],
  rows_remapped_uncorrected: ['rows remapped after uncorrected errors', ''],
  row_remap_pending: ['rows wait to be remapped', ''],
  row_remap_failed: ['rows could not be remapped', ''],
  pcie_replays: ['PCIe replays', ''],
  nvlink_errors: ['NVLink errors', ''],
};

/** Series in which any value but none is a bad sign. */
const ALARMING = /^(throttled_by|ecc_uncorrected|rows?_remap.*|nvlink_errors)$/;

/** The devices of a context; none where it has none. */
export function gpusOf(context: Members): Gpu[] {
  const facts = list(context['gpus']);
  return list(context['gpu_timeline']).map((entry, index) => {
    const device = members(entry);
    const about = members(facts[index] ?? null);
    const health = Object.entries(members(device['health'] ?? null)).map(([name, changes]) => ({ name, changes: changesOf(changes) }));
    return {
      number: number(device['device']) ?? index,
      model: text(about['name']),
      uuid: text(device['uuid']),
      total: number(device['total']) ?? 0,
      used: numbers(device['used']),
      busy: numbers(members(device['health'] ?? null)['busy_percent']),
      health: health.filter((series) => series.changes.length > 0).sort((a, b) => order(a.name) - order(b.name)),
      processes: list(device['processes']).map((process) => ({
        pid: number(members(process)['pid']) ?? 0,
        used: numbers(members(process)['used']),
      })),
      told: toldOf(device),
    };
  });
}

/** When the last thing happened that was noted of any of them, in milliseconds since the job's start. */
export function endOf(gpus: readonly Gpu[], context: Members): number {
  const lasted = Date.parse(text(context['ended']) ?? '') - Date.parse(text(context['started']) ?? '');
  const noted = gpus.flatMap((gpu) => [
    ...gpu.told.map((told) => told.at),
    ...[gpu.used, ...gpu.health.map((series) => series.changes)].map((changes) => changes.at(-1)?.[0] ?? 0),
  ]);
  return noted.reduce((last, at) => Math.max(last, at), Number.isFinite(lasted) ? lasted : 0);
}

/** The extremes of a series in each of so many stretches of the time until `end`: a value lasts until the next one. */
export function stretches(changes: readonly Change<number>[], end: number, parts: number): { min: number[]; max: number[] } {
  const min: number[] = [];
  const max: number[] = [];
  let next = 0;
  let value = 0;
  /** Takes the changes in that come before some time, and tells each. */
  const pass = (isBefore: (at: number) => boolean, tell: (value: number) => void = () => undefined) => {
    for (let change = changes[next]; change && isBefore(change[0]); change = changes[next]) {
      value = change[1];
      tell(value);
      next += 1;
    }
  };
  for (let part = 0; part < parts; part += 1) {
    const from = (end * part) / parts;
    const until = part === parts - 1 ? Infinity : (end * (part + 1)) / parts;
    pass((at) => at <= from);
    let [low, high] = [value, value];
    pass(
      (at) => at < until,
      (changed) => ([low, high] = [Math.min(low, changed), Math.max(high, changed)]),
    );
    min.push(low);
    max.push(high);
  }
  return { min, max };
}

/** The numbers among the values of a series. */
export function numeric(changes: readonly Change<Json>[]): Change<number>[] {
  return changes.filter((change): change is Change<number> => typeof change[1] === 'number');
}

/** The least and the greatest value. */
export function extremes(changes: readonly Change<number>[]): [least: number, most: number] {
  const values = changes.map(([, value]) => value);
  return [
    values.reduce((least, value) => Math.min(least, value), Infinity),
    values.reduce((most, value) => Math.max(most, value), -Infinity),
  ];
}

/** A series in words. */
export function nameOf(series: string): string {
  return NAMES[series]?.[0] ?? words(series);
}

/** A value of a series in words. */
export function valueOf(series: string, value: Json): string {
  if (Array.isArray(value)) return value.length === 0 ? 'nothing' : value.map((item) => words(String(item))).join(', ');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'number') return value === null ? 'unknown' : JSON.stringify(value);
  const unit = NAMES[series]?.[1] ?? '';
  if (unit === '' && /_bytes$/.test(series)) return bytes(value);
  return unit === '' ? count(value) : `${count(value)} ${unit}`;
}

/** Whether a value of a series is a bad sign by itself. */
export function isBad(series: string, value: Json): boolean {
  const isNone = value === 0 || value === false || value === null || (Array.isArray(value) && value.length === 0);
  return !isNone && ALARMING.test(series);
}

function toldOf(device: Members): Told[] {
  const xids = list(device['xids'])
    .map(members)
    .map((xid) => ({ at: number(xid['at']) ?? 0, text: `Xid ${number(xid['code']) ?? '?'}` }));
  const failures = list(device['failures'])
    .map(members)
    .map((failure) => ({ at: number(failure['at']) ?? 0, text: text(failure['why']) ?? 'did not answer' }));
  return [...xids, ...failures].sort((a, b) => a.at - b.at);
}

/** As the table has them; what is not in it comes last. */
function order(series: string): number {
  const at = Object.keys(NAMES).indexOf(series);
  return at < 0 ? Object.keys(NAMES).length : at;
}

function changesOf(value: Json | undefined): Change<Json>[] {
  return list(value).filter(
    (change): change is [number, Json] => Array.isArray(change) && change.length === 2 && isFinite(Number(change[0])),
  );
}

function numbers(value: Json | undefined): Change<number>[] {
  return numeric(changesOf(value));
}

function list(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

function members(value: Json): Members {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};
}

function number(value: Json | undefined): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function text(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
