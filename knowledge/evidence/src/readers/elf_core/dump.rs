//! A core as a whole: its threads, what was mapped, and its memory by address.

use std::fs::File;
use std::io::{self, Read};

use super::caps::{MODULES, PIECE_BYTES, SEGMENTS};
use super::headers::{
    HEADER_SIZE, Header, Machine, PF_CONTINUES, PROGRAM_HEADER_SIZE, PT_LOAD, PT_NOTE, ProgramHeader,
};
use super::held::{self, Held};
use super::image::{Image, read_fully};
use super::kept::Kept;
use super::modules::{CoreModule, Modules, modules};
use super::note_reader::NoteReader;
use super::notes::{CoreThread, Mapping, Notes, Process, SignalInfo};
use super::record::Record;
use crate::readers::Input;
use crate::readers::input::decompressed;
use crate::{Limits, Problem};

/// A range of the process's memory, as its program header tells it.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Whether the program could read it.
    pub readable: bool,
    /// Whether the program could write it.
    pub writable: bool,
    /// Whether the program could execute it.
    pub executable: bool,
}

/// An opened core dump.
#[derive(Debug)]
pub struct CoreDump {
    /// The processor it ran on.
    pub machine: Machine,
    /// Who crashed, when the note is there.
    pub process: Option<Process>,
    /// The fatal signal, when the note is there.
    pub signal: Option<SignalInfo>,
    /// Every thread; the one that got the signal first (the kernel writes the dumping thread first).
    pub threads: Vec<CoreThread>,
    /// Files mapped, by ascending address.
    pub mappings: Vec<Mapping>,
    /// Binaries mapped, by ascending address.
    pub modules: Vec<CoreModule>,
    /// Memory ranges, by ascending address.
    pub segments: Vec<Segment>,
    /// Mask of the pointer-authentication bits in return addresses (aarch64); 0 where there are none.
    pub code_mask: u64,
    pub(super) auxiliary: Vec<(u64, u64)>,
    /// The memory that is in the core, by ascending address.
    pub(super) held: Vec<Held>,
    pub(super) image: Image,
    /// Where the memory is read in place of the image: there it is at its addresses.
    memory: Option<File>,
    /// Where the notes are in the image: offset and size.
    pub(super) notes: Vec<(u64, u64)>,
    /// What it says about itself, if it is a minicore.
    pub(super) minicore: Option<Kept>,
    /// Whether it ends before it should.
    pub(super) is_torn: bool,
    /// What is read, once somebody wants to know.
    pub(super) record: Option<Record>,
}

/// Keys of the auxiliary vector (getauxval(3)) that help to read a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auxiliary {
    /// `AT_PHDR`: address of the executable's program headers.
    ProgramHeaders = 3,
    /// `AT_ENTRY`: address of the executable's entry point.
    Entry = 9,
    /// `AT_RANDOM`: address of 16 random bytes, right before the strings that the process was started with.
    Random = 25,
    /// `AT_EXECFN`: address of the executable's path.
    Path = 31,
    /// `AT_SYSINFO_EHDR`: address of the vDSO.
    Vdso = 33,
}

impl CoreDump {
    /// Opens a core, compressed or not. Problems are defects that leave something to read; the error is one that
    /// leaves nothing.
    pub fn open(input: &Input, limits: &Limits) -> Result<(Self, Vec<Problem>), Problem> {
        Self::from_image(Image::open(input, limits), limits)
    }

    /// Reads a core from a stream that can not be rewound, such as the kernel's pipe to a core handler, without
    /// writing it down; compressed or not.
    pub fn from_stream(stream: impl Read, limits: &Limits) -> Result<(Self, Vec<Problem>), Problem> {
        let image = decompressed(stream, limits).and_then(|stream| Image::keep(stream, limits));
        Self::from_image(image, limits)
    }

    /// A process that the kernel is dumping: `head` is how its core begins, as [`super::Head`] has it, and `memory` its
    /// `/proc/PID/mem`. Of that is read what would be in the core, and nothing else.
    pub fn of_dying(head: &[u8], memory: File, limits: &Limits) -> Result<(Self, Vec<Problem>), Problem> {
        let (mut core, mut problems) = Self::without_modules(Image::keep(head, limits), limits)?;
        for held in &mut core.held {
            held.offset = held.start;
        }
        core.memory = Some(memory);
        core.find_modules(&mut problems);
        Ok((core, problems))
    }

    fn from_image(
        image: io::Result<(Image, Option<Problem>)>,
        limits: &Limits,
    ) -> Result<(Self, Vec<Problem>), Problem> {
        let (mut core, mut problems) = Self::without_modules(image, limits)?;
        problems.extend(core.cut_to_length());
        core.find_modules(&mut problems);
        Ok((core, problems))
    }

