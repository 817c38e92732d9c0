/** Made from the server's own description of its API by `make contract`: mend the Rust type, and not this file. */

import type { Collectives, Communicator } from './collectives';
import type { EventPayload } from './events';
import type { GpuCore } from './gpu';
import type { Json } from './json';
import type { FaultAddress, MemoryCurve, MemoryDetail, MemorySnapshot } from './memory';
import type { Hex, Place, ThreadId } from './shared';

/** What a thread was doing at the moment of which its stack is. */
export interface Activity {
  /** Whether it was running, and not waiting for something; absent where nobody looked. */
  running?: boolean | null;
  /** The system call that it waited in, by name or number. */
  call?: string | null;
  /** What that call was about: the path of an open file, or `pipe` or `socket`. */
  file?: string | null;
  /** What it waited for, where the process's memory proves that. */
  awaits?: Awaited | null;
}

/** A lock, or the end of a thread, that a thread waits for. */
export interface Awaited {
  /** Which of them. */
  kind: AwaitedKind;
  /** Where the lock, or what the end is told by, is in memory. */
  address: Hex;
  /** The thread that has to let go of the lock, or to end; absent where memory does not say who that is. */
  holder?: ThreadId | null;
  /** The frame of the holder that has taken the lock, where it is inside of a `with` statement for it. */
  taken_in?: number | null;
}

/** What a thread can be waiting for so that memory tells who has it. */
export type AwaitedKind = 'mutex' | 'lock' | 'rlock' | 'thread' | 'other' | (string & {});

/** How a process ended, from the most direct witness in the report. */
export interface Crash {
  /** Signal name, such as `SIGSEGV`. */
  signal?: string | null;
  /** Exit code of a process that ended by itself. */
  exit_code?: number | null;
  /** The signal's code by name, such as `SEGV_MAPERR` or `SI_TKILL` (signal(7), `siginfo_t`). */
  code?: string | null;
  /** Who sent the signal, where a process did: itself, when it raised it, or another one. */
  sender?: SignalSender | null;
  /** Address the fault was about, where the kernel gave one. */
  address?: Hex | null;
  /** What that address tells, such as `null`, `unmapped`, `guard-page`, `read-only`, `non-canonical`, `not-code`. */
  address_kind?: string | null;
  /** `read`, `write` or `execute`, where known. */
  access?: string | null;
  /**
   * What the instruction at a SIGFPE could not do: of a division `zero-divisor`, or `quotient-overflow` when the
   * result does not fit, as its operands tell (the kernel has one code for both); `floating-point` for an operation
   * of which no more is known.
   */
  arithmetic?: string | null;
  /**
   * The bytes of code at the faulting instruction as lower-case hex (16 at most), where the core or a binary has
   * them.
   */
  instruction?: string | null;
  /** The thread the signal was delivered to. */
  thread?: ThreadId | null;
  /** Process id. */
  pid?: number | null;
  /** Rank of the process, where it is one of a distributed job and somebody saw it end or hang. */
  rank?: number | null;
  /** Name of the executable. */
  process?: string | null;
  /** Last words found in memory or in the log, such as glibc's abort message or a C++ `what()`. */
  message?: string | null;
  /**
   * Where in a dump the message was found, such as `__abort_msg of libc.so.6` or `exception in memory`; absent for
   * one from a log.
   */
  message_source?: string | null;
  /** The artifact that says so. */
  artifact?: string;
  /** Where in that artifact, when it is text. */
  at?: Place | null;
}

/** What the last lines of a text show of its run, the best first. */
export type EndSign = 'exit-zero' | 'tests-passed' | 'finished' | 'progress' | 'log-lines' | 'none' | (string & {});

