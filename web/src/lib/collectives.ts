/** What ranks did together, as their flight recorders and NCCL itself tell, in words. */
import type { Collectives, CollectiveVerdict, Communicator, ReportDocument } from '../api/types';
import { rankList } from './format';
import { formatTarget } from './place';

/** Which ranks to look at first, and why. */
export interface Blame {
  ranks: readonly number[];
  /** What they did or did not do, to be read after the ranks. */
  did: string;
  /** The verdict that says so. */
  verdict: number | undefined;
}

/** The ranks that hold the others up, or else those of the first verdict; nothing when all is well. */
export function blame(collectives: Collectives | undefined): Blame | undefined {
  const verdicts = collectives?.verdicts ?? [];
  const culprits = collectives?.culprits ?? [];
  const circle = collectives?.circle ?? [];
  const about = verdicts.findIndex((verdict) => verdict.ranks?.some((rank) => culprits.includes(rank)));
  if (culprits.length > 0) {
    const verdict = verdicts[about];
    const did = verdict ? deed(verdict) : 'is waited for by the others';
    return { ranks: culprits, did, verdict: about < 0 ? undefined : about };
  }
  if (circle.length > 0) return { ranks: circle, did: 'wait for each other in a circle', verdict: verdicts.length > 0 ? 0 : undefined };
  const [first] = verdicts;
  return first?.ranks?.length ? { ranks: first.ranks, did: deed(first), verdict: 0 } : undefined;
}

/** The blame as a sentence. */
export function blameInWords({ ranks, did }: Blame): string {
  return `${rankList(ranks)} ${did}`;
}

/** What the ranks of a verdict did. */
function deed(verdict: CollectiveVerdict): string {
  const what = operation(verdict);
  const deeds: Partial<Record<string, string>> = {
    'missing-rank': `did not join ${what}`,
    'op-mismatch': `called something else than the others, at ${what}`,
    'shape-mismatch': `came with another shape to ${what}`,
    'dtype-mismatch': `came with another type to ${what}`,
    'not-completed': `did not get out of ${what}`,
    'behind-rank': `did not move, while others had started ${what}`,
    'dead-rank': 'died: NCCL gave up reaching it',
    'failed-rank': 'failed in NCCL',
    'unresponsive-rank': 'did not answer NCCL',
  };
  return deeds[verdict.kind ?? ''] ?? `differ at ${what}`;
}

/** What NCCL said of one communicator, in words. */
export function stateInWords({ source, hash, time, size, ranks, missing }: Communicator): string {
  const silent = (missing ?? []).map((rank) => rank.rank ?? 0);
  const of = size === undefined ? '' : ` of ${size}`;
  const nothing = silent.length > 0 ? `, nothing from ${rankList(silent)}` : '';
  return `NCCL ${source ?? ''}${time ? ` at ${time}` : ''}: communicator ${hash ?? '?'}, ${ranks?.length ?? 0} ranks${of} told of themselves${nothing}`;
}

/** The operation with its number and its group, such as `ALL_REDUCE #17 of group default_pg`. */
export function operation(verdict: CollectiveVerdict): string {
  const name = verdict.operation?.split(':').at(-1)?.toUpperCase() || (verdict.point_to_point ? 'an exchange' : 'a collective');
  const group = verdict.group_description || verdict.group;
  return `${name} #${verdict.sequence ?? '?'}${group ? ` of group ${group}` : ''}`;
}

/** Where the report shows what this rank itself left: an event, or a stack. */
export function placeOfRank({ evidence }: Partial<ReportDocument>, rank: number): string | undefined {
  const events = (evidence?.timeline ?? []).filter((event) => event.rank === rank);
  const event = events.find((candidate) => candidate.primary !== false) ?? events[0];
  if (event) return formatTarget({ artifact: '', at: { event: event.event } });
  const threads = (evidence?.threads ?? []).filter((thread) => thread.rank === rank && thread.frames?.length);
  const thread = threads.find((candidate) => candidate.crashed) ?? threads[0];
  return thread && formatTarget({ artifact: thread.artifact ?? '', at: { frame: { thread: thread.id, index: 0 } } });
}
