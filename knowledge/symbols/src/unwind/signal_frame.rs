//! The frame that the kernel pushes when it calls a signal handler: the interrupted registers, and the true fault.
//!
//! Layouts: Linux `arch/x86/include/asm/sigframe.h`, `arch/x86/include/uapi/asm/sigcontext.h`,
//! `arch/arm64/kernel/signal.c`, `arch/arm64/include/uapi/asm/sigcontext.h`.

use whycrash_evidence::readers::elf_core::{Machine, Registers, SignalInfo};

use crate::process::memory::{Bytes, Memory};
use crate::unwind::registers::{Abi, FrameRegisters};

/// `mov $15, %rax; syscall`: `rt_sigreturn`, which is all that a trampoline does.
const X86_64_TRAMPOLINE: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
/// `mov x8, #139; svc #0`.
const AARCH64_TRAMPOLINE: [u8; 8] = [0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4];
/// `uc_mcontext` in `ucontext`: after flags, link and the alternate stack.
const X86_64_MCONTEXT: u64 = 40;
/// DWARF numbers of the registers in the order of `struct sigcontext`.
const X86_64_ORDER: [u16; 16] = [8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7];
/// Index of `err` in `struct sigcontext`, after 18 registers and the segment selectors; `trapno`, `oldmask` and `cr2`
/// follow.
const X86_64_ERROR_CODE: u64 = 19;
/// Index of the pointer to the floating-point state, which begins as FXSAVE writes it: the control word of the x87
/// unit, its status word, and at byte 24 MXCSR.
const X86_64_FLOAT_STATE: u64 = 23;
const MXCSR_OFFSET: u64 = 24;
/// The kernel's `struct ucontext`; `siginfo` follows it.
const X86_64_UCONTEXT_SIZE: u64 = 304;
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

/// What the kernel wrote down for a signal handler, besides the registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interrupted {
    pub(crate) registers: Registers,
    /// Absent when the handler did not ask for it (`SA_SIGINFO`; Python's faulthandler does not).
    pub(crate) signal: Option<SignalInfo>,
    /// The last exception of the thread. Stale when the signal was sent and not raised by a fault.
    pub(crate) exception: Option<Exception>,
}

/// An x86 exception.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exception {
    /// Vector number: 0 `#DE`, 6 `#UD`, 13 `#GP`, 14 `#PF`, 16 `#MF`, 19 `#XM`.
    pub(crate) vector: u64,
    pub(crate) error_code: u64,
    /// The address of a page fault.
    pub(crate) address: u64,
    /// Floating-point exceptions that were raised and not masked, as bits of MXCSR's flags; 0 where they were not
    /// dumped.
    pub(crate) unmasked_float: u64,
}

/// What the kernel wrote down for a handler, when the frame is the trampoline that it returns to.
pub(crate) fn details(memory: &Memory<'_>, abi: Abi, frame: &FrameRegisters) -> Option<Interrupted> {
    let sp = frame.get(abi.stack_pointer)?;
    let registers = interrupted(memory, abi, frame)?.to_registers();
    let (info, exception) = match abi.machine {
        Machine::X86_64 => (sp.checked_add(X86_64_UCONTEXT_SIZE)?, exception(memory, sp)),
        Machine::Aarch64 => (sp, None),
    };
    let mut bytes = [0; 24];
    let signal = memory.read(info, &mut bytes).and_then(|()| SignalInfo::parse(&bytes));
    Some(Interrupted {
        registers,
        signal,
        exception,
    })
}

fn exception(memory: &Memory<'_>, context: u64) -> Option<Exception> {
    let word = |index: u64| memory.word(context.checked_add(X86_64_MCONTEXT + index * 8)?);
    let error_code = word(X86_64_ERROR_CODE)?;
    Some(Exception {
        error_code,
        vector: word(X86_64_ERROR_CODE + 1)?,
        address: word(X86_64_ERROR_CODE + 3)?,
        unmasked_float: word(X86_64_FLOAT_STATE)
            .and_then(|state| unmasked_float(memory, state))
            .unwrap_or(0),
    })
}

/// As the kernel finds them (`fpu__exception_code`): of the flags, those whose masks are off. A set bit of the x87
/// status word has its mask in the same bit of the control word, one of MXCSR seven bits higher.
fn unmasked_float(memory: &Memory<'_>, state: u64) -> Option<u64> {
    const FLAGS: u64 = 0x3f;
    let control = memory.number(state, 2)?;
    let status = memory.number(state.checked_add(2)?, 2)?;
    let mxcsr = memory.number(state.checked_add(MXCSR_OFFSET)?, 4)?;
    Some(((status & !control) | (mxcsr & !(mxcsr >> 7))) & FLAGS)
}

fn is_at<const N: usize>(memory: &Memory<'_>, address: u64, code: [u8; N]) -> bool {
    let mut found = [0; N];
    memory.read(address, &mut found).is_some() && found == code
}
