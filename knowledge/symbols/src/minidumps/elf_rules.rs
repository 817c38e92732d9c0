//! Unwinding a frame of a minidump by the call frame information of an ELF file.

use minidump::{CpuContext as _, MinidumpContext, MinidumpRawContext};
use minidump_unwind::FrameWalker;
use whycrash_evidence::readers::elf_core::{Machine, Registers};

use crate::costs::Costs;
use crate::process::memory::Bytes;
use crate::process::modules::LoadedModule;
use crate::unwind::registers::{Abi, FrameRegisters};
use crate::unwind::rules::{self, Caller};

/// The names that minidumps have for the registers, by DWARF number.
const X86_64: [&str; 16] = [
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
];
const AARCH64: [&str; 32] = [
    "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",
    "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "fp", "lr", "sp",
];

/// The general registers of a context, when it is one of x86-64.
pub(super) fn x86_64_registers(context: &MinidumpContext) -> Option<Registers> {
    let MinidumpRawContext::Amd64(raw) = &context.raw else {
        return None;
    };
    let mut general = [0; 32];
    for (register, name) in general.iter_mut().zip(X86_64) {
        *register = raw.get_register(name, &context.valid)?;
    }
    Some(Registers { pc: raw.rip, general })
}

/// The stack of the thread, which is all that a walker can read.
struct Stack<'a>(&'a dyn FrameWalker);

impl Bytes for Stack<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> Option<()> {
        for (at, bytes) in (address..).step_by(8).zip(buffer.chunks_mut(8)) {
            let word = self.0.get_register_at_address(at)?.to_le_bytes();
            bytes.copy_from_slice(word.get(..bytes.len())?);
        }
        Some(())
    }
}

/// Finds the caller of the walker's frame; nothing when the file has no rules for it.
pub(super) fn walk(machine: Machine, module: &LoadedModule, walker: &mut dyn FrameWalker, costs: &Costs) -> Option<()> {
    let names: &[&'static str] = match machine {
        Machine::X86_64 => &X86_64,
        Machine::Aarch64 => &AARCH64,
    };
    let abi = Abi::of(machine);
    let address = walker.get_instruction();
    let mut registers = FrameRegisters::innermost(&Registers {
        pc: address,
        general: [0; 32],
    });
    for (number, name) in names.iter().enumerate() {
        registers.set(number as u16, walker.get_callee_register(name));
    }
    let caller = module.with_row(address, &mut |row| {
        costs.spend(row.length)?;
        let bias = module.bias().unwrap_or(0);
        Some(rules::caller(row, abi, &registers, &Stack(&*walker), bias, costs))
    })??;
    match caller {
        Caller::Found(caller) => {
            for (number, name) in names.iter().enumerate() {
                match caller.get(number as u16) {
                    Some(value) => {
                        walker.set_caller_register(name, value);
                    }
                    None => walker.clear_caller_register(name),
                }
            }
            walker.set_cfa(caller.get(abi.stack_pointer)?)?;
            walker.set_ra(caller.pc)
        }
        // A return address of 0 ends the walk; without one the walker would guess on.
        Caller::Outermost => {
            walker.set_cfa(registers.get(abi.stack_pointer)?.checked_add(16)?)?;
            walker.set_ra(0)
        }
        Caller::Lost => None,
    }
}
