// Whether a job is worth a second try, in words.
import type { Retry } from '../api/types';

const WORDS: Record<string, string> = {
  retry: 'Worth another try.',
  'retry-elsewhere': 'Worth another try on another machine.',
  'change-first': 'Change something before you try again.',
  'ask-owner': 'Ask whoever ended it or has to act.',
};

/** What to say of advice; advice that this page does not know is like none. */
export function retryWords(retry: Retry | undefined): string {
  return WORDS[retry?.advice ?? ''] ?? 'Whether another try helps is not known.';
}
