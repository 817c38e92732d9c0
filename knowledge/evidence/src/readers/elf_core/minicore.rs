//! Writing a minicore: an ordinary core with the notes, the ranges of memory, and of the memory just what was read.
//!
//! A page is in it when anything of it was read. What was not read of such a page is blank, because it is nobody's
//! business: a page of the heap has strings of others beside the one that a stack leads to. A note of its own says which
//! bytes are true ([`super::kept`]), so that nobody takes the blanks for the process's.

use std::io::{self, Write};
use std::ops::Range;

use super::dump::{Auxiliary, CoreDump, Segment};
use super::headers::{
    EM_AARCH64, EM_X86_64, ET_CORE, HEADER_SIZE, Machine, PF_CONTINUES, PN_XNUM, PROGRAM_HEADER_SIZE, PT_LOAD, PT_NOTE,
};
use super::held::Held;
use super::kept::Kept;
use super::little_endian::u32_at;
use super::loaded;
use super::modules::modules;
use super::notes::{NT_AUXV, NT_FILE, NT_MINICORE, NT_PRPSINFO, NT_PRSTATUS, NT_SIGINFO, OWN_NAME};
use super::record::{PAGE, Record};

/// Notes of up to so many bytes are kept as they are; of more, those about vector registers are left out.
const WHOLE_NOTES: usize = 1 << 20;
/// Notes are taken from so many bytes at most.
const NOTE_BYTES: u64 = 64 << 20;
/// Bytes of a section header; there is one, for the number of program headers, where that is large.
const SECTION_HEADER_SIZE: u64 = 64;
/// Where the bytes of memory start and go on, as the kernel writes them.
const ALIGNMENT: u64 = PAGE;

/// The kernel's own binary (`vdso`) is smaller; it has two pages.
const KERNELS_BINARY: u64 = 64 << 10;

/// What a minicore has become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minicore {
    /// Its size in bytes.
    pub bytes: u64,
    /// Bytes of memory that the full core holds.
    pub full: u64,
    /// Whether memory is missing that is needed: it was beyond the limit, or the core was not all there.
    pub is_cut: bool,
}

impl CoreDump {
    /// From now on notes what is read of the memory, up to so many bytes of pages. Noted at once is what the binaries of
    /// the process are found by, by other tools too: the first page of each, and all of the kernel's own, which is in no
    /// file.
    pub fn note_reads(&mut self, limit: u64) {
        self.record = Some(Record::new(limit));
        let _ = modules(self);
        loaded::note_list(self);
        for module in &self.modules {
            let is_kernels = self.auxiliary(Auxiliary::Vdso) == Some(module.start);
            let whole = (module.end - module.start).min(KERNELS_BINARY);
            self.keep(module.start, if is_kernels { whole } else { PAGE });
        }
    }

    /// Reads memory as far as the core holds it, so that it is noted.
    pub fn keep(&self, address: u64, len: u64) {
        let mut page = [0; PAGE as usize];
        let end = address.saturating_add(len);
        let mut at = address;
        while at < end {
            let next = (at / PAGE + 1).saturating_mul(PAGE).min(end);
            self.read(at, page.get_mut(..(next - at) as usize).unwrap_or_default());
            at = next;
        }
    }

    /// Writes a core of what was noted since [`Self::note_reads`]. The strings that the process was started with, its
    /// arguments and environment, are left blank, though they lie on a stack: no reader needs them.
    ///
    /// # Errors
    /// When it can not be written, or when memory that was read before can not be read any more.
    pub fn write_minicore(&self, to: &mut impl Write) -> io::Result<Minicore> {
        let (noted, is_cut) = self.record.as_ref().map(Record::ranges).unwrap_or_default();
        let noted = without(noted, self.start_strings());
        let was = self.minicore.as_ref();
        let bytes = || {
            self.held
                .iter()
                .map(|held| held.end - held.start)
                .fold(0, u64::saturating_add)
        };
        let kept = Kept {
            ranges: super::held::only(&self.held, &noted)
                .iter()
                .map(|held| held.start..held.end)
                .collect(),
            full: was.map_or_else(bytes, |was| was.full),
            is_cut: is_cut || self.is_torn || was.is_some_and(|was| was.is_cut),
        };
        let pieces: Vec<Piece> = self
            .segments
            .iter()
            .flat_map(|segment| pieces(segment, &self.held, &kept))
            .collect();
        let mut notes = self.raw_notes();
        push_note(&mut notes, OWN_NAME, NT_MINICORE, &kept.write());
        let count = pieces.len() as u64 + 1;
        let extra = if count >= u64::from(PN_XNUM) {
            SECTION_HEADER_SIZE
        } else {
            0
        };
        let notes_at = HEADER_SIZE + count * PROGRAM_HEADER_SIZE + extra;
        let mut memory_at = (notes_at + notes.len() as u64).next_multiple_of(ALIGNMENT);
        let padding = memory_at - notes_at - notes.len() as u64;
        let mut head = file_header(self.machine, count);
        head.extend(program_header(PT_NOTE, 0, notes_at, 0, notes.len() as u64, 0, 4));
        for piece in &pieces {
            let size = piece.held_end - piece.start;
            head.extend(program_header(
                PT_LOAD,
                piece.flags,
                memory_at,
                piece.start,
                size,
                piece.end - piece.start,
                ALIGNMENT,
            ));
            memory_at += size.next_multiple_of(ALIGNMENT);
        }
        if extra > 0 {
            head.extend(count_in_section(count));
        }
        to.write_all(&head)?;
        to.write_all(&notes)?;
        to.write_all(&vec![0; padding as usize])?;
        for piece in &pieces {
            self.write_piece(piece, &kept, to)?;
        }
        Ok(Minicore {
            bytes: memory_at,
            full: kept.full,
            is_cut: kept.is_cut,
        })
    }

