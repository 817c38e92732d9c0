//! The notes of a core: who crashed, how, with which registers, and what was mapped.
//!
//! Layouts: Linux `include/linux/elfcore.h` (`elf_prstatus`, `elf_prpsinfo`), `fs/binfmt_elf.c` (`NT_FILE`),
//! `siginfo_t` of sigaction(2).

use super::headers::Machine;
use super::kept::Kept;
use super::little_endian::{c_string, i32_at, u16_at, u32_at, u64_at};
use crate::model::SignalSender;

pub(super) const NT_PRSTATUS: u32 = 1;
pub(super) const NT_PRPSINFO: u32 = 3;
pub(super) const NT_AUXV: u32 = 6;
pub(super) const NT_SIGINFO: u32 = 0x5349_4749;
pub(super) const NT_FILE: u32 = 0x4649_4c45;
/// What a minicore holds, under the name of this program.
pub(super) const NT_MINICORE: u32 = 0x4d43_0001;
pub(super) const OWN_NAME: &[u8] = b"whycrash";
/// Masks of the pointer-authentication bits in data and code addresses (aarch64).
const NT_ARM_PAC_MASK: u32 = 0x406;
/// The thread pointer (aarch64), which x86-64 has among its registers.
const NT_ARM_TLS: u32 = 0x401;
/// The general registers start after signal, pids and times.
const PRSTATUS_REGISTERS: usize = 112;

/// One note, still raw.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note<'a> {
    pub(super) name: &'a [u8],
    pub(super) kind: u32,
    pub(super) description: &'a [u8],
}

/// The notes of a segment; ends at the first one that is not all there. `align` is the segment's: 8 for some
/// notes of binaries, 4 for everything else.
pub(super) fn notes(mut bytes: &[u8], align: u64) -> impl Iterator<Item = Note<'_>> {
    let align = if align == 8 { 8 } else { 4 };
    std::iter::from_fn(move || {
        let name_size = u32_at(bytes, 0)? as usize;
        let description_size = u32_at(bytes, 4)? as usize;
        let kind = u32_at(bytes, 8)?;
        let name_end = 12_usize.checked_add(name_size)?;
        let start = name_end.checked_next_multiple_of(align)?;
        let end = start.checked_add(description_size)?;
        let name = bytes.get(12..name_end)?;
        let description = bytes.get(start..end)?;
        bytes = end
            .checked_next_multiple_of(align)
            .and_then(|next| bytes.get(next..))
            .unwrap_or_default();
        Some(Note {
            name: name.strip_suffix(&[0]).unwrap_or(name),
            kind,
            description,
        })
    })
}

/// The general registers of a thread, numbered as DWARF numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Address of the instruction the thread was at.
    pub pc: u64,
    /// x86-64: `rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8` … `r15` in 0 to 15. aarch64: `x0` … `x30`, `sp`.
    pub general: [u64; 32],
}

/// Where in `user_regs_struct` (x86-64) the DWARF registers 0 to 15 are, in words.
const X86_64_SLOTS: [usize; 16] = [10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0];
const X86_64_RIP: usize = 16;
const X86_64_FS_BASE: usize = 21;
const AARCH64_PC: usize = 32;

impl Registers {
    fn parse(bytes: &[u8], machine: Machine) -> Option<Self> {
        let word = |index: usize| u64_at(bytes, index * 8);
        let mut general = [0; 32];
        let pc = match machine {
            Machine::X86_64 => {
                for (register, slot) in general.iter_mut().zip(X86_64_SLOTS) {
                    *register = word(slot)?;
                }
                word(X86_64_RIP)?
            }
            Machine::Aarch64 => {
                for (slot, register) in general.iter_mut().enumerate() {
                    *register = word(slot)?;
                }
                word(AARCH64_PC)?
            }
        };
        Some(Self { pc, general })
    }
}

/// A thread at the moment of the dump.
#[derive(Clone, Debug)]
pub struct CoreThread {
    /// Thread id as the kernel numbers it.
    pub id: u32,
    /// The signal being delivered to this thread, 0 for none. Since Linux 5.16 or so every thread names the fatal one.
    pub signal: u16,
    /// Its registers.
    pub registers: Registers,
    /// The thread pointer (`fs_base`), or `tpidr_el0` (aarch64); 0 where it is not known. On x86-64 it is also the
    /// thread's pthread handle.
    pub thread_pointer: u64,
}

/// What `siginfo_t` says about the fatal signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalInfo {
    /// Signal number.
    pub number: i32,
    /// `si_code`: why it was sent.
    pub code: i32,
    /// `si_addr`; means an address only for a signal that the processor raised.
    pub address: u64,
}

/// `si_code` of kill(2), sigqueue(3) and tgkill(2).
const SENT: [i32; 3] = [0, -1, -6];

impl SignalInfo {
    /// Who sent it, for a signal that a process sent: `si_pid` and `si_uid` stand where the address is in others.
    pub fn sender(&self) -> Option<SignalSender> {
        SENT.contains(&self.code).then_some(SignalSender {
            pid: self.address as u32,
            uid: (self.address >> 32) as u32,
        })
    }

