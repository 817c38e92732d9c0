//! ELF file and program headers: of the core itself, and of the binaries whose first page it holds.
//!
//! Layouts: System V ABI, "Object Files" (`elf.h`: `Elf64_Ehdr`, `Elf64_Phdr`). 64-bit little-endian only.

use super::little_endian::{u16_at, u32_at, u64_at};

/// Size of an `Elf64_Ehdr`.
pub(super) const HEADER_SIZE: u64 = 64;
/// Size of an `Elf64_Phdr`.
pub(super) const PROGRAM_HEADER_SIZE: u64 = 56;
pub(super) const ET_CORE: u16 = 4;
pub(super) const EM_X86_64: u16 = 62;
pub(super) const EM_AARCH64: u16 = 183;
pub(super) const PT_LOAD: u32 = 1;
pub(super) const PT_NOTE: u32 = 4;
/// Of a minicore's program headers (within `PF_MASKOS`, which is for such things): the range goes on where the one
/// before it ends, and was one with it.
pub(super) const PF_CONTINUES: u32 = 0x0010_0000;
/// `e_phnum` of a file with more program headers than 16 bits count; the number is in section header 0.
pub(super) const PN_XNUM: u16 = 0xffff;

/// A processor whose cores are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// AMD64.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

/// What an ELF header says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    file_type: u16,
    machine: u16,
    pub(super) program_headers: u64,
    program_header_count: u16,
    pub(super) program_header_size: u16,
    section_headers: u64,
}

impl Header {
    /// Parses the header of a 64-bit little-endian ELF file.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        // EI_CLASS 2: 64-bit; EI_DATA 1: little-endian.
        if bytes.get(..6)? != b"\x7fELF\x02\x01" {
            return None;
        }
        Some(Self {
            file_type: u16_at(bytes, 16)?,
            machine: u16_at(bytes, 18)?,
            program_headers: u64_at(bytes, 32)?,
            section_headers: u64_at(bytes, 40)?,
            program_header_size: u16_at(bytes, 54)?,
            program_header_count: u16_at(bytes, 56)?,
        })
    }

    pub(super) fn is_core(&self) -> bool {
        self.file_type == ET_CORE
    }

    /// The processor, when it is one of those read.
    pub(super) fn machine(&self) -> Option<Machine> {
        match self.machine {
            EM_X86_64 => Some(Machine::X86_64),
            EM_AARCH64 => Some(Machine::Aarch64),
            _ => None,
        }
    }

    /// Number of program headers. `bytes_at` reads the file, for when the number does not fit the ELF header: then it is
    /// `sh_info` of section 0. The kernel writes that section last; where it is not there, the notes tell, which follow
    /// the program headers and are named by the first of them.
    pub(super) fn program_header_count(&self, bytes_at: impl Fn(u64) -> Vec<u8>) -> u64 {
        if self.program_header_count != PN_XNUM {
            return u64::from(self.program_header_count);
        }
        let by_section = || u32_at(&bytes_at(self.section_headers), 44).map(u64::from);
        let by_notes = || {
            let first = ProgramHeader::parse(&bytes_at(self.program_headers))?;
            let size = first.offset.checked_sub(self.program_headers)?;
            (first.kind == PT_NOTE).then_some(size / PROGRAM_HEADER_SIZE)
        };
        by_section().or_else(by_notes).unwrap_or(u64::from(PN_XNUM))
    }
}

/// A program header.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProgramHeader {
    pub(super) kind: u32,
    pub(super) flags: u32,
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) file_size: u64,
    pub(super) memory_size: u64,
    pub(super) align: u64,
}

impl ProgramHeader {
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            kind: u32_at(bytes, 0)?,
            flags: u32_at(bytes, 4)?,
            offset: u64_at(bytes, 8)?,
            address: u64_at(bytes, 16)?,
            file_size: u64_at(bytes, 32)?,
            memory_size: u64_at(bytes, 40)?,
            align: u64_at(bytes, 48)?,
        })
    }
}
