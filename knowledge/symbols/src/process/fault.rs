//! The fault behind a fatal signal: from the frame of a handler that raised it again, and from the instruction.

use iced_x86::{
    Code, Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};
use whycrash_evidence::model::Crash;
use whycrash_evidence::readers::elf_core::{
    Fault, FaultDetail, Machine, Registers, SignalInfo, code_name, signal_name,
};

use crate::process::memory::{Bytes, Memory};
use crate::unwind::Unwinder;
use crate::unwind::aarch64;
use crate::unwind::registers::Abi;
use crate::unwind::signal_frame::{self, Exception, Interrupted};

/// Longest x86 instruction.
const MAX_INSTRUCTION: usize = 15;

/// Makes a crash say what the processor met. Python's faulthandler, and many crash handlers, raise the signal again
/// when they are done: then the kernel's last word is `SI_TKILL`, and the fault is in the frame of the handler.
pub(crate) fn refine(crash: &mut Crash, memory: Memory<'_>) {
    let Some(thread) = memory.core.threads.first() else {
        return;
    };
    let direct = memory.core.signal.map(|signal| Fault {
        signal,
        registers: thread.registers,
        error_code: None,
    });
    let handled = handled_fault(memory, &thread.registers);
    let Some(fault) = direct.filter(|fault| fault.signal.is_fault()).or(handled) else {
        crash.arithmetic = pending_arithmetic(memory, &thread.registers).map(Into::into);
        return;
    };
    let mut detail = memory.core.explain(&fault);
    crash.arithmetic = None;
    match memory.core.machine {
        Machine::X86_64 => {
            by_instruction(&mut detail, &fault.registers, &memory);
            if fault.signal.number == SIGFPE && fault.signal.code == FPE_INTDIV {
                crash.arithmetic = arithmetic(&fault.registers, &memory).map(Into::into);
            }
        }
        Machine::Aarch64 if detail.kind.is_some() && detail.access.is_none() => {
            let word = memory.number(fault.registers.pc, 4);
            detail.access = word.and_then(|word| aarch64::access(word as u32));
        }
        Machine::Aarch64 => {}
    }
    crash.signal = Some(signal_name(fault.signal.number));
    crash.code = Some(code_name(fault.signal.number, fault.signal.code));
    crash.sender = None;
    crash.address = detail.address.map(Into::into);
    crash.address_kind = detail.kind.map(Into::into);
    crash.access = detail.access.map(Into::into);
    crash.instruction = instruction_at(&memory, fault.registers.pc);
}

/// The fault that a handler on the thread's stack was called for; the outermost one when handlers faulted too.
fn handled_fault(memory: Memory<'_>, registers: &Registers) -> Option<Fault> {
    interruptions(memory, registers)
        .filter_map(|interrupted| fault_of(memory, &interrupted))
        .last()
}

/// What signal handlers on a thread's stack interrupted, the innermost first.
pub(crate) fn interruptions<'a>(
    memory: Memory<'a>,
    registers: &Registers,
) -> impl Iterator<Item = Interrupted> + use<'a> {
    let abi = Abi::of(memory.core.machine);
    Unwinder::new(memory, registers)
        .take(MAX_HANDLER_FRAMES)
        .filter(|frame| frame.is_signal_trampoline)
        .filter_map(move |frame| signal_frame::details(&memory, abi, &frame.registers))
}

/// The fault that interrupted a thread: as its handler was told, or as the processor's exception says.
fn fault_of(memory: Memory<'_>, interrupted: &Interrupted) -> Option<Fault> {
    let raised = memory.core.signal?.number;
    let registers = interrupted.registers;
    let exception = interrupted.exception;
    let told = interrupted
        .signal
        .filter(|signal| signal.number == raised && signal.is_fault());
    let signal = told.or_else(|| signal_of(memory, raised, &registers, &exception?))?;
    let is_page_fault = signal.number == SIGSEGV && signal.code <= SEGV_ACCERR;
    let error_code = exception.filter(|exception| is_page_fault && exception.vector == PAGE_FAULT);
    Some(Fault {
        signal,
        registers,
        error_code: error_code.map(|exception| exception.error_code),
    })
}

