import type { Report } from './index.js';

/** The report of a case, to call `diagnose` with: `reportOf('cases/healthy-log')`. */
export function reportOf(folder: string): Report;