    /// Where the strings of arguments and environment are: between the random bytes that the kernel puts on the stack
    /// of a new process, and the path of its program.
    fn start_strings(&self) -> Range<u64> {
        let random = self.auxiliary(Auxiliary::Random);
        let start = random.map(|random| random.saturating_add(RANDOM_BYTES));
        let end = self.auxiliary(Auxiliary::Path);
        match start.zip(end) {
            Some((start, end)) if start < end && self.segment_at(start).is_some_and(|stack| end < stack.end) => {
                start..end
            }
            _ => 0..0,
        }
    }

    /// The bytes of a piece, page by page, blank where they were not noted.
    fn write_piece(&self, piece: &Piece, kept: &Kept, to: &mut impl Write) -> io::Result<()> {
        let mut page = [0; PAGE as usize];
        let mut at = piece.start;
        while at < piece.held_end {
            page.fill(0);
            let end = at.saturating_add(PAGE).min(piece.held_end);
            let first = kept.ranges.partition_point(|range| range.end <= at);
            let here = kept.ranges.get(first..).unwrap_or_default().iter();
            for range in here.take_while(|range| range.start < end) {
                let (from, until) = (range.start.max(at), range.end.min(end));
                let bytes = page
                    .get_mut((from - at) as usize..(until - at) as usize)
                    .unwrap_or_default();
                if self.read_unnoticed(from, bytes) < bytes.len() {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the memory of the process is gone",
                    ));
                }
            }
            to.write_all(&page)?;
            at = end;
        }
        Ok(())
    }

    /// The notes as they are in the core, without those about vector registers where they are many.
    fn raw_notes(&self) -> Vec<u8> {
        let segments = self.notes.iter();
        let bytes: Vec<u8> = segments
            .flat_map(|(offset, size)| self.image.bytes(*offset, (*size).min(NOTE_BYTES)))
            .collect();
        let keeps_all = bytes.len() <= WHOLE_NOTES;
        let mut kept = Vec::with_capacity(bytes.len());
        let mut rest = &*bytes;
        while let Some((note, after)) = next_note(rest) {
            let is_own = note.name == OWN_NAME;
            let is_needed = note.name != b"CORE" && note.bytes.len() <= SMALL_NOTE
                || matches!(note.kind, NT_PRSTATUS | NT_PRPSINFO | NT_SIGINFO | NT_AUXV | NT_FILE);
            if !is_own && (keeps_all || is_needed) {
                kept.extend(note.bytes);
                kept.resize(kept.len().next_multiple_of(4), 0);
            }
            rest = after;
        }
        kept
    }
}

/// `AT_RANDOM` leads to so many bytes.
const RANDOM_BYTES: u64 = 16;
/// The notes of the system about a thread that are not registers of vectors are smaller.
const SMALL_NOTE: usize = 128;

/// A part of a range of memory: from `start` to `held_end` it is there, from there to `end` it is not.
#[derive(Debug)]
struct Piece {
    start: u64,
    held_end: u64,
    end: u64,
    flags: u32,
}

/// The parts of a range: whole pages of what the core holds, if any of a page is kept.
fn pieces(segment: &Segment, held: &[Held], kept: &Kept) -> Vec<Piece> {
    let mut pages: Vec<Range<u64>> = Vec::new();
    let first = kept.ranges.partition_point(|range| range.end <= segment.start);
    let ranges = kept.ranges.get(first..).unwrap_or_default().iter();
    for range in ranges.take_while(|range| range.start < segment.end) {
        let Some(held) = super::held::at(held, range.start.max(segment.start)) else {
            continue;
        };
        let start = (range.start / PAGE * PAGE).max(held.start).max(segment.start);
        let end = range.end.checked_next_multiple_of(PAGE).unwrap_or(range.end);
        let end = end.min(held.end).min(segment.end);
        match pages.last_mut().filter(|before| start <= before.end) {
            Some(before) => before.end = before.end.max(end),
            None => pages.push(start..end),
        }
    }
    let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
    let flags = flag(segment.readable, 4) | flag(segment.writable, 2) | flag(segment.executable, 1);
    if pages.first().is_none_or(|first| first.start > segment.start) {
        pages.insert(0, segment.start..segment.start);
    }
    let ends = pages.iter().skip(1).map(|next| next.start).chain([segment.end]);
    let pieces = pages.iter().zip(ends).map(|(page, end)| Piece {
        start: page.start,
        held_end: page.end,
        end,
        flags: flags | flag(page.start > segment.start, PF_CONTINUES),
    });
    pieces.collect()
}

