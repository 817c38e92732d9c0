//! The frame that the kernel pushes when it calls a signal handler: the interrupted registers, and the true fault.
//!
//! Layouts: Linux `arch/x86/include/asm/sigframe.h`, `arch/x86/include/uapi/asm/sigcontext.h`,
//! `arch/arm64/kernel/signal.c`, `arch/arm64/include/uapi/asm/sigcontext.h`.

use whycrash_evidence::readers::elf_core::Machine;

use crate::memory::Memory;
use crate::registers::{Abi, FrameRegisters};

/// `mov $15, %rax; syscall`: `rt_sigreturn`, which is all that a trampoline does.
const X86_64_TRAMPOLINE: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
/// `mov x8, #139; svc #0`.
const AARCH64_TRAMPOLINE: [u8; 8] = [0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4];
/// `uc_mcontext` in `ucontext`: after flags, link and the alternate stack.
const X86_64_MCONTEXT: u64 = 40;
/// DWARF numbers of the registers in the order of `struct sigcontext`.
const X86_64_ORDER: [u16; 16] = [8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7];
/// `siginfo` (128 bytes), then flags, link, alternate stack and 128 bytes of signal mask; there `fault_address` is
/// first.
const AARCH64_REGISTERS: u64 = 128 + 176 + 8;

/// The registers that a signal interrupted, when the frame is the trampoline that its handler returns to.
pub(crate) fn interrupted(memory: &Memory<'_>, abi: Abi, frame: &FrameRegisters) -> Option<FrameRegisters> {
    let sp = frame.get(abi.stack_pointer)?;
    let mut registers = *frame;
    match abi.machine {
        Machine::X86_64 => {
            is_at(memory, frame.pc, X86_64_TRAMPOLINE).then_some(())?;
            let context = sp.checked_add(X86_64_MCONTEXT)?;
            for (slot, number) in (0..).zip(X86_64_ORDER) {
                registers.set(number, Some(memory.word(context.checked_add(slot * 8)?)?));
            }
            registers.pc = memory.word(context.checked_add(16 * 8)?)?;
        }
        Machine::Aarch64 => {
            is_at(memory, frame.pc, AARCH64_TRAMPOLINE).then_some(())?;
            let context = sp.checked_add(AARCH64_REGISTERS)?;
            for number in 0..32_u16 {
                registers.set(number, Some(memory.word(context.checked_add(u64::from(number) * 8)?)?));
            }
            registers.pc = memory.word(context.checked_add(32 * 8)?)?;
        }
    }
    Some(registers)
}

fn is_at<const N: usize>(memory: &Memory<'_>, address: u64, code: [u8; N]) -> bool {
    let mut found = [0; N];
    memory.read(address, &mut found).is_some() && found == code
}
