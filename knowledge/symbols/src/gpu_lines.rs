//! Source lines of GPU code, from the line tables of the cubins in a dump.
//!
//! The compiler writes an ordinary `.debug_line` (DWARF 2) with one sequence for each function, whose start is left to a
//! relocation (checked against ptxas 12.9). In an image that the driver relocated it may be filled in already.

use std::collections::HashMap;

use gimli::{DebugLine, DebugLineOffset, EndianSlice, LineProgramHeader, LineRow, LittleEndian};
use object::elf::FileHeader64;
use object::read::elf::ElfFile;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationTarget, SymbolIndex};
use whycrash_evidence::Evidence;
use whycrash_evidence::model::{Frame, FrameKind};
use whycrash_evidence::readers::gpu_core::{Image, demangled};

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Elf<'a> = ElfFile<'a, FileHeader64<Endianness>>;

/// Sequences of all images together.
const MAX_SEQUENCES: usize = 1 << 20;
/// Where the sequences of functions without an address are put, so that they can be told apart: above every address of
/// a device, one after the other.
const UNPLACED: u64 = 1 << 56;
/// Distance of two of them; code of one function is far shorter.
const STRIDE: u64 = 1 << 32;

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    file: Option<String>,
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
#[derive(Debug, Default)]
struct Lines {
    /// By address on the device.
    placed: Vec<Sequence>,
    /// By demangled name of the function, addresses counted from its start.
    by_function: HashMap<String, Vec<Sequence>>,
    count: usize,
}

/// Adds files and lines to the frames and faults of a dump's reading.
pub(crate) fn add(images: &[Image], evidence: &mut Evidence) {
    if images.is_empty() {
        return;
    }
    let mut lines = Lines::default();
    for image in images {
        lines.add(image);
    }
    for core in &mut evidence.gpu_cores {
        let (pc, offset) = (core.pc.map(|pc| pc.0), core.offset.map(|offset| offset.0));
        if let Some(place) = lines.find(pc, core.kernel.as_deref(), offset) {
            (core.file, core.line) = (place.file.clone(), Some(place.line));
        }
    }
    for thread in &mut evidence.threads {
        for (level, frame) in thread.frames.iter_mut().enumerate() {
            lines.add_to(frame, level > 0);
        }
    }
}

impl Lines {
    fn add_to(&self, frame: &mut Frame, is_caller: bool) {
        if frame.kind != FrameKind::Gpu {
            return;
        }
        // A return address may be the next line's.
        let within = |address: u64| address.saturating_sub(u64::from(is_caller));
        let address = frame.address.map(|address| within(address.0));
        let offset = frame.offset.map(|offset| within(offset.0));
        if let Some(place) = self.find(address, frame.function.as_deref(), offset) {
            (frame.file, frame.line) = (place.file.clone(), Some(place.line));
        }
    }

    fn find(&self, address: Option<u64>, function: Option<&str>, offset: Option<u64>) -> Option<&Place> {
        let placed = address.and_then(|address| self.placed.iter().find_map(|sequence| sequence.at(address)));
        placed.or_else(|| {
            let offset = offset?;
            let sequences = self.by_function.get(function?)?;
            sequences.iter().find_map(|sequence| sequence.at(offset))
        })
    }