/** Something that happened, with where it is written and, as far as known, when and to whom. */
export type Event = EventPayload & {
  /** Number of the event in the report's timeline; citations use it. */
  event: number;
  /** How often it was told: what is printed again and again is one event. */
  count?: number;
  /** RFC 3339 time, where the artifact has one; of the first time it was told. */
  time?: string | null;
  /** RFC 3339 time of the last time, for what was told more than once. */
  last_time?: string | null;
  /** What is uncertain about `time`, such as `no year` (glog, syslog) or `no zone`. */
  time_note?: string | null;
  /** Rank of the process, where known. */
  rank?: number | null;
  /** Process id, where known. */
  pid?: number | null;
  /** False for an echo: a consequence of another event. */
  primary?: boolean;
  /** The number of the event this one is an echo of. */
  echo_of?: number | null;
  /** True when later lines of the same process show that it went on: the failure was caught, or only printed. */
  survived?: boolean;
  /** The line that says it, shortened. */
  text?: string;
  /** The artifact that says it. */
  artifact?: string;
  /** Where in that artifact; the first place, for what was told more than once. */
  at?: Place | null;
  /** The last place, for what was told more than once. */
  last_at?: Place | null;
};

/** Everything the artifacts of one report say, merged. */
export interface Evidence {
  /** How the process ended, from the most direct witness there is. */
  crash?: Crash | null;
  /** Threads of every process in the report: the crashed one first. */
  threads?: Thread[];
  /** Binaries mapped into the process. */
  modules?: Module[];
  /** One per CUDA memory snapshot and device. */
  memory_snapshots?: MemorySnapshot[];
  /** Memory over time in detail, one for each of those snapshots that has more than fits in its overview. */
  memory_curves?: MemoryCurve[];
  /** Blocks and trace entries, one for each of those snapshots, in their order. */
  memory_details?: MemoryDetail[];
  /** Addresses that the GPU faulted at, and what the memory snapshots know of them. */
  fault_addresses?: FaultAddress[];
  /** What ranks did together, judged from `recorders` and `communicators`. */
  collectives?: Collectives | null;
  /** What NCCL itself knew of its communicators, one entry for each moment at which somebody asked. */
  communicators?: Communicator[];
  /** One per GPU core dump and device. */
  gpu_cores?: GpuCore[];
  /** Numbers that a training loop logged over its steps, such as its loss. */
  series?: Series[];
  /** All events in one order, oldest first. */
  timeline?: Event[];
  /** How the texts of programs end, the best signs first; of many texts the first ones. */
  text_ends?: TextEnd[];
  /** The processes, where artifacts tell of more than one. */
  processes?: Process[];
  /** What the collector wrote down: command, host, packages, GPUs, driver, limits. Of several processes' the first. */
  context?: { [key: string]: Json };
}

/** One call on a stack. */
export interface Frame {
  /** Which world the frame is from. */
  kind?: FrameKind;
  /** Demangled name of the function; absent when nothing names the address. */
  function?: string | null;
  /** Source file. */
  file?: string | null;
  /** Line in `file`, counted from 1. */
  line?: number | null;
  /** That line's text, shortened, where the artifact quotes it. */
  source?: string | null;
  /** Path of the binary the address is in. */
  module?: string | null;
  /** That binary's build id as lower-case hex. */
  build_id?: string | null;
  /** Offset of the address in the binary (file address as in its symbol table, not a file offset). */
  offset?: Hex | null;
  /** Address in the process. */
  address?: Hex | null;
  /** True when the function was inlined into the next frame. */
  inline?: boolean;
  /** How the frame was found. */
  trust?: Trust;
  /** True for the frame on which a signal interrupted the thread: the frames before it are the handler's. */
  signal?: boolean;
  /** Where in a text artifact the frame stands. */
  at?: Place | null;
}

/** The world a frame belongs to. */
export type FrameKind = 'native' | 'python' | 'gpu' | (string & {});

/** A binary mapped into a process. */
export interface Module {
  /** Path at the time of the crash. */
  path?: string;
  /** Build id as lower-case hex, when its note was found. */
  build_id?: string | null;
  /**
   * Of a minidump's module the id that Breakpad's symbol files have in their first line: GUID and age in upper-case
   * hex (Breakpad `docs/symbol_files.md`).
   */
  debug_id?: string | null;
  /** Lowest address of its mappings. */
  start?: Hex;
  /** End of its highest mapping (exclusive). */
  end?: Hex;
  /** What symbols came from: `debug-file`, `binary`, `symbol-file` (Breakpad), `core`; absent when there were none. */
  symbols?: string | null;
  /** The artifact that says so. */
  artifact?: string;
}