    fn without_modules(
        image: io::Result<(Image, Option<Problem>)>,
        limits: &Limits,
    ) -> Result<(Self, Vec<Problem>), Problem> {
        let (image, damage) =
            image.map_err(|error| Problem::new("unreadable", format!("the core can not be read: {error}")))?;
        let mut problems = Vec::from_iter(damage);
        let header = Header::parse(&image.bytes(0, HEADER_SIZE)).filter(Header::is_core);
        let header = header.ok_or_else(|| {
            Problem::new(
                "not-a-core",
                "the file has no header of a 64-bit little-endian ELF core; pass the core itself",
            )
        })?;
        let machine = header.machine().ok_or_else(|| {
            Problem::new(
                "unknown-machine",
                "the core is of another processor than x86-64 and aarch64; it is not read",
            )
        })?;
        let program_headers = program_headers(&image, &header, &mut problems);
        let mut notes = read_notes(&image, &program_headers, machine, limits, &mut problems);
        notes.mappings.sort_by_key(|mapping| mapping.start);
        let note_segments = program_headers.iter().filter(|header| header.kind == PT_NOTE);
        let note_places = note_segments.map(|header| (header.offset, header.file_size)).collect();
        let (segments, mut held) = segments(program_headers);
        if let Some(kept) = &notes.minicore {
            held = held::only(&held, &kept.ranges);
            problems.extend(kept.problem());
        }
        let core = Self {
            machine,
            process: notes.process,
            signal: notes.signal,
            threads: notes.threads,
            mappings: notes.mappings,
            modules: Vec::new(),
            segments,
            code_mask: notes.code_mask,
            auxiliary: notes.auxiliary,
            held,
            image,
            memory: None,
            notes: note_places,
            minicore: notes.minicore,
            is_torn: false,
            record: None,
        };
        Ok((core, problems))
    }

    fn find_modules(&mut self, problems: &mut Vec<Problem>) {
        let Modules {
            found,
            omitted,
            names_omitted,
        } = modules(self);
        self.modules = found;
        if names_omitted {
            let message = "the dynamic linker's list has more names than are read; some binaries have none";
            problems.push(Problem::new("limit-modules", message));
        }
        if omitted > 0 {
            problems.push(Problem::new(
                "limit-modules",
                format!("{omitted} mapped binaries beyond the first {MODULES} were left out"),
            ));
        }
    }

    /// A core without a header of its own.
    pub(super) fn of_parts(
        machine: Machine,
        threads: Vec<CoreThread>,
        mappings: Vec<Mapping>,
        segments: Vec<Segment>,
        held: Vec<Held>,
        auxiliary: Vec<(u64, u64)>,
        image: Image,
    ) -> Self {
        Self {
            machine,
            process: None,
            signal: None,
            threads,
            mappings,
            modules: Vec::new(),
            segments,
            code_mask: 0,
            auxiliary,
            held,
            image,
            memory: None,
            notes: Vec::new(),
            minicore: None,
            is_torn: false,
            record: None,
        }
    }

    /// A value of the auxiliary vector.
    pub fn auxiliary(&self, key: Auxiliary) -> Option<u64> {
        self.auxiliary
            .iter()
            .find(|(kind, _)| *kind == key as u64)
            .map(|(_, value)| *value)
    }

    /// The segment an address is in.
    pub fn segment_at(&self, address: u64) -> Option<&Segment> {
        let after = self.segments.partition_point(|segment| segment.start <= address);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        (address < segment.end).then_some(segment)
    }

    /// The file mapping an address is in.
    pub fn mapping_at(&self, address: u64) -> Option<&Mapping> {
        let after = self.mappings.partition_point(|mapping| mapping.start <= address);
        let mapping = self.mappings.get(after.checked_sub(1)?)?;
        (address < mapping.end).then_some(mapping)
    }

    /// Index in [`Self::modules`] of the binary an address is in.
    pub fn module_index_at(&self, address: u64) -> Option<usize> {
        let index = self
            .modules
            .partition_point(|module| module.start <= address)
            .checked_sub(1)?;
        (address < self.modules.get(index)?.end).then_some(index)
    }

    /// The binary an address is in.
    pub fn module_at(&self, address: u64) -> Option<&CoreModule> {
        self.modules.get(self.module_index_at(address)?)
    }

