/** Made from the server's own description of its API by `make contract`: mend the Rust type, and not this file. */

import type { Json } from './json';
import type { Hex } from './shared';

/** Live blocks that one stack allocated. */
export interface AllocationCluster {
  /** Bytes alive. */
  bytes?: number;
  /** Blocks alive. */
  count?: number;
  /**
   * For memory alive at the end of a trace: how much of it was there when recording began, and after each further
   * eighth of the trace's events. A leak climbs steadily; weights and caches are there from the start.
   */
  growth?: number[];
  /** The allocating stack, innermost first, uninteresting frames left out, as `function (file:line)`. */
  frames?: string[];
}

/** An address that the GPU faulted at, looked up in a memory snapshot. */
export interface FaultAddress {
  /** The address. */
  address?: Hex;
  /** Number of the event that tells it. */
  event?: number;
  /** The snapshot. */
  artifact?: string;
  /** Device index in the snapshot. */
  device?: number;
  /** What the address belonged to. */
  state?: MemoryState;
  /** The range that it lies in; outside of all of them, the nearest one that was in use. */
  block?: FaultBlock | null;
}

/** A range of device memory at or near a fault. */
export interface FaultBlock {
  /** Its first address. */
  address?: Hex;
  /** Its length. */
  bytes?: number;
  /** Bytes from its first address to the fault; negative where the fault lies before it. */
  offset?: number;
  /** The stream that it was allocated for. */
  stream?: Hex;
  /** The stack that allocated it, innermost first, as `function (file:line)`. */
  allocated_by?: string[];
  /** The stack that freed it, likewise. */
  freed_by?: string[];
  /** The trace entry that freed it. */
  freed_event?: number | null;
  /** Trace entries that followed that one. */
  events_since?: number | null;
  /** When it was freed, in microseconds since the epoch. */
  freed_us?: number | null;
}

/** A piece of a segment, when the snapshot was taken. */
export interface MemoryBlock {
  /** Where it begins. */
  address?: Hex;
  /** Its size. */
  bytes?: number;
  /** What the program asked for, before rounding. */
  requested?: number;
  /** `allocated`, `pending-free` (another stream may still use it) or `inactive`. */
  state?: string;
  /** Stream of its segment. */
  stream?: Hex;
  /** Private pool (CUDA graphs) of its segment, or absent for the default one. */
  private_pool?: [number, number] | null;
  /**
   * The stack that allocated it, by its position in `stacks`; absent where nobody recorded it, or where there are
   * too many.
   */
  stack?: number | null;
}

/**
 * The allocated bytes of one device over the recorded trace in more detail than `MemorySnapshot::usage` has, for
 * zooming in.
 *
 * Together they are a pyramid: each level merges the rows of the finer one before it two by two, `usage` those of the
 * last level here, and `UsageCurve::pyramid` goes on from there. A drawing takes the coarsest level that still has a
 * row per pixel of the stretch it shows.
 */
export interface MemoryCurve {
  /** The artifact this was read from. */
  artifact?: string;
  /** Device index. */
  device?: number;
  /** Finest first, the first with at most 4096 rows. */
  levels?: UsageCurve[];
}

/**
 * Blocks and trace entries of one device of a memory snapshot, for questions that sums do not answer. All sizes are
 * bytes.
 */
export interface MemoryDetail {
  /** The artifact this was read from. */
  artifact?: string;
  /** Device index. */
  device?: number;
  /** By address; the largest where there are too many (`super::MemorySnapshot::blocks` counts all). */
  blocks?: MemoryBlock[];
  /**
   * The entries before the last failed request, and those at the end of the trace
   * (`super::MemorySnapshot::events` counts all).
   */
  trace?: TraceEntry[];
  /** The stacks that these name, each innermost first, as `function (file:line)`. */
  stacks?: string[][];
}