    fn add(&mut self, image: &Image) -> Option<()> {
        let file = Elf::parse(&*image.data).ok()?;
        let section = file.section_by_name(".debug_line")?;
        let mut bytes = section.uncompressed_data().ok()?.into_owned();
        let code: Vec<(u64, u64, &str)> = file
            .sections()
            .filter_map(|section| {
                let function = section.name().ok()?.strip_prefix(".text.")?;
                Some((section.address(), section.size(), function))
            })
            .collect();
        let is_code = |address: u64| {
            code.iter()
                .any(|(start, size, _)| *start != 0 && address.wrapping_sub(*start) < *size)
        };
        let mut functions = Vec::new();
        for (at, relocation) in section.relocations() {
            let RelocationTarget::Symbol(symbol) = relocation.target() else {
                continue;
            };
            let slot = usize::try_from(at)
                .ok()
                .and_then(|at| bytes.get_mut(at..)?.first_chunk_mut());
            let Some((slot, function)) = slot.zip(function_of(&file, symbol)) else {
                continue;
            };
            if image.relocated && is_code(u64::from_le_bytes(*slot)) {
                continue;
            }
            let start = UNPLACED + functions.len() as u64 * STRIDE + (relocation.addend() as u64 & (STRIDE - 1));
            *slot = start.to_le_bytes();
            functions.push(function);
        }
        let alone = match code.as_slice() {
            [(_, _, function)] => Some(demangled(function)),
            _ => None,
        };
        for sequence in sequences(&bytes) {
            if self.count >= MAX_SEQUENCES {
                break;
            }
            self.count += 1;
            if let Some(index) = sequence.start.checked_sub(UNPLACED).map(|above| above / STRIDE) {
                let base = UNPLACED + index * STRIDE;
                if let Some(function) = functions.get(index as usize) {
                    let list = self.by_function.entry(function.clone()).or_default();
                    list.push(sequence.moved_down(base));
                }
            } else if is_code(sequence.start) {
                self.placed.push(sequence);
            } else if let Some(function) = &alone {
                self.by_function.entry(function.clone()).or_default().push(sequence);
            }
        }
        Some(())
    }
}

/// Demangled name of the function that a symbol is, or whose section it is.
fn function_of(file: &Elf<'_>, symbol: SymbolIndex) -> Option<String> {
    let symbol = file.symbol_by_index(symbol).ok()?;
    let name = symbol
        .name()
        .ok()
        .filter(|name| !name.is_empty() && !name.starts_with(".text."));
    let section = || {
        let section = file.section_by_index(symbol.section_index()?).ok()?;
        Some(section.name().ok()?.strip_prefix(".text.")?.to_owned())
    };
    Some(demangled(&name.map(str::to_owned).or_else(section)?))
}

impl Sequence {
    fn at(&self, address: u64) -> Option<&Place> {
        if !(self.start..self.end).contains(&address) {
            return None;
        }
        let after = self.rows.partition_point(|(start, _)| *start <= address);
        self.rows
            .get(after.checked_sub(1)?)
            .map(|(_, place)| place)
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

/// All sequences of a section; ends at the first table that can not be read.
fn sequences(section: &[u8]) -> Vec<Sequence> {
    let lines = DebugLine::new(section, LittleEndian);
    let mut sequences = Vec::new();
    let mut offset = 0;
    while offset < section.len() {
        let Ok(program) = lines.program(DebugLineOffset(offset), 8, None, None) else {
            break;
        };
        let header = program.header();
        let length = usize::from(header.format().initial_length_size()).saturating_add(header.unit_length());
        let mut rows = program.rows();
        let mut open: Option<Sequence> = None;
        while let Ok(Some((header, row))) = rows.next_row() {
            let address = row.address();
            if row.end_sequence() {
                sequences.extend(open.take().map(|sequence| Sequence {
                    end: address,
                    ..sequence
                }));
                continue;
            }
            let sequence = open.get_or_insert_with(|| Sequence {
                start: address,
                end: address,
                rows: Vec::new(),
            });
            sequence.rows.push((address, place(header, row)));
        }
        offset = offset.saturating_add(length);
    }
    sequences
}

fn place(header: &LineProgramHeader<Slice<'_>>, row: &LineRow) -> Place {
    let file = row.file(header).and_then(|file| {
        let text = |value| match value {
            gimli::AttributeValue::String(text) => Some(Slice::to_string_lossy(&text).into_owned()),
            // The strings of DWARF 5 are in sections that line tables of GPU code do not use.
            _ => None,
        };
        let name = text(file.path_name())?;
        let folder = file
            .directory(header)
            .and_then(text)
            .filter(|folder| !folder.is_empty());
        Some(match folder {
            Some(folder) if !name.starts_with('/') => format!("{folder}/{name}"),
            _ => name,
        })
    });
    Place {
        file,
        line: row.line().map_or(0, |line| line.get() as u32),
    }
}
