//! Source lines of GPU code, from the line tables of the cubins in a dump.
//!
//! The compiler writes an ordinary `.debug_line` (DWARF 2) with one sequence for each function, whose start is left to
//! a relocation (checked against ptxas 12.9). In an image that the driver relocated it may be filled in already.

use std::collections::{BTreeMap, HashMap};

use gimli::{DebugLine, DebugLineOffset, EndianSlice, IncompleteLineProgram, LineProgramHeader, LineRow, LittleEndian};
use object::elf::FileHeader64;
use object::read::elf::ElfFile;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationTarget, SymbolIndex};
use whycrash_evidence::model::{Frame, FrameKind};
use whycrash_evidence::readers::gpu_core::{Image, demangled};
use whycrash_evidence::{Evidence, Problem};

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Elf<'a> = ElfFile<'a, FileHeader64<Endianness>>;
type ElfSection<'a> = object::read::elf::ElfSection<'a, 'a, FileHeader64<Endianness>>;

/// Rows of all images together: one for each instruction of 64 MiB of code.
const MAX_ROWS: usize = 4 << 20;
/// Bytes of all paths and function names together: a table may repeat them without end.
const MAX_TEXT: usize = 64 << 20;
/// Bytes of one path (`PATH_MAX`).
const MAX_PATH: usize = 4096;
/// Bytes of one table, unpacked.
const MAX_TABLE: u64 = 512 << 20;
/// Sequences of one function that are kept: one, and one more for each image that has it too.
const MAX_SEQUENCES: usize = 16;
/// Where the sequences of functions without an address are put, so that they can be told apart: above every address of
/// a device, one after the other.
const UNPLACED: u64 = 1 << 56;
/// Distance of two of them; code of one function is far shorter.
const STRIDE: u64 = 1 << 32;

/// A place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// Among [`Lines::files`].
    file: Option<u32>,
    line: u32,
}

/// The lines of one stretch of code.
#[derive(Debug)]
struct Sequence {
    start: u64,
    end: u64,
    /// By ascending address.
    rows: Vec<(u64, Place)>,
}

/// The lines of all images.
#[derive(Debug)]
struct Lines {
    files: Vec<String>,
    /// By address on the device.
    placed: BTreeMap<u64, Sequence>,
    /// By demangled name of the function, addresses counted from its start.
    by_function: HashMap<String, Vec<Sequence>>,
    rows_left: usize,
    text_left: usize,
    /// Set when something did not fit.
    is_cut: bool,
}

/// The code of an image: start, size and function of its sections, by address.
struct Code<'a>(Vec<(u64, u64, &'a str)>);

/// Adds files and lines to the frames and faults of a dump's reading; gives a problem when not all tables were read.
pub(crate) fn add(images: &[Image], evidence: &mut Evidence) -> Option<Problem> {
    let mut lines = Lines::new();
    for image in images {
        lines.add(image);
    }
    for core in &mut evidence.gpu_cores {
        let (pc, offset) = (core.pc.map(|pc| pc.0), core.offset.map(|offset| offset.0));
        if let Some(place) = lines.find(pc, core.kernel.as_deref(), offset) {
            (core.file, core.line) = (lines.file(place), Some(place.line));
        }
    }
    for thread in &mut evidence.threads {
        for (level, frame) in thread.frames.iter_mut().enumerate() {
            lines.add_to(frame, level > 0);
        }
    }
    lines.is_cut.then(|| {
        let message = "the dump's images have more line tables than are read; some addresses will have no line";
        Problem::new("limit-gpu-lines", message)
    })
}

impl Lines {
    fn new() -> Self {
        Self {
            files: Vec::new(),
            placed: BTreeMap::new(),
            by_function: HashMap::new(),
            rows_left: MAX_ROWS,
            text_left: MAX_TEXT,
            is_cut: false,
        }
    }

    fn file(&self, place: Place) -> Option<String> {
        self.files.get(place.file? as usize).cloned()
    }