/// What is in the ranges, but not in the hole.
fn without(ranges: Vec<Range<u64>>, hole: Range<u64>) -> Vec<Range<u64>> {
    let parts = ranges.into_iter().flat_map(|range| {
        let before = range.start..range.end.min(hole.start.max(range.start));
        let after = range.start.max(hole.end.min(range.end))..range.end;
        if hole.is_empty() {
            [range, 0..0]
        } else {
            [before, after]
        }
    });
    parts.filter(|part| part.start < part.end).collect()
}

fn file_header(machine: Machine, count: u64) -> Vec<u8> {
    let machine = match machine {
        Machine::X86_64 => EM_X86_64,
        Machine::Aarch64 => EM_AARCH64,
    };
    let is_large = count >= u64::from(PN_XNUM);
    let sections_at = if is_large {
        HEADER_SIZE + count * PROGRAM_HEADER_SIZE
    } else {
        0
    };
    let mut header = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    header.extend(ET_CORE.to_le_bytes());
    header.extend(machine.to_le_bytes());
    header.extend(1_u32.to_le_bytes());
    header.extend([0, HEADER_SIZE, sections_at].into_iter().flat_map(u64::to_le_bytes));
    header.extend(0_u32.to_le_bytes());
    let headers = if is_large { PN_XNUM } else { count as u16 };
    let section_size = if is_large { SECTION_HEADER_SIZE as u16 } else { 0 };
    let halves = [
        HEADER_SIZE as u16,
        PROGRAM_HEADER_SIZE as u16,
        headers,
        section_size,
        u16::from(is_large),
        0,
    ];
    header.extend(halves.into_iter().flat_map(u16::to_le_bytes));
    header
}

fn program_header(kind: u32, flags: u32, offset: u64, address: u64, size: u64, memory: u64, align: u64) -> Vec<u8> {
    let mut header: Vec<u8> = [kind, flags].into_iter().flat_map(u32::to_le_bytes).collect();
    let words = [offset, address, 0, size, memory, align];
    header.extend(words.into_iter().flat_map(u64::to_le_bytes));
    header
}

/// Section header 0, whose `sh_info` is the number of program headers.
fn count_in_section(count: u64) -> Vec<u8> {
    let mut section = vec![0; SECTION_HEADER_SIZE as usize];
    section.splice(44..48, (count as u32).to_le_bytes());
    section
}

/// A note as it stands.
struct RawNote<'a> {
    name: &'a [u8],
    kind: u32,
    bytes: &'a [u8],
}

fn next_note(bytes: &[u8]) -> Option<(RawNote<'_>, &[u8])> {
    let name_size = u32_at(bytes, 0)? as usize;
    let size = u32_at(bytes, 4)? as usize;
    let start = 12_usize.checked_add(name_size)?.checked_next_multiple_of(4)?;
    let end = start.checked_add(size)?;
    let name = bytes.get(12..12 + name_size)?;
    let note = RawNote {
        name: name.strip_suffix(&[0]).unwrap_or(name),
        kind: u32_at(bytes, 8)?,
        bytes: bytes.get(..end)?,
    };
    let next = end.checked_next_multiple_of(4)?.min(bytes.len());
    Some((note, bytes.get(next..)?))
}

fn push_note(notes: &mut Vec<u8>, name: &[u8], kind: u32, description: &[u8]) {
    let sizes = [name.len() as u32 + 1, description.len() as u32, kind];
    notes.extend(sizes.into_iter().flat_map(u32::to_le_bytes));
    notes.extend(name);
    notes.push(0);
    notes.resize(notes.len().next_multiple_of(4), 0);
    notes.extend(description);
    notes.resize(notes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::without;

    #[test]
    fn a_hole_splits_the_range_that_it_is_in() {
        let cases = [
            (0..10, vec![10..20, 30..40]),
            (12..15, vec![10..12, 15..20, 30..40]),
            (15..35, vec![10..15, 35..40]),
            (10..40, vec![]),
            (0..0, vec![10..20, 30..40]),
            (50..60, vec![10..20, 30..40]),
        ];
        for (hole, expected) in cases {
            assert_eq!(without(vec![10..20, 30..40], hole.clone()), expected, "{hole:?}");
        }
    }
}
