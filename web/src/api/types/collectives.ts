/** Made from the server's own description of its API by `make contract`: mend the Rust type, and not this file. */

import type { Place } from './shared';

/** One collective that did not match across ranks. */
export interface CollectiveVerdict {
  /** Process group name. */
  group?: string;
  /** What the program calls the group, such as `TENSOR_MODEL_PARALLEL_GROUP`. */
  group_description?: string;
  /**
   * Sequence number of the collective in its group; of a send or receive, its number among those of the rank that
   * waits, which other ranks do not share.
   */
  sequence?: number;
  /**
   * Of flight recorders `op-mismatch`, `shape-mismatch`, `dtype-mismatch`, `missing-rank` or `not-completed`. Of
   * communicators `dead-rank`, `failed-rank`, `unresponsive-rank`, and `behind-rank` (it did not move while others
   * waited).
   */
  kind?: string;
  /** The ranks that differ from the rest, or are missing. */
  ranks?: number[];
  /** What the ranks did, in words. */
  detail?: string;
  /** The operation as most ranks recorded it, such as `nccl:all_reduce`. */
  operation?: string;
  /** Ranks that entered the collective, as far as their recorders tell. */
  entered?: number[];
  /** When the first rank entered it: RFC 3339, by that rank's clock. */
  time?: string | null;
  /** True for a send or receive: those that entered and those that are missing are the two ends of it. */
  point_to_point?: boolean;
  /**
   * Where the program called it, innermost first, as `function (file:line)`: a rank that differs if there is one
   * that recorded its stack, else one that entered.
   */
  frames?: string[];
}

/**
 * What ranks did together, judged: their flight recorders matched by group and sequence number, and what NCCL itself
 * knew of its communicators.
 */
export interface Collectives {
  /** Ranks whose recorder is in the report. */
  ranks?: number[];
  /** Ranks that a group names and whose recorder is not in the report. */
  ranks_without_recorder?: number[];
  /** What does not match, first divergence first (bounded). */
  verdicts?: CollectiveVerdict[];
  /** Ranks that others wait for and that wait for nobody themselves: where to look first. */
  culprits?: number[];
  /**
   * Ranks that wait for each other in a circle, each for the next and the last for the first: nobody of them is to
   * blame more than the others.
   */
  circle?: number[];
  /**
   * Ranks that had started fewer operations than others at the only moment at which somebody asked NCCL: a second
   * look some seconds later tells whether they are stuck or were about to.
   */
  behind_once?: number[];
}

/** A communicator as NCCL's RAS, or its Inspector, told of it at one moment. Ranks are those of the communicator. */
export interface Communicator {
  /** The artifact that says so. */
  artifact?: string;
  /** Where in that artifact. */
  at?: Place | null;
  /** `ras`, which counts what ranks have started, or `inspector`, which counts what they have completed. */
  source?: string;
  /** What NCCL tells it by from others, as hex without a prefix. */
  hash?: string;
  /** RFC 3339, where the artifact has a time. */
  time?: string | null;
  /** How many ranks it has, where known. */
  size?: number | null;
  /** The ranks that told of themselves; of a summary in words only those that it names. */
  ranks?: CommunicatorRank[];
  /** How far ranks are that a summary counts and does not name, by operation. */
  others?: { [key: string]: number };
  /** True when it is being made or torn down: counts then differ by nature. */
  in_transition?: boolean;
  /** The ranks of which nothing was heard. */
  missing?: MissingRank[];
}

/** One rank of a communicator. */
export type CommunicatorRank = RankProcess & {
  /** Rank in the communicator. */
  rank?: number;
  /** How many of each operation it has started or completed, such as `AllReduce`. */
  counts?: { [key: string]: number };
  /** NCCL's own error of this rank by name, such as `ncclSystemError`. */
  error?: string | null;
};

/** A rank that did not answer. */
export type MissingRank = RankProcess & {
  /** Rank in the communicator. */
  rank?: number;
  /** True when NCCL gave its process up for dead: it could not be reached for a minute. */
  dead?: boolean;
  /**
   * True when its process did not answer; false when it answered and is no member, as it is before and after the
   * communicator's time.
   */
  unresponsive?: boolean;
};

/** Where a rank runs. */
export interface RankProcess {
  /** Host, as NCCL names it: mostly an address. */
  host?: string | null;
  /** Process id. */
  pid?: number | null;
  /** CUDA's number of its GPU. */
  device?: number | null;
}