/** One device of one `PyTorch` CUDA memory snapshot. All sizes are bytes. */
export interface MemorySnapshot {
  /** The artifact this was read from. */
  artifact?: string;
  /** Device index. */
  device?: number;
  /** Sum of segment sizes: what the allocator holds from the driver. */
  reserved?: number;
  /** Sum of blocks in state `active_allocated`. */
  allocated?: number;
  /** `allocated` plus blocks freed by the program that another stream may still use (`active_pending_free`). */
  active?: number;
  /** What the program asked for in the blocks counted in `active`, before rounding. */
  requested?: number;
  /** Number of segments. */
  segments?: number;
  /** Number of blocks. */
  blocks?: number;
  /** Number of trace entries. */
  events?: number;
  /**
   * Highest `allocated` over the recorded trace, replayed backwards from the final state; equal to `allocated`
   * when nothing was recorded.
   */
  peak_allocated?: number;
  /** Highest `active` over the recorded trace, likewise: memory counts until its free is completed. */
  peak_active?: number;
  /** Sum of inactive blocks: free, but held. */
  inactive?: number;
  /** The largest inactive block. */
  largest_inactive?: number;
  /** Bytes in blocks waiting for another stream. */
  pending_free?: number;
  /** Bytes reserved in segments of private pools (CUDA graphs). */
  private_pools?: number;
  /** True when the allocator ran with expandable segments (by its settings, or by the segments). */
  expandable_segments?: boolean | null;
  /** How many requests failed, as far as the trace reaches back. */
  oom_events?: number;
  /** The failed request (the last one), when the trace has an `oom` event. */
  oom?: OomRequest | null;
  /** Live memory grouped by the stack that allocated it, largest first (bounded). */
  clusters?: AllocationCluster[];
  /**
   * Memory by what the allocator will reuse it for: a free block serves only its own stream, pool and size class.
   * Most reserved first (bounded).
   */
  pools?: PoolUsage[];
  /** The moment of `peak_allocated` and what was alive then, when a trace was recorded. */
  peak?: Peak | null;
  /** Allocated bytes over the recorded trace, at a glance: at most 512 rows. `MemoryCurve` has more detail. */
  usage?: UsageCurve | null;
  /** The allocator's settings as written in the snapshot. */
  settings?: { [key: string]: Json };
}

/** What had become of a range of device memory. */
export type MemoryState = 'allocated' | 'pending' | 'freed' | 'returned' | 'unused' | 'outside' | (string & {});

/** An allocation that the allocator could not serve. */
export interface OomRequest {
  /** Bytes asked for. */
  requested?: number;
  /** Bytes the device had free at that moment. */
  device_free?: number;
  /** Stream the request was for. */
  stream?: Hex;
  /** Inactive bytes in segments that this request could have used (same stream, same pool). */
  usable_inactive?: number;
  /** The largest of those blocks. */
  largest_usable?: number;
  /** Bytes allocated at that moment. */
  allocated?: number;
  /** Bytes reserved at that moment. */
  reserved?: number;
  /** Microseconds since the epoch, where the trace has times. */
  time_us?: number | null;
  /** Index of the event in the device's trace. */
  trace_event?: number;
  /** Where the program asked, innermost first, as `function (file:line)`. */
  frames?: string[];
}

/** The moment at which most was allocated. */
export interface Peak {
  /** Bytes allocated. */
  allocated?: number;
  /** Index of the event in the device's trace that reached it; absent when it was reached before recording began. */
  trace_event?: number | null;
  /** Microseconds since the epoch, where the trace has times. */
  time_us?: number | null;
  /**
   * What was alive, by the stack that allocated it, largest first (bounded). Sizes of what was freed later are as
   * the program asked for them.
   */
  clusters?: AllocationCluster[];
}

/** Segments that one kind of request can be served from. */
export interface PoolUsage {
  /** The stream whose requests may use it. */
  stream?: Hex;
  /** Private pool (CUDA graphs), or absent for the default one. */
  private_pool?: [number, number] | null;
  /** `small` (requests up to 1 MiB) or `large`. */
  size_class?: string;
  /** Bytes held from the driver. */
  reserved?: number;
  /** Bytes in allocated blocks. */
  allocated?: number;
  /** Bytes freed by the program that another stream may still use. */
  pending_free?: number;
  /** Bytes in free blocks. */
  inactive?: number;
  /** The largest free block. */
  largest_inactive?: number;
}

/** An entry of the trace. */
export interface TraceEntry {
  /** Its place in the device's trace. */
  number?: number;
  /**
   * `alloc`, `free-requested`, `free-completed`, `segment-alloc`, `segment-free`, `segment-map`, `segment-unmap`,
   * `failed` or `other`.
   */
  action?: string;
  /** What it is about; zero for a request that failed. */
  address?: Hex;
  /** As the program asked for them. */
  bytes?: number;
  /** The stream it was for. */
  stream?: Hex;
  /** Private pool (CUDA graphs), or absent for the default one. */
  private_pool?: [number, number] | null;
  /** Microseconds since the epoch, where the trace has times. */
  time_us?: number | null;
  /** Where the program was, by its position in `stacks`. */
  stack?: number | null;
}

/**
 * A level over time as columns: one row per stretch of the trace, with the lowest and highest value in it, so that
 * no spike is lost however few rows there are.
 */
export interface UsageCurve {
  /** Index of the first trace event of each stretch. */
  event?: number[];
  /** When each stretch begins, in microseconds since the epoch; empty when the trace has no times. */
  time_us?: number[];
  /** Lowest value in the stretch, in bytes. */
  min?: number[];
  /** Highest value in the stretch, in bytes. */
  max?: number[];
}
