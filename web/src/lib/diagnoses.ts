/** Versions of a diagnosis, and what changed from each to the next. */
import type { DiagnosisVersion } from '../api/types';

export interface Change {
  version: number;
  made: string | undefined;
  causes: string[];
  gained: string[];
  lost: string[];
  /** The same causes in another order. */
  reordered: boolean;
  /** Nothing is known of what was before. */
  first: boolean;
}

/** What each version changed; the last one first, as they come. */
export function changes(versions: readonly Partial<DiagnosisVersion>[]): Change[] {
  return versions.map((version, index) => {
    const before = versions[index + 1]?.causes;
    const causes = version.causes ?? [];
    const gained = before ? causes.filter((cause) => !before.includes(cause)) : [];
    const lost = before ? before.filter((cause) => !causes.includes(cause)) : [];
    const same = gained.length === 0 && lost.length === 0;
    return {
      version: version.version ?? versions.length - index,
      made: version.made,
      causes,
      gained,
      lost,
      reordered: !!before && same && causes.some((cause, at) => before[at] !== cause),
      first: !before,
    };
  });
}
