/** What a report comes to, in the words that stand above it. */
import type { CodeLine, ReportDocument } from '../api/types';
import { percent } from './format';

/** From these confidences on a cause is told without a word of doubt, and as more than a guess. */
const SURE = 0.9;
const LIKELY = 0.65;

export interface Headline {
  /** Which of the verdicts it is, and how sure. */
  words: string;
  /** What the page is about. */
  title: string;
  /** What failed, where the title tells the cause. */
  failed: string | undefined;
  /** How the words are coloured. */
  tone: 'bad' | 'good' | 'warn' | 'plain';
}

/** The headline of a report; of one that was not read yet, what is known of it. */
export function headline(report: Partial<ReportDocument>, id: string): Headline {
  const title = report.report?.title || `Report ${id.slice(0, 8)}`;
  const best = report.findings?.[0];
  const kind = report.verdict?.kind ?? (best ? 'cause' : undefined);
  if (kind === 'cause' && best) {
    const cause = best.title || best.cause || title;
    const failed = cause === title ? undefined : title;
    return { words: `${certainty(best.confidence ?? 0)} · ${percent(best.confidence ?? 0)} sure`, title: cause, failed, tone: 'bad' };
  }
  if (kind === 'nothing-failed') return { words: 'Nothing failed', title, failed: undefined, tone: 'good' };
  if (kind === 'unreadable') return { words: 'Could not be read', title, failed: undefined, tone: 'warn' };
  if (kind === 'unknown-failure') return { words: 'A failure that is not known here', title, failed: undefined, tone: 'bad' };
  return { words: '', title, failed: undefined, tone: 'plain' };
}

function certainty(confidence: number): string {
  if (confidence >= SURE) return 'Cause';
  return confidence >= LIKELY ? 'Likely cause' : 'Possible cause';
}

/** `train.py:88`: the file without its folders, which the whole path shows. */
export function place(code: Partial<CodeLine>): string {
  return `${(code.file ?? '').split(/[/\\]/).pop() ?? ''}:${code.line ?? 0}`;
}
