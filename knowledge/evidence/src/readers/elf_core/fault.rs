//! What the address of a fault tells.

use super::dump::CoreDump;
use super::headers::Machine;
use super::notes::{Registers, SignalInfo};
use super::signals::{SEGV_ACCERR, SI_KERNEL, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};

/// Addresses that Linux never maps by default (`vm.mmap_min_addr`): a null pointer and the fields behind it.
const NULL_END: u64 = 64 << 10;
/// How far from the stack pointer an access may be and still be one of the stack. Compilers probe each page of a larger
/// frame, so that a true overflow faults close by; a red zone or a call needs a few bytes only.
const STACK_REACH: u64 = 64 << 10;
/// Bit 0 to 2 and 4 of the x86 page fault error code.
const PAGE_FAULT_WRITE: u64 = 2;
const PAGE_FAULT_FETCH: u64 = 16;
const DWARF_RSP: usize = 7;
const DWARF_AARCH64_SP: usize = 31;

/// A fault as the processor met it.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What the kernel said.
    pub signal: SignalInfo,
    /// The registers at the fault.
    pub registers: Registers,
    /// The page fault error code, where a signal frame on the stack has it (x86-64).
    pub error_code: Option<u64>,
}

/// What a fault's address tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultDetail {
    /// The address; absent where the kernel does not know it, or where the signal was not raised by a fault.
    pub address: Option<u64>,
    /// The kind of address, in the words of [`crate::model::Crash::address_kind`].
    pub kind: Option<&'static str>,
    /// `read`, `write` or `execute`, where known.
    pub access: Option<&'static str>,
}

impl SignalInfo {
    /// True for a signal that the processor raised, false for one that was sent (`kill`, `raise`, `abort`).
    pub fn is_fault(&self) -> bool {
        matches!(self.number, SIGILL | SIGTRAP | SIGBUS | SIGFPE | SIGSEGV) && self.code > 0
    }
}

impl CoreDump {
    /// The stack pointer among a thread's registers.
    pub fn stack_pointer(&self, registers: &Registers) -> u64 {
        let number = match self.machine {
            Machine::X86_64 => DWARF_RSP,
            Machine::Aarch64 => DWARF_AARCH64_SP,
        };
        registers.general.get(number).copied().unwrap_or(0)
    }

    /// Says what a fault's address tells.
    pub fn explain(&self, fault: &Fault) -> FaultDetail {
        if !fault.signal.is_fault() {
            return FaultDetail::default();
        }
        if !matches!(fault.signal.number, SIGSEGV | SIGBUS) {
            // si_addr of SIGILL, SIGFPE and SIGTRAP is the instruction itself.
            return FaultDetail {
                address: Some(fault.signal.address),
                ..FaultDetail::default()
            };
        }
        if fault.signal.code == SI_KERNEL {
            return self.explain_unknown_address(fault);
        }
        let address = fault.signal.address;
        FaultDetail {
            address: Some(address),
            kind: Some(self.address_kind(fault, address)),
            access: self.access(fault),
        }
    }

    /// A general protection fault has no address. Two things end so: an access to a non-canonical address, and a
    /// signal that could not be delivered because the stack was full.
    fn explain_unknown_address(&self, fault: &Fault) -> FaultDetail {
        let stack = self.stack_pointer(&fault.registers);
        let mapped = |address| self.segment_at(address).is_some_and(|segment| segment.writable);
        let kind = if mapped(stack) && mapped(stack.saturating_sub(STACK_REACH / 16)) {
            "non-canonical"
        } else {
            "stack-overflow"
        };
        FaultDetail {
            kind: Some(kind),
            ..FaultDetail::default()
        }
    }

    fn address_kind(&self, fault: &Fault, address: u64) -> &'static str {
        let segment = self.segment_at(address);
        let stack = self.stack_pointer(&fault.registers);
        if address < NULL_END {
            "null"
        } else if fault.signal.number == SIGBUS {
            // The mapping is there, its file is not (truncated), or shared memory is full.
            "beyond-file"
        } else if !is_canonical(address, self.machine) {
            "non-canonical"
        } else if self.is_stack_overflow(address, stack) {
            "stack-overflow"
        } else if address == fault.registers.pc {
            "not-code"
        } else if fault.signal.code != SEGV_ACCERR && segment.is_none() {
            "unmapped"
        } else {
            match segment {
                Some(segment) if !segment.readable => "guard-page",
                Some(segment) if !segment.writable => "read-only",
                Some(_) => "protected",
                None => "unmapped",
            }
        }
    }

    /// True when an access close to the stack pointer went beyond the stack's end, which the pointer is near or beyond.
    fn is_stack_overflow(&self, address: u64, stack: u64) -> bool {
        let usable = |at| self.segment_at(at).filter(|segment| segment.readable);
        let near_end =
            usable(stack).is_none_or(|segment| address < segment.start && stack - segment.start <= STACK_REACH);
        address.abs_diff(stack) <= STACK_REACH && usable(address).is_none() && near_end
    }

    fn access(&self, fault: &Fault) -> Option<&'static str> {
        if fault.signal.address == fault.registers.pc {
            return Some("execute");
        }
        if let Some(code) = fault.error_code {
            return Some(match code {
                code if code & PAGE_FAULT_FETCH != 0 => "execute",
                code if code & PAGE_FAULT_WRITE != 0 => "write",
                _ => "read",
            });
        }
        // A readable page that may not be written faults on writes alone.
        let read_only = self
            .segment_at(fault.signal.address)
            .is_some_and(|segment| segment.readable && !segment.writable);
        (fault.signal.code == SEGV_ACCERR && read_only).then_some("write")
    }
}

/// Bits 47 (x86-64) or 55 (aarch64 with tagged pointers) and above are all the same in an address that can be mapped.
fn is_canonical(address: u64, machine: Machine) -> bool {
    let unused = match machine {
        Machine::X86_64 => 16,
        Machine::Aarch64 => 8,
    };
    let extended = ((address << unused) as i64) >> unused;
    extended as u64 == address
}