    /// Fills `buffer` with the memory at `address` as far as the core holds it; says how many bytes that were.
    /// Memory that the kernel did not dump is not zero: it is not there.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let read = self.read_unnoticed(address, buffer);
        if let Some(record) = &self.record {
            record.note(address, read as u64);
        }
        read
    }

    pub(super) fn read_unnoticed(&self, address: u64, buffer: &mut [u8]) -> usize {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let held = address
                .checked_add(filled as u64)
                .and_then(|at| Some((at, held::at(&self.held, at)?)));
            let Some((at, held)) = held else { break };
            let available = (held.end - at).min(rest.len() as u64) as usize;
            let part = rest.get_mut(..available).unwrap_or_default();
            let offset = held.offset.saturating_add(at - held.start);
            let read = match &self.memory {
                Some(memory) => read_fully(memory, offset, part),
                None => self.image.read_at(offset, part),
            };
            filled += read;
            if read == 0 {
                break;
            }
        }
        filled
    }

    /// The 64-bit word at an address.
    pub fn word(&self, address: u64) -> Option<u64> {
        let mut word = [0; 8];
        (self.read(address, &mut word) == word.len()).then(|| u64::from_le_bytes(word))
    }

    /// `len` bytes at an address, all or none; never more than 64 MiB.
    pub fn bytes(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        let segment = self.segment_at(address)?;
        // A wild length must not cost more memory than the core can fill.
        let reachable = self.segments.last()?.end.saturating_sub(segment.start);
        let fillable = self.memory.as_ref().map_or(self.image.len(), |_| u64::MAX);
        if len as u64 > reachable.min(fillable).min(PIECE_BYTES) {
            return None;
        }
        let mut bytes = vec![0; len];
        (self.read(address, &mut bytes) == len).then_some(bytes)
    }

    /// A torn upload, a full disk or `RLIMIT_CORE` cut a core anywhere; its headers still say how long it was.
    fn cut_to_length(&mut self) -> Option<Problem> {
        let there = self.image.len();
        let mut expected = 0;
        for held in &mut self.held {
            expected = expected.max(held.offset.saturating_add(held.end - held.start));
            held.end = held
                .end
                .min(held.start.saturating_add(there.saturating_sub(held.offset)));
        }
        self.held.retain(|held| held.start < held.end);
        self.is_torn = there < expected;
        self.is_torn.then(|| {
            Problem::new(
                "truncated",
                format!(
                    "the core ends after {there} of {expected} bytes, so some memory is missing; upload the whole file, or \
                     raise the limit it was cut by (ulimit -c, disk space)"
                ),
            )
        })
    }
}

fn program_headers(image: &Image, header: &Header, problems: &mut Vec<Problem>) -> Vec<ProgramHeader> {
    let count = header.program_header_count(|offset| image.bytes(offset, 64));
    if count > SEGMENTS {
        problems.push(Problem::new(
            "limit-segments",
            format!("the core names {count} segments; only the first {SEGMENTS} were read"),
        ));
    }
    if count > 0 && u64::from(header.program_header_size) != PROGRAM_HEADER_SIZE {
        problems.push(Problem::new(
            "damaged-header",
            format!(
                "the core says its program headers have {} bytes each; they are read as {PROGRAM_HEADER_SIZE}, as every \
                 64-bit ELF file has them",
                header.program_header_size
            ),
        ));
    }
    let table = image.bytes(header.program_headers, count.min(SEGMENTS) * PROGRAM_HEADER_SIZE);
    let found: Vec<_> = table
        .chunks_exact(PROGRAM_HEADER_SIZE as usize)
        .filter_map(ProgramHeader::parse)
        .collect();
    if (found.len() as u64) < count.min(SEGMENTS) {
        problems.push(Problem::new(
            "truncated",
            format!(
                "the core ends within its program headers ({} of {count} are there); upload the whole file",
                found.len()
            ),
        ));
    }
    found
}

fn read_notes(
    image: &Image,
    program_headers: &[ProgramHeader],
    machine: Machine,
    limits: &Limits,
    problems: &mut Vec<Problem>,
) -> Notes {
    let mut notes = Notes::default();
    let mut reader = NoteReader::new(image);
    let (mut there, mut named) = (0, 0);
    for segment in program_headers.iter().filter(|header| header.kind == PT_NOTE) {
        named = segment.file_size.saturating_add(named);
        there = image
            .len()
            .saturating_sub(segment.offset)
            .min(segment.file_size)
            .saturating_add(there);
        reader.read(segment, |note| notes.add(note, machine, limits.threads));
    }
    if there < named {
        problems.push(Problem::new(
            "truncated-notes",
            format!(
                "only {there} of {named} bytes of notes (threads, registers, mapped files) are there; upload the whole core"
            ),
        ));
    }
    problems.extend(reader.problem());
    if notes.threads.is_empty() {
        problems.push(Problem::new(
            "no-threads",
            "the core has no thread's registers: no stack can be read from it",
        ));
    }
    if notes.threads_omitted > 0 {
        problems.push(Problem::new(
            "limit-threads",
            format!(
                "{} threads beyond the first {} were left out",
                notes.threads_omitted, limits.threads
            ),
        ));
    }
    notes
}

/// The ranges of memory, and what of them is in the core.
fn segments(mut program_headers: Vec<ProgramHeader>) -> (Vec<Segment>, Vec<Held>) {
    program_headers.retain(|header| header.kind == PT_LOAD && header.memory_size > 0);
    program_headers.sort_by_key(|header| header.address);
    let mut segments: Vec<Segment> = Vec::with_capacity(program_headers.len());
    let mut held = Vec::new();
    for header in &program_headers {
        let start = header.address;
        let end = start.saturating_add(header.memory_size);
        let in_core = start.saturating_add(header.file_size.min(header.memory_size));
        if in_core > start {
            held.push(Held {
                start,
                end: in_core,
                offset: header.offset,
            });
        }
        let continues = header.flags & PF_CONTINUES != 0;
        match segments.last_mut().filter(|before| continues && before.end == start) {
            Some(before) => before.end = end,
            None => segments.push(Segment {
                start,
                end,
                readable: header.flags & 4 != 0,
                writable: header.flags & 2 != 0,
                executable: header.flags & 1 != 0,
            }),
        }
    }
    (segments, held)
}
