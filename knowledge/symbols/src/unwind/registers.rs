//! The registers of a frame while unwinding, by DWARF number.

use whycrash_evidence::readers::elf_core::{Machine, Registers};

/// What is known of a frame's registers. A caller's scratch registers are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameRegisters {
    pub(crate) pc: u64,
    general: [Option<u64>; 32],
}

/// The numbers of the registers that unwinding is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Abi {
    pub(crate) machine: Machine,
    pub(crate) stack_pointer: u16,
    pub(crate) frame_pointer: u16,
    /// The register that holds the return address after a call, where the processor has one.
    pub(crate) link: Option<u16>,
}

impl Abi {
    pub(crate) fn of(machine: Machine) -> Self {
        match machine {
            Machine::X86_64 => Self {
                machine,
                stack_pointer: 7,
                frame_pointer: 6,
                link: None,
            },
            Machine::Aarch64 => Self {
                machine,
                stack_pointer: 31,
                frame_pointer: 29,
                link: Some(30),
            },
        }
    }
}

impl FrameRegisters {
    /// Of the innermost frame.
    pub(crate) fn innermost(registers: &Registers) -> Self {
        Self {
            pc: registers.pc,
            general: registers.general.map(Some),
        }
    }

    /// As those of a thread; what is not known is 0.
    pub(crate) fn to_registers(self) -> Registers {
        Registers {
            pc: self.pc,
            general: self.general.map(Option::unwrap_or_default),
        }
    }

    pub(crate) fn get(&self, number: u16) -> Option<u64> {
        self.general.get(usize::from(number)).copied().flatten()
    }

    pub(crate) fn set(&mut self, number: u16, value: Option<u64>) {
        if let Some(register) = self.general.get_mut(usize::from(number)) {
            *register = value;
        }
    }
}