    fn add_to(&self, frame: &mut Frame, is_caller: bool) {
        if frame.kind != FrameKind::Gpu {
            return;
        }
        // A return address may be the next line's.
        let within = |address: u64| address.saturating_sub(u64::from(is_caller));
        let address = frame.address.map(|address| within(address.0));
        let offset = frame.offset.map(|offset| within(offset.0));
        if let Some(place) = self.find(address, frame.function.as_deref(), offset) {
            (frame.file, frame.line) = (self.file(place), Some(place.line));
        }
    }

    fn find(&self, address: Option<u64>, function: Option<&str>, offset: Option<u64>) -> Option<Place> {
        let placed = address.and_then(|address| self.placed.range(..=address).next_back()?.1.at(address));
        placed.or_else(|| {
            let offset = offset?;
            let sequences = self.by_function.get(function?)?;
            sequences.iter().find_map(|sequence| sequence.at(offset))
        })
    }

    fn add(&mut self, image: &Image) -> Option<()> {
        let file = Elf::parse(&*image.data).ok()?;
        let section = file.section_by_name(".debug_line")?;
        let packed = section.compressed_data().ok()?;
        if packed.uncompressed_size > MAX_TABLE {
            self.is_cut = true;
            return None;
        }
        let mut table = packed.decompress().ok()?.into_owned();
        let code = Code::of(&file);
        let functions = self.place_functions(image, &file, &section, &code, &mut table);
        for sequence in self.sequences(&table) {
            self.keep(sequence, &functions, &code);
        }
        Some(())
    }

    /// Gives the sequences of functions that have no address yet one of their own each; says which functions those are.
    fn place_functions(
        &mut self,
        image: &Image,
        file: &Elf<'_>,
        section: &ElfSection<'_>,
        code: &Code<'_>,
        table: &mut [u8],
    ) -> Vec<String> {
        let mut functions = Vec::new();
        for (at, relocation) in section.relocations() {
            let RelocationTarget::Symbol(symbol) = relocation.target() else {
                continue;
            };
            let slot = usize::try_from(at)
                .ok()
                .and_then(|at| table.get_mut(at..)?.first_chunk_mut());
            let Some((slot, function)) = slot.zip(function_of(file, symbol)) else {
                continue;
            };
            if image.relocated && code.contains(u64::from_le_bytes(*slot)) {
                continue;
            }
            if !self.pay_for(function.len()) {
                break;
            }
            let start = UNPLACED + functions.len() as u64 * STRIDE + (relocation.addend() as u64 & (STRIDE - 1));
            *slot = start.to_le_bytes();
            functions.push(demangled(function));
        }
        functions
    }

    fn keep(&mut self, sequence: Sequence, functions: &[String], code: &Code<'_>) {
        let (function, sequence) = if let Some(above) = sequence.start.checked_sub(UNPLACED) {
            let base = UNPLACED + above / STRIDE * STRIDE;
            let function = functions.get((above / STRIDE) as usize).cloned();
            (function, sequence.moved_down(base))
        } else if code.contains(sequence.start) {
            self.placed.entry(sequence.start).or_insert(sequence);
            return;
        } else {
            (code.only_function().map(demangled), sequence)
        };
        let Some(function) = function else { return };
        let list = self.by_function.entry(function).or_default();
        if list.len() < MAX_SEQUENCES {
            list.push(sequence);
        }
    }

    /// Takes the size of a text off what is left; false when it does not fit.
    fn pay_for(&mut self, bytes: usize) -> bool {
        let left = self.text_left.checked_sub(bytes);
        self.is_cut |= left.is_none();
        self.text_left = left.unwrap_or(self.text_left);
        left.is_some()
    }

    /// All sequences of a table; ends at the first part that can not be read.
    fn sequences(&mut self, table: &[u8]) -> Vec<Sequence> {
        let lines = DebugLine::new(table, LittleEndian);
        let mut sequences = Vec::new();
        let mut offset = 0;
        while offset < table.len() {
            let Ok(program) = lines.program(DebugLineOffset(offset), 8, None, None) else {
                break;
            };
            let header = program.header();
            let length = usize::from(header.format().initial_length_size()).saturating_add(header.unit_length());
            self.rows(program, &mut sequences);
            offset = offset.saturating_add(length);
        }
        sequences
    }