    /// Parses a `siginfo_t`, from a note or from the stack of a signal handler.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            number: i32_at(bytes, 0)?,
            code: i32_at(bytes, 8)?,
            address: u64_at(bytes, 16)?,
        })
    }
}

/// A file mapped into the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Where in the file `start` is, in bytes.
    pub file_offset: u64,
    /// Path at the time of the crash; ends in ` (deleted)` when the file was gone.
    pub path: String,
}

/// Who crashed.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// `comm` of the process: up to 15 bytes of the executable's name, or what the program made of it.
    pub name: String,
    /// The first 80 bytes of the command line.
    pub arguments: String,
}

/// All that the notes say.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) threads: Vec<CoreThread>,
    pub(super) process: Option<Process>,
    pub(super) signal: Option<SignalInfo>,
    pub(super) mappings: Vec<Mapping>,
    pub(super) auxiliary: Vec<(u64, u64)>,
    pub(super) code_mask: u64,
    /// What is left of the memory, in a minicore.
    pub(super) minicore: Option<Kept>,
    /// Threads beyond the cap.
    pub(super) threads_omitted: u64,
}

impl Notes {
    /// Takes in one note of a `PT_NOTE` segment.
    pub(super) fn add(&mut self, note: &Note, machine: Machine, max_threads: usize) {
        match (note.name, note.kind) {
            (b"CORE", NT_PRSTATUS) if self.threads.len() >= max_threads => self.threads_omitted += 1,
            (b"CORE", NT_PRSTATUS) => self.threads.extend(thread(note.description, machine)),
            (b"CORE", NT_PRPSINFO) => self.process = process(note.description),
            (b"CORE", NT_SIGINFO) => self.signal = SignalInfo::parse(note.description),
            (b"CORE", NT_FILE) => self.mappings = mappings(note.description),
            (b"CORE", NT_AUXV) => self.auxiliary = auxiliary(note.description),
            (OWN_NAME, NT_MINICORE) => self.minicore = Kept::parse(note.description),
            (b"LINUX", NT_ARM_PAC_MASK) => self.code_mask = u64_at(note.description, 8).unwrap_or(0),
            (b"LINUX", NT_ARM_TLS) if self.threads_omitted == 0 => self.set_thread_pointer(note.description),
            _ => {}
        }
    }

    /// The notes of a thread follow its registers.
    fn set_thread_pointer(&mut self, description: &[u8]) {
        if let Some((thread, pointer)) = self.threads.last_mut().zip(u64_at(description, 0)) {
            thread.thread_pointer = pointer;
        }
    }
}

fn thread(bytes: &[u8], machine: Machine) -> Option<CoreThread> {
    let registers = bytes.get(PRSTATUS_REGISTERS..)?;
    Some(CoreThread {
        id: u32_at(bytes, 32)?,
        signal: u16_at(bytes, 12)?,
        registers: Registers::parse(registers, machine)?,
        thread_pointer: match machine {
            Machine::X86_64 => u64_at(registers, X86_64_FS_BASE * 8)?,
            Machine::Aarch64 => 0,
        },
    })
}

fn process(bytes: &[u8]) -> Option<Process> {
    Some(Process {
        pid: u32_at(bytes, 24)?,
        name: c_string(bytes.get(40..56)?),
        arguments: c_string(bytes.get(56..136)?).trim_end().to_owned(),
    })
}

/// `NT_FILE`: a count, the unit of file offsets, `count` triples of start, end and offset, then `count` C strings.
fn mappings(bytes: &[u8]) -> Vec<Mapping> {
    let (Some(count), Some(unit)) = (u64_at(bytes, 0), u64_at(bytes, 8)) else {
        return Vec::new();
    };
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(bytes.len() / 24);
    let mut names = bytes.get(16 + count * 24..).unwrap_or_default();
    let mut mappings = Vec::with_capacity(count);
    for triple in bytes.get(16..).unwrap_or_default().chunks_exact(24).take(count) {
        let name_end = memchr::memchr(0, names).unwrap_or(names.len());
        let (name, rest) = names.split_at(name_end);
        names = rest.get(1..).unwrap_or_default();
        let (Some(start), Some(end), Some(offset)) = (u64_at(triple, 0), u64_at(triple, 8), u64_at(triple, 16)) else {
            break;
        };
        if start < end {
            let path = String::from_utf8_lossy(name).into_owned();
            mappings.push(Mapping {
                start,
                end,
                file_offset: offset.saturating_mul(unit),
                path,
            });
        }
    }
    mappings
}

fn auxiliary(bytes: &[u8]) -> Vec<(u64, u64)> {
    let pairs = bytes
        .chunks_exact(16)
        .filter_map(|pair| Some((u64_at(pair, 0)?, u64_at(pair, 8)?)));
    pairs.take_while(|(kind, _)| *kind != 0).collect()
}
