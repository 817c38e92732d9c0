//! Walks a thread's stack, one physical frame after the other.

pub(crate) mod aarch64;
pub(crate) mod cfi;
pub(crate) mod expression;
pub(crate) mod registers;
pub(crate) mod rules;
pub(crate) mod signal_frame;
pub(crate) mod tail_calls;

use whycrash_evidence::model::Trust;
use whycrash_evidence::readers::elf_core::{Machine, Registers};

use crate::process::memory::{Bytes, Memory};
use crate::unwind::registers::{Abi, FrameRegisters};
use crate::unwind::rules::Caller;

/// What a frame costs besides the memory that is read for it.
const FRAME: u64 = 2048;
/// Words of the stack that are searched for a return address.
const MAX_SCAN_WORDS: u64 = 1024;
/// Guesses in a row after which the stack is given up: what follows would be invention.
const MAX_SCANS: usize = 2;
/// Address bits that are 0 in every program of a 48-bit address space, which is what Linux gives one unless it asks for
/// more: the signature's place where a core does not tell it.
const UNUSED_BITS: u64 = 0xffff << 48;
/// Bytes of a frame at most; a frame pointer that leads further is none.
const MAX_FRAME_BYTES: u64 = 64 << 20;

/// A frame as it is on the stack: several functions when some were inlined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawFrame {
    pub(crate) registers: FrameRegisters,
    pub(crate) trust: Trust,
    /// True when the code that a signal handler returns to: the frame below it was interrupted.
    pub(crate) is_signal_trampoline: bool,
    /// True when `pc` is where the thread was, not a return address.
    pub(crate) is_exact: bool,
}

impl RawFrame {
    /// The same frame at another return address.
    pub(crate) fn at(&self, pc: u64) -> Self {
        let mut registers = self.registers;
        registers.pc = pc;
        Self {
            registers,
            is_signal_trampoline: false,
            is_exact: false,
            ..*self
        }
    }

    /// An address within the instruction that the frame was at: a return address may belong to the next function.
    pub(crate) fn lookup_address(&self) -> u64 {
        self.registers.pc.wrapping_sub(u64::from(!self.is_exact))
    }
}

/// The frames of a thread, innermost first.
pub(crate) struct Unwinder<'a> {
    memory: Memory<'a>,
    abi: Abi,
    next: Option<RawFrame>,
    scans: usize,
}

impl<'a> Unwinder<'a> {
    pub(crate) fn new(memory: Memory<'a>, registers: &Registers) -> Self {
        let registers = FrameRegisters::innermost(registers);
        let first = RawFrame {
            registers,
            trust: Trust::Context,
            is_signal_trampoline: false,
            is_exact: true,
        };
        Self {
            memory,
            abi: Abi::of(memory.core.machine),
            next: Some(first),
            scans: 0,
        }
    }

    fn caller(&mut self, frame: &mut RawFrame) -> Option<RawFrame> {
        let (registers, trust) = self.caller_registers(frame)?;
        let is_exact = frame.is_signal_trampoline;
        let sp = self.abi.stack_pointer;
        let (from, to) = (frame.registers.get(sp)?, registers.get(sp)?);
        // Only a signal handler runs on another stack than what it interrupted.
        // A leaf function of a processor with a link register may not have used the stack at all.
        let moved_up = to > from || (to == from && frame.is_exact && registers.pc != frame.registers.pc);
        if !is_exact && (!moved_up || registers.pc == 0) {
            return None;
        }
        self.scans = if trust == Trust::Scan {
            self.scans + 1
        } else {
            self.scans
        };
        if self.scans > MAX_SCANS {
            return None;
        }
        Some(RawFrame {
            registers,
            trust,
            is_signal_trampoline: false,
            is_exact,
        })
    }

    fn caller_registers(&self, frame: &mut RawFrame) -> Option<(FrameRegisters, Trust)> {
        match self.by_cfi(frame) {
            Some(Caller::Found(mut registers)) => {
                registers.pc = self.strip(registers.pc);
                return Some((*registers, Trust::Cfi));
            }
            Some(Caller::Outermost | Caller::Lost) => return None,
            None => {}
        }
        if let Some(registers) = signal_frame::interrupted(&self.memory, self.abi, &frame.registers) {
            frame.is_signal_trampoline = true;
            return Some((registers, Trust::Cfi));
        }
        if frame.is_exact && !self.memory.is_code(frame.registers.pc) {
            return Some((self.after_wild_call(&frame.registers)?, Trust::Cfi));
        }
        let by_frame_pointer = self
            .by_frame_pointer(&frame.registers)
            .map(|registers| (registers, Trust::FramePointer));
        by_frame_pointer.or_else(|| Some((self.by_scan(&frame.registers)?, Trust::Scan)))
    }

