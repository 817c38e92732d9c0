//! Which memory a diagnosis needs. All of it is found by following pointers, so the stacks are walked as a reader walks
//! them, and the core notes what that took.

use whycrash_evidence::readers::elf_core::{CoreDump, CoreThread};
use whycrash_evidence::{Limits, Problem};

use crate::Symbols;
use crate::process::stacks::Naming;

/// Bytes of the stack of the thread that crashed, and of each of the others, that are kept whatever is read of them:
/// where another finds other files for a binary, it walks another way.
const CRASHED_STACK: u64 = 256 << 10;
const OTHER_STACK: u64 = 32 << 10;
/// Stacks of so many bytes all together; a process of ten thousand threads has no more of this than one of hundreds.
const ALL_STACKS: u64 = 4 << 20;
/// Bytes below the stack pointer that a function may use without moving it (System V ABI for AMD64, 3.2.2).
const RED_ZONE: u64 = 128;
/// Bytes before and after an address in a register of the thread that crashed: what it was working on.
const AROUND: u64 = 128;

impl Symbols {
    /// Has a core note all of its memory that a diagnosis reads, at most `limit` bytes of pages, so that
    /// [`CoreDump::write_minicore`] writes just that. The files of the binaries should be at hand: without them stacks
    /// are kept but hardly followed. What is returned is what was left out for the limits' sake.
    pub fn note_needs(&self, core: &mut CoreDump, limit: u64, limits: &Limits) -> Vec<Problem> {
        core.note_reads(limit);
        let mut left = ALL_STACKS;
        for (index, thread) in core.threads.iter().enumerate() {
            let most = if index == 0 { CRASHED_STACK } else { OTHER_STACK };
            left -= keep_stack(core, thread, most.min(left));
        }
        for value in core.threads.first().map_or([0; 32], |thread| thread.registers.general) {
            core.keep(value.saturating_sub(AROUND), 2 * AROUND);
        }
        let mut evidence = core.evidence("");
        self.report().find_stacks(core, &mut evidence, limits, Naming::Off)
    }
}

/// Keeps the inner part of a thread's stack; says how many bytes that may be.
fn keep_stack(core: &CoreDump, thread: &CoreThread, most: u64) -> u64 {
    let start = core.stack_pointer(&thread.registers);
    let Some(range) = core.segment_at(start) else { return 0 };
    let len = (range.end - start).min(most);
    core.keep(start.saturating_sub(RED_ZONE), len.saturating_add(RED_ZONE));
    len
}