/// The signal that an exception is raised as (Linux `arch/x86/kernel/traps.c`, `arch/x86/mm/fault.c`). The exception is
/// believed only where it agrees with the instruction: for a signal that was sent it is whatever happened last.
fn signal_of(memory: Memory<'_>, raised: i32, registers: &Registers, exception: &Exception) -> Option<SignalInfo> {
    let at_instruction = |number, code| SignalInfo {
        number,
        code,
        address: registers.pc,
    };
    let signal = match (raised, exception.vector) {
        (SIGFPE, DIVIDE_ERROR) => at_instruction(SIGFPE, FPE_INTDIV),
        (SIGFPE, X87_ERROR | SIMD_ERROR) => at_instruction(SIGFPE, float_code(exception.unmasked_float)?),
        (SIGILL, INVALID_OPCODE) => at_instruction(SIGILL, ILL_ILLOPN),
        (SIGSEGV, GENERAL_PROTECTION) => SignalInfo {
            number: SIGSEGV,
            code: SI_KERNEL,
            address: 0,
        },
        (SIGSEGV | SIGBUS, PAGE_FAULT) => {
            let touched = |access: &Access| access.covers(exception.address);
            if registers.pc != exception.address && !accesses(&memory, registers).iter().any(touched) {
                return None;
            }
            let protection = i32::from(exception.error_code & 1 != 0);
            let code = if raised == SIGBUS {
                BUS_ADRERR
            } else {
                SEGV_MAPERR + protection
            };
            SignalInfo {
                number: raised,
                code,
                address: exception.address,
            }
        }
        _ => return None,
    };
    Some(signal)
}

const SIGILL: i32 = 4;
const SIGBUS: i32 = 7;
const SIGFPE: i32 = 8;
const SIGSEGV: i32 = 11;
const ILL_ILLOPN: i32 = 2;
const BUS_ADRERR: i32 = 2;
const FPE_INTDIV: i32 = 1;
const FPE_FLTDIV: i32 = 3;
const FPE_FLTOVF: i32 = 4;
const FPE_FLTUND: i32 = 5;
const FPE_FLTRES: i32 = 6;
const FPE_FLTINV: i32 = 7;
const SEGV_MAPERR: i32 = 1;
const SEGV_ACCERR: i32 = 2;
const SI_KERNEL: i32 = 0x80;
const DIVIDE_ERROR: u64 = 0;
const INVALID_OPCODE: u64 = 6;
const GENERAL_PROTECTION: u64 = 13;
const PAGE_FAULT: u64 = 14;
const X87_ERROR: u64 = 16;
const SIMD_ERROR: u64 = 19;

/// The code of SIGFPE for floating-point exceptions, in the kernel's own order (`fpu__exception_code`).
fn float_code(unmasked: u64) -> Option<i32> {
    const CODES: [(u64, i32); 5] = [
        (0x01, FPE_FLTINV),
        (0x04, FPE_FLTDIV),
        (0x08, FPE_FLTOVF),
        (0x12, FPE_FLTUND),
        (0x20, FPE_FLTRES),
    ];
    CODES
        .iter()
        .find(|(flags, _)| unmasked & flags != 0)
        .map(|(_, code)| *code)
}

/// Frames of a signal handler, and of what it interrupted, that are looked through.
const MAX_HANDLER_FRAMES: usize = 512;

/// Completes what is known of a memory access from the instruction that made it (x86-64).
fn by_instruction(detail: &mut FaultDetail, registers: &Registers, memory: &dyn Bytes) {
    if detail.kind.is_none() || detail.access == Some("execute") {
        return;
    }
    let accesses = accesses(memory, registers);
    let non_canonical = |access: &&Access| access.address.wrapping_add(1 << 47) >> 48 != 0;
    let access = match detail.address {
        Some(address) => accesses
            .iter()
            .find(|access| address.wrapping_sub(access.address) < access.size.max(1)),
        // The kernel can not tell this address; the instruction can.
        None => accesses.iter().find(non_canonical),
    };
    let Some(access) = access else { return };
    detail.access = detail.access.or(Some(access.kind));
    if detail.address.is_none() {
        detail.address = Some(access.address);
        detail.kind = Some("non-canonical");
    }
}

/// Completes a crash that a minidump tells (x86-64), which has the address of a fault but not what the access was.
pub(crate) fn complete(crash: &mut Crash, registers: &Registers, memory: &dyn Bytes) {
    crash.instruction = instruction_at(memory, registers.pc);
    if crash.code.as_deref() == Some("FPE_INTDIV") {
        crash.arithmetic = arithmetic(registers, memory).map(Into::into);
    }
    if !matches!(crash.signal.as_deref(), Some("SIGSEGV" | "SIGBUS")) {
        return;
    }
    // A general protection fault has no address; what the dump has instead is 0.
    let has_address = crash.code.as_deref() != Some("SI_KERNEL");
    let address = crash.address.map(|address| address.0).filter(|_| has_address);
    let mut detail = FaultDetail {
        address,
        kind: Some(""),
        access: (address == Some(registers.pc)).then_some("execute"),
    };
    by_instruction(&mut detail, registers, memory);
    crash.access = detail.access.map(Into::into);
    if !has_address && let Some(address) = detail.address {
        crash.address = Some(address.into());
        crash.address_kind = detail.kind.map(Into::into);
    }
}

