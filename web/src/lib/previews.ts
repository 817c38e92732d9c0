/** What can be done with a preview, and what it says, by how far it has come. */
import type { Preview, PreviewChanges } from '../api/types';
import { plural } from './format';

export interface Action {
  /** As the server knows it. */
  name: 'apply' | 'undo' | 'cancel';
  label: string;
  /** What happens, for who is about to do it. */
  means: string;
}

const APPLY: Action = {
  name: 'apply',
  label: 'Apply',
  means: 'It is published, and what is seen here becomes true of all these reports at once.',
};
const CANCEL: Action = { name: 'cancel', label: 'Cancel', means: 'It ends, and nothing has changed.' };
const UNDO: Action = {
  name: 'undo',
  label: 'Undo',
  means: 'What stood in its place before, and what was concluded of the reports, are back.',
};

export function actions(preview: Partial<Preview>): Action[] {
  switch (preview.state) {
    case 'running':
      return [CANCEL];
    case 'ready':
      return [APPLY, CANCEL];
    case 'applied':
      return [UNDO];
    default:
      return [];
  }
}

/** How far it has come, in a line. */
export function progress(preview: Partial<Preview>): string {
  const [reports, looked, changed] = [preview.reports ?? 0, preview.looked_at ?? 0, preview.changed ?? 0];
  switch (preview.state) {
    case 'running':
      return `${looked} of ${plural(reports, 'report')} looked at, ${changed} would change`;
    case 'applied':
      return `${changed} of ${plural(reports, 'report')} changed`;
    case 'undone':
      return `${changed} of ${plural(reports, 'report')} changed, and that was undone`;
    default:
      return `${changed} of ${plural(looked, 'report')} would change`;
  }
}

/** What follows for the other reports when it is applied, in a line; nothing where none follows. */
export function follows({ diagnosed_anew }: Partial<PreviewChanges>): string | undefined {
  const reports = diagnosed_anew?.reports ?? 0;
  if (reports === 0) return undefined;
  return `Applied, ${plural(reports, 'other report')} of ${diagnosed_anew?.of ?? 0} would be diagnosed anew, one after the other`;
}
