//! ELF cores small enough to be written by hand: registers, mapped files and a little memory.

use std::path::Path;

use whycrash_evidence::{Artifact, Evidence, Limits};
use whycrash_symbols::{Sources, Symbols};

/// A core to be.
pub struct TinyCore {
    /// `e_machine`.
    machine: u16,
    pc: u64,
    /// The general registers by DWARF number.
    general: [u64; 32],
    /// Where the threads are that did not crash; their general registers are the same.
    others: Vec<u64>,
    mappings: Vec<(u64, u64, u64, String)>,
    segments: Vec<Segment>,
    notes: Vec<u8>,
}

struct Segment {
    start: u64,
    size: u64,
    flags: u32,
    bytes: Vec<u8>,
}

/// Kernel id of the crashed thread; the others count from it.
pub const THREAD_ID: u32 = 4711;
const X86_64: u16 = 62;
const AARCH64: u16 = 183;
pub const READ: u32 = 4;
pub const WRITE: u32 = 2;
pub const EXECUTE: u32 = 1;
/// Where DWARF registers 0 to 15 are in `user_regs_struct`.
const X86_64_SLOTS: [usize; 16] = [10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0];
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;

impl TinyCore {
    pub fn x86_64(pc: u64) -> Self {
        Self::of(X86_64, pc)
    }

    pub fn aarch64(pc: u64) -> Self {
        Self::of(AARCH64, pc)
    }

    fn of(machine: u16, pc: u64) -> Self {
        Self {
            machine,
            pc,
            general: [0; 32],
            others: Vec::new(),
            mappings: Vec::new(),
            segments: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub fn register(mut self, number: usize, value: u64) -> Self {
        self.general[number] = value;
        self
    }

    /// Another thread.
    pub fn thread(mut self, pc: u64) -> Self {
        self.others.push(pc);
        self
    }

    /// A file mapped from its offset on, and those of its first bytes that are in the core.
    pub fn map(mut self, start: u64, size: u64, offset: u64, flags: u32, path: &str, bytes: Vec<u8>) -> Self {
        self.mappings.push((start, start + size, offset, path.to_owned()));
        self.segment(start, size, flags, bytes)
    }

    /// Memory whose first bytes are in the core.
    pub fn segment(mut self, start: u64, size: u64, flags: u32, bytes: Vec<u8>) -> Self {
        self.segments.push(Segment {
            start,
            size,
            flags,
            bytes,
        });
        self
    }

    pub fn note(mut self, name: &str, kind: u32, description: &[u8]) -> Self {
        self.push_note(name, kind, description);
        self
    }

    fn push_note(&mut self, name: &str, kind: u32, description: &[u8]) {
        let padded = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        let name = format!("{name}\0");
        for word in [name.len() as u32, description.len() as u32, kind] {
            self.notes.extend(word.to_le_bytes());
        }
        self.notes.extend(padded(name.as_bytes()));
        self.notes.extend(padded(description));
    }

    fn status(&self, id: u32, pc: u64) -> Vec<u8> {
        let mut status = vec![0; 112];
        status[12] = 11;
        status[32..36].copy_from_slice(&id.to_le_bytes());
        let mut words = [0_u64; 34];
        if self.machine == X86_64 {
            for (slot, value) in X86_64_SLOTS.into_iter().zip(self.general) {
                words[slot] = value;
            }
            words[16] = pc;
            status.extend(words[..27].iter().flat_map(|word| word.to_le_bytes()));
        } else {
            words[..32].copy_from_slice(&self.general);
            words[32] = pc;
            status.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        }
        status.extend([0; 8]);
        status
    }

    fn files(&self) -> Vec<u8> {
        let mut files: Vec<u8> = [self.mappings.len() as u64, 1]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        for (start, end, offset, _) in &self.mappings {
            files.extend([start, end, offset].iter().flat_map(|word| word.to_le_bytes()));
        }
        for (.., path) in &self.mappings {
            files.extend(path.as_bytes());
            files.push(0);
        }
        files
    }

    /// What is read of it with the symbols in this folder, which it is written to.
    pub fn read(self, folder: &Path) -> Evidence {
        let path = folder.join("core");
        std::fs::write(&path, self.bytes()).expect("room");
        let sources = Sources {
            folders: vec![folder.to_owned()],
            ..Sources::default()
        };
        let symbols = Symbols::new(sources);
        symbols.read(&Artifact::new("core", &path), &Limits::default()).evidence
    }

    /// The file.
    pub fn bytes(mut self) -> Vec<u8> {
        let files = self.files();
        let later = std::mem::take(&mut self.notes);
        for (id, pc) in (THREAD_ID..).zip(std::iter::once(self.pc).chain(self.others.clone())) {
            let status = self.status(id, pc);
            self.push_note("CORE", 1, &status);
        }
        self.notes.extend(later);
        if !self.mappings.is_empty() {
            self.push_note("CORE", 0x4649_4c45, &files);
        }
        self.segments.sort_by_key(|segment| segment.start);
        let count = self.segments.len() + 1;
        let mut offset = HEADER + count * PROGRAM_HEADER;
        let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        file.extend(4_u16.to_le_bytes());
        file.extend(self.machine.to_le_bytes());
        file.extend(1_u32.to_le_bytes());
        file.extend([0_u64, HEADER as u64, 0].iter().flat_map(|word| word.to_le_bytes()));
        file.extend(0_u32.to_le_bytes());
        for half in [HEADER, PROGRAM_HEADER, count, 0, 0, 0] {
            file.extend((half as u16).to_le_bytes());
        }
        let mut header = |kind: u32, flags: u32, address: u64, bytes: usize, size: u64| {
            file.extend([kind, flags].iter().flat_map(|word| word.to_le_bytes()));
            let words = [offset as u64, address, 0, bytes as u64, size, 4];
            file.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            offset += bytes;
        };
        header(4, 0, 0, self.notes.len(), 0);
        for segment in &self.segments {
            header(1, segment.flags, segment.start, segment.bytes.len(), segment.size);
        }
        file.extend(&self.notes);
        file.extend(self.segments.iter().flat_map(|segment| &segment.bytes));
        file
    }
}

pub fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