/// A memory access of an instruction.
struct Access {
    address: u64,
    size: u64,
    kind: &'static str,
}

impl Access {
    fn covers(&self, address: u64) -> bool {
        address.wrapping_sub(self.address) < self.size.max(1)
    }
}

/// The bytes from an instruction on, as many as the longest one has: fewer where it may be the last on its page.
fn code_at(memory: &dyn Bytes, pc: u64) -> Option<Vec<u8>> {
    let lengths = (1..=MAX_INSTRUCTION).rev();
    lengths
        .map(|len| vec![0; len])
        .find_map(|mut code| memory.read(pc, &mut code).map(|()| code))
}

/// The same as text.
fn instruction_at(memory: &dyn Bytes, pc: u64) -> Option<String> {
    code_at(memory, pc).map(|code| hex(&code))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn decode(memory: &dyn Bytes, pc: u64) -> Option<Instruction> {
    let code = code_at(memory, pc)?;
    let instruction = Decoder::with_ip(64, &code, pc, DecoderOptions::NONE).decode();
    (instruction.code() != Code::INVALID).then_some(instruction)
}

/// A handler that raises SIGFPE again while it is blocked gets it when it returns: the thread is back at the
/// instruction that failed, and nothing else is left of the fault.
fn pending_arithmetic(memory: Memory<'_>, registers: &Registers) -> Option<&'static str> {
    let raised = memory.core.signal?.number == SIGFPE && memory.core.machine == Machine::X86_64;
    let instruction = decode(&memory, registers.pc).filter(|_| raised)?;
    let is_float = |register: Register| register.is_vector_register() || register.is_st();
    let float = (0..instruction.op_count()).any(|operand| is_float(instruction.op_register(operand)));
    float
        .then_some("floating-point")
        .or_else(|| arithmetic(registers, &memory))
}

/// What a division could not do. The processor has one exception for both: only the divisor tells them apart.
fn arithmetic(registers: &Registers, memory: &dyn Bytes) -> Option<&'static str> {
    let instruction = decode(memory, registers.pc)?;
    if !matches!(instruction.mnemonic(), Mnemonic::Div | Mnemonic::Idiv) {
        return None;
    }
    let divisor = match instruction.op0_kind() {
        OpKind::Register => value(registers, instruction.op0_register())?,
        _ => {
            let access = accesses(memory, registers).into_iter().next()?;
            let mut bytes = [0; 8];
            memory.read(access.address, bytes.get_mut(..usize::try_from(access.size).ok()?)?)?;
            u64::from_le_bytes(bytes)
        }
    };
    Some(if divisor == 0 {
        "zero-divisor"
    } else {
        "quotient-overflow"
    })
}

fn accesses(memory: &dyn Bytes, registers: &Registers) -> Vec<Access> {
    let Some(instruction) = decode(memory, registers.pc) else {
        return Vec::new();
    };
    let mut factory = InstructionInfoFactory::new();
    let used = factory.info(&instruction).used_memory();
    used.iter()
        .filter_map(|used| {
            let address = used.virtual_address(0, |register, _, _| value(registers, register))?;
            Some(Access {
                address,
                size: used.memory_size().size() as u64,
                kind: kind(used.access())?,
            })
        })
        .collect()
}

fn kind(access: OpAccess) -> Option<&'static str> {
    match access {
        OpAccess::Read | OpAccess::CondRead => Some("read"),
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite => Some("write"),
        OpAccess::None | OpAccess::NoMemAccess => None,
    }
}

/// The value of a register; the bases of all segments but `fs` and `gs` are 0, and those two are not known here.
fn value(registers: &Registers, register: Register) -> Option<u64> {
    let number = match register.full_register() {
        Register::RAX => 0,
        Register::RDX => 1,
        Register::RCX => 2,
        Register::RBX => 3,
        Register::RSI => 4,
        Register::RDI => 5,
        Register::RBP => 6,
        Register::RSP => 7,
        Register::R8 => 8,
        Register::R9 => 9,
        Register::R10 => 10,
        Register::R11 => 11,
        Register::R12 => 12,
        Register::R13 => 13,
        Register::R14 => 14,
        Register::R15 => 15,
        Register::CS | Register::DS | Register::ES | Register::SS => return Some(0),
        _ => return None,
    };
    // The second byte of a register is a register of its own.
    if matches!(register, Register::AH | Register::BH | Register::CH | Register::DH) {
        return None;
    }
    let full: u64 = *registers.general.get(number)?;
    // `[eax + …]` uses the lower half.
    let unused_bits = 64 - 8 * register.size().min(8);
    Some(full << unused_bits >> unused_bits)
}
