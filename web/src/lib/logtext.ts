/** A line of a log as it is shown. */
import { count } from './format';

/** Text shown of one line; a log of JSON or base64 can have lines of megabytes. */
const CHARACTERS = 4000;

/** The line without carriage returns of progress bars, and cut where it is too long to show. */
export function shownLine(line: string): string {
  const text = line.replaceAll('\r', '');
  return text.length <= CHARACTERS ? text : `${text.slice(0, CHARACTERS)} … ${count(text.length - CHARACTERS)} more characters`;
}