    fn rows(&mut self, program: IncompleteLineProgram<Slice<'_>>, sequences: &mut Vec<Sequence>) {
        let mut files = HashMap::new();
        let mut rows = program.rows();
        let mut open: Option<Sequence> = None;
        while let Ok(Some((header, row))) = rows.next_row() {
            if self.rows_left == 0 {
                self.is_cut = true;
                return;
            }
            self.rows_left -= 1;
            let address = row.address();
            if row.end_sequence() {
                sequences.extend(open.take().map(|sequence| Sequence {
                    end: address,
                    ..sequence
                }));
                continue;
            }
            let file = *files
                .entry(row.file_index())
                .or_insert_with(|| self.add_file(&path(header, row)?));
            let line = row.line().map_or(0, |line| line.get() as u32);
            let sequence = open.get_or_insert_with(|| Sequence {
                start: address,
                end: address,
                rows: Vec::new(),
            });
            sequence.rows.push((address, Place { file, line }));
        }
    }

    fn add_file(&mut self, path: &str) -> Option<u32> {
        if !self.pay_for(path.len()) {
            return None;
        }
        self.files.push(path.to_owned());
        u32::try_from(self.files.len() - 1).ok()
    }
}

impl<'a> Code<'a> {
    fn of(file: &Elf<'a>) -> Self {
        let sections = file.sections().filter_map(|section| {
            let function = section.name().ok()?.strip_prefix(".text.")?;
            Some((section.address(), section.size(), function))
        });
        let mut sections: Vec<_> = sections.collect();
        sections.sort_unstable();
        Self(sections)
    }

    /// Whether an address is in code that has a place.
    fn contains(&self, address: u64) -> bool {
        let after = self.0.partition_point(|(start, ..)| *start <= address);
        let below = after.checked_sub(1).and_then(|index| self.0.get(index));
        below.is_some_and(|(start, size, _)| *start != 0 && address - start < *size)
    }

    /// Mangled name of the function of an image that has but one.
    fn only_function(&self) -> Option<&'a str> {
        match *self.0 {
            [(_, _, function)] => Some(function),
            _ => None,
        }
    }
}

/// Mangled name of the function that a symbol is, or whose section it is.
fn function_of<'a>(file: &Elf<'a>, symbol: SymbolIndex) -> Option<&'a str> {
    let symbol = file.symbol_by_index(symbol).ok()?;
    let name = symbol
        .name()
        .ok()
        .filter(|name| !name.is_empty() && !name.starts_with(".text."));
    let section = || {
        let section = file.section_by_index(symbol.section_index()?).ok()?;
        section.name().ok()?.strip_prefix(".text.")
    };
    name.or_else(section)
}

impl Sequence {
    fn at(&self, address: u64) -> Option<Place> {
        if !(self.start..self.end).contains(&address) {
            return None;
        }
        let after = self.rows.partition_point(|(start, _)| *start <= address);
        self.rows
            .get(after.checked_sub(1)?)
            .map(|(_, place)| *place)
            .filter(|place| place.line != 0)
    }

    /// The same with addresses counted from `base`.
    fn moved_down(mut self, base: u64) -> Self {
        let down = |address: &mut u64| *address = address.saturating_sub(base);
        down(&mut self.start);
        down(&mut self.end);
        self.rows.iter_mut().for_each(|(address, _)| down(address));
        self
    }
}

/// The path of a row's file, no longer than is shown.
fn path(header: &LineProgramHeader<Slice<'_>>, row: &LineRow) -> Option<String> {
    let text = |value| match value {
        gimli::AttributeValue::String(text) => Some(shown(Slice::slice(&text))),
        // The strings of DWARF 5 are in sections that line tables of GPU code do not use.
        _ => None,
    };
    let file = row.file(header)?;
    let name = text(file.path_name())?;
    let folder = file
        .directory(header)
        .and_then(text)
        .filter(|folder| !folder.is_empty());
    Some(match folder {
        Some(folder) if !name.starts_with('/') => format!("{folder}/{name}"),
        _ => name,
    })
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..MAX_PATH).unwrap_or(bytes)).into_owned()
}