/** Values of a series that are no numbers. */
export interface NonFinite {
  /** The first of them: `nan`, `inf` or `-inf`. */
  value?: string;
  /** Its step, where steps were logged. */
  step?: number | null;
  /** Where it stands. */
  at?: Place | null;
  /** How many there are. */
  count?: number;
  /** How many of them end the series: 0 where a number came last. */
  to_the_end?: number;
  /** Step from which on nothing but these came, where steps were logged. */
  from_step?: number | null;
}

/** One process of a report that tells of several. */
export interface Process {
  /** Process id. */
  pid?: number;
  /** Rank in its job, where known. */
  rank?: number | null;
  /** How it ended, where that is known of it. */
  crash?: Crash | null;
  /** What the collector wrote down about it. */
  context?: { [key: string]: Json };
}

/**
 * One number that was logged again and again, such as a loss: what became of it from step to step. Values are finite;
 * what was no number is in `non_finite`.
 */
export interface Series {
  /** As it was logged, such as `train/loss`; members of members are joined by a dot. */
  name?: string;
  /** The artifact that has it. */
  artifact?: string;
  /** How many values there are, those that are no numbers included. */
  count?: number;
  /** Step of the first value, where steps were logged. */
  first_step?: number | null;
  /** Step of the last value. */
  last_step?: number | null;
  /** The first finite value. */
  first?: number | null;
  /** The last finite value. */
  last?: number | null;
  /** The least finite value. */
  min?: number | null;
  /** The greatest finite value. */
  max?: number | null;
  /**
   * How much it grows a step, where it grew steadily over its last half; a row counts as a step where none was
   * logged.
   */
  growth?: number | null;
  /** The values that are no numbers, if there are any. */
  non_finite?: NonFinite | null;
  /** The series in at most 64 points of step (or row) and value, each the mean of the finite values that it stands for. */
  points?: SeriesPoint[];
}

/** A point of a series. */
export interface SeriesPoint {
  /** Its step; its number in the series where no steps were logged. */
  step?: number;
  /** Its value. */
  value?: number;
}

/** The process that sent a signal (`siginfo_t`). */
export interface SignalSender {
  /** Its process id, as the one that got the signal numbers it; 0 for a process outside of its container. */
  pid?: number;
  /** The user that it ran as. */
  uid?: number;
}

/** How a text ends: what there is to believe that its run ended well, or that it is of a run at all. */
export interface TextEnd {
  /** The artifact. */
  artifact?: string;
  /** How many lines it has, as far as it was read. */
  lines?: number;
  /** What its last lines show. */
  sign?: EndSign;
  /** The line that shows it. */
  at?: Place | null;
  /** That line, shortened. */
  text?: string;
}

/** One thread of one process, innermost frame first. */
export interface Thread {
  /** Names the thread within its artifact. */
  id: ThreadId;
  /** Thread name, where the artifact has it. */
  name?: string | null;
  /** Rank of the process in its job, where known. */
  rank?: number | null;
  /** Process id, where known. */
  pid?: number | null;
  /** True for the thread that got the fatal signal or raised the uncaught exception. */
  crashed?: boolean;
  /** The artifact this stack was read from. */
  artifact?: string;
  /** Innermost first; an inlined function is a frame of its own. */
  frames?: Frame[];
  /** Frames that were left out in the middle of `frames` because the stack is deeper than the cap. */
  frames_omitted?: number | null;
  /** True where the interpreter's own memory, or who looked at it, says that this thread holds Python's lock. */
  holds_gil?: boolean;
  /** What the thread was doing when somebody looked, as far as that was told or is in the memory of its process. */
  activity?: Activity | null;
}

/** How a frame was found, best first. */
export type Trust = 'context' | 'cfi' | 'call-site' | 'frame-pointer' | 'scan' | 'reported' | 'interpreter' | (string & {});