    /// By the rules of the binary; nothing when it has none for this address.
    fn by_cfi(&self, frame: &mut RawFrame) -> Option<Caller> {
        let module = self.memory.modules.at(frame.lookup_address())?;
        let bias = module.bias()?;
        let registers = frame.registers;
        let (caller, is_trampoline) = module.with_row(frame.lookup_address(), &mut |row| {
            let costs = self.memory.costs;
            let caller = costs
                .spend(row.length)
                .map(|()| rules::caller(row, self.abi, &registers, &self.memory, bias, costs));
            (caller, row.is_signal_trampoline)
        })?;
        frame.is_signal_trampoline = is_trampoline;
        Some(caller.unwrap_or(Caller::Lost))
    }

    /// A call through a bad pointer has just pushed (or linked) its return address.
    fn after_wild_call(&self, registers: &FrameRegisters) -> Option<FrameRegisters> {
        let mut caller = *registers;
        if let Some(link) = self.abi.link {
            caller.pc = self.strip(registers.get(link)?);
        } else {
            let sp = registers.get(self.abi.stack_pointer)?;
            caller.pc = self.memory.word(sp)?;
            caller.set(self.abi.stack_pointer, Some(sp.wrapping_add(8)));
        }
        self.memory.is_code(caller.pc).then_some(caller)
    }

    /// By the convention that a frame pointer leads to the caller's, with the return address beside it.
    fn by_frame_pointer(&self, registers: &FrameRegisters) -> Option<FrameRegisters> {
        let sp = registers.get(self.abi.stack_pointer)?;
        let fp = registers.get(self.abi.frame_pointer)?;
        if fp < sp || fp - sp > MAX_FRAME_BYTES || fp % 8 != 0 {
            return None;
        }
        let mut caller = *registers;
        caller.set(self.abi.frame_pointer, self.memory.word(fp));
        caller.set(self.abi.stack_pointer, Some(fp.checked_add(16)?));
        caller.pc = self.strip(self.memory.word(fp.checked_add(8)?)?);
        self.is_return_address(caller.pc).then_some(caller)
    }

    /// The nearest word on the stack that looks like a return address.
    fn by_scan(&self, registers: &FrameRegisters) -> Option<FrameRegisters> {
        let sp = registers.get(self.abi.stack_pointer)? & !7;
        for at in (0..MAX_SCAN_WORDS).map(|index| sp.wrapping_add(index * 8)) {
            let pc = self.strip(self.memory.word(at)?);
            if self.is_return_address(pc) {
                let mut caller = *registers;
                caller.pc = pc;
                caller.set(self.abi.stack_pointer, Some(at.checked_add(8)?));
                return Some(caller);
            }
        }
        None
    }

    /// True when the instruction before an address is a call.
    fn is_return_address(&self, address: u64) -> bool {
        if !self.memory.is_code(address) {
            return false;
        }
        let mut before = [0; 7];
        let Some(start) = address.checked_sub(before.len() as u64) else {
            return false;
        };
        if self.memory.read(start, &mut before).is_none() {
            return false;
        }
        match self.abi.machine {
            Machine::X86_64 => ends_in_call(before),
            Machine::Aarch64 => {
                let [.., a, b, c, d] = before;
                let word = u32::from_le_bytes([a, b, c, d]);
                // BL, and BLR with its authenticated forms.
                word >> 26 == 0b10_0101 || word & 0xfeff_f000 == 0xd63f_0000
            }
        }
    }

    /// A code address without the signature that its upper bits may carry (aarch64).
    fn strip(&self, address: u64) -> u64 {
        let mask = match (self.abi.machine, self.memory.core.code_mask) {
            (Machine::Aarch64, 0) => UNUSED_BITS,
            (_, mask) => mask,
        };
        address & !mask
    }
}

/// Whether x86-64 code ends in a call: `e8 rel32`, or `ff /2` in one of its lengths.
fn ends_in_call(code: [u8; 7]) -> bool {
    let is_relative = code.get(2) == Some(&0xe8);
    let is_indirect = |len: usize| {
        let instruction = code.get(code.len() - len..).unwrap_or_default();
        let &[0xff, modrm, ..] = instruction else { return false };
        modrm & 0x38 == 0x10 && indirect_call_len(modrm) == len
    };
    is_relative || (2..=7).any(is_indirect)
}

/// Length of `ff` with this ModRM byte: a SIB byte, and a displacement of one or four bytes, may follow.
fn indirect_call_len(modrm: u8) -> usize {
    let (mode, base) = (modrm >> 6, modrm & 7);
    let sib = usize::from(mode != 3 && base == 4);
    let displacement = match (mode, base) {
        (1, _) => 1,
        (2, _) | (0, 5) => 4,
        _ => 0,
    };
    2 + sib + displacement
}

impl Iterator for Unwinder<'_> {
    type Item = RawFrame;

    fn next(&mut self) -> Option<RawFrame> {
        let mut frame = self.next.take()?;
        if self.memory.costs.spend(FRAME).is_some() {
            self.next = self.caller(&mut frame);
        }
        Some(frame)
    }
}
