/** Made from the server's own description of its API by `make contract`: mend the Rust type, and not this file. */

import type { Hex } from './shared';

/** One device of one GPU core dump. The members about a fault are those of the first fault. */
export interface GpuCore {
  /** The artifact this was read from. */
  artifact?: string;
  /** Device index. */
  device?: number;
  /** Exception name without the `CUDBG_EXCEPTION_` prefix, such as `WARP_ILLEGAL_ADDRESS`. */
  exception?: string | null;
  /** Demangled kernel name. */
  kernel?: string | null;
  /** Offset of the faulting instruction in the kernel. */
  offset?: Hex | null;
  /** Source file of that instruction, where the cubin has line tables. */
  file?: string | null;
  /** Line in `file`. */
  line?: number | null;
  /** Block index of the faulting thread. */
  block?: [number, number, number] | null;
  /** Thread index within its block. */
  thread?: [number, number, number] | null;
  /** Address of the faulting instruction. */
  pc?: Hex | null;
  /** What the launch asked for: blocks of the grid. */
  grid_size?: [number, number, number] | null;
  /** Threads of a block. */
  block_size?: [number, number, number] | null;
  /** Product name, such as `NVIDIA H100 80GB HBM3`. */
  name?: string | null;
  /** Architecture, such as `sm_90`. */
  architecture?: string | null;
  /** Driver version, such as `575.57`. */
  driver?: string | null;
  /** All faults: one per warp that stopped with an exception (bounded), in order of multiprocessor and warp. */
  faults?: GpuFault[];
  /** What all resident warps were doing, most warps first (bounded). */
  warps?: WarpGroup[];
}

/** One warp that stopped with an exception. */
export interface GpuFault {
  /** Exception name without the `CUDBG_EXCEPTION_` prefix. */
  exception?: string | null;
  /** Streaming multiprocessor. */
  sm?: number;
  /** Warp on that multiprocessor. */
  warp?: number;
  /** Lane in the warp. */
  lane?: number | null;
  /** Block index. */
  block?: [number, number, number] | null;
  /** Thread index within its block. */
  thread?: [number, number, number] | null;
  /** Address of the instruction. */
  pc?: Hex | null;
  /** Demangled kernel name. */
  kernel?: string | null;
  /** Offset of the instruction in the kernel. */
  offset?: Hex | null;
}

/** Warps that were at the same place of the same kernel. */
export interface WarpGroup {
  /** Demangled kernel name. */
  kernel?: string | null;
  /** Offset in the kernel of the first active lane. */
  offset?: Hex | null;
  /** Number of warps. */
  count?: number;
  /** Number of these that stopped with an exception. */
  faulted?: number;
}
