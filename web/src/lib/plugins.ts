/** What plugins did, in words. */
import type { ListedPlugin, PluginRuns, RenewalStatus } from '../api/types';
import { bytes, count, plural, time } from './format';

/** How a plugin's runs went, and what they cost, in a line. */
export function runs({ ok = 0, failed = 0, skipped = 0, unavailable = 0, ...costs }: PluginRuns): string {
  const all = ok + failed + unavailable;
  if (all === 0) return skipped === 0 ? 'not run yet' : `not run on any of ${plural(skipped, 'report')}`;
  const ends = [failed > 0 && `${count(failed)} failed`, unavailable > 0 && `${count(unavailable)} could not be done`];
  const fuel = Math.round((costs.fuel ?? 0) / all);
  const most = `${count(costs.most_fuel ?? 0)} fuel and ${bytes(costs.most_memory ?? 0)} at most`;
  return [plural(all, 'run'), ...ends.filter((end) => end !== false), `${count(fuel)} fuel each`, most].join(', ');
}

/** The versions that were published under a plugin's name and are not the present one, newest first. */
export function earlier({ versions = [], sha256 }: Partial<ListedPlugin>): string[] {
  const others = versions.filter((version) => version.sha256 !== sha256).reverse();
  return others.map(({ version = '', published = '' }) => (published ? `${version} of ${time(published)}` : version));
}

/** How many stored reports are still to be diagnosed anew, in a line; nothing where none is. */
export function renewal({ waiting = 0, of = 0 }: Partial<RenewalStatus>): string | undefined {
  return waiting > 0 ? `${count(waiting)} of ${plural(of, 'stored report')} still to be diagnosed anew, behind new ones` : undefined;
}
