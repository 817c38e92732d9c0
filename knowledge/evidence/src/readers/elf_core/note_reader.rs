//! Walks the notes of a core in place: what is not looked at (vector registers, mostly) is never read.

use super::caps::{ALL_NOTE_BYTES, FILE_NOTE_BYTES, NOTE_BYTES, NOTES};
use super::headers::ProgramHeader;
use super::image::Image;
use super::little_endian::u32_at;
use super::notes::{NT_FILE, NT_MINICORE, Note};
use crate::Problem;

/// Longest name a note of ours has (`CORE`, `LINUX`), with room.
const NAME_BYTES: u64 = 16;
const HEADER_BYTES: u64 = 12;

/// Reads notes until a budget that all segments share is used up.
#[derive(Debug)]
pub(super) struct NoteReader<'a> {
    image: &'a Image,
    notes_left: u64,
    bytes_left: u64,
    /// Set when the budget ended the reading, or a note was too long for it.
    over_budget: bool,
}

impl<'a> NoteReader<'a> {
    pub(super) fn new(image: &'a Image) -> Self {
        Self {
            image,
            notes_left: NOTES,
            bytes_left: ALL_NOTE_BYTES,
            over_budget: false,
        }
    }

    /// Visits the notes of one segment, up to the first that is not all there.
    pub(super) fn read(&mut self, segment: &ProgramHeader, mut visit: impl FnMut(&Note)) {
        let end = segment.offset.saturating_add(segment.file_size).min(self.image.len());
        let mut at = segment.offset;
        while let Some(next) = self.note(at, end, &mut visit) {
            at = next;
        }
    }

    /// Visits the note at `at` and says where the next one is.
    fn note(&mut self, at: u64, end: u64, visit: &mut impl FnMut(&Note)) -> Option<u64> {
        if end.checked_sub(at)? < HEADER_BYTES {
            return None;
        }
        let header = self.image.bytes(at, HEADER_BYTES);
        let name_size = u64::from(u32_at(&header, 0)?);
        let size = u64::from(u32_at(&header, 4)?);
        let kind = u32_at(&header, 8)?;
        let name_at = at + HEADER_BYTES;
        let description_at = name_at.checked_add(name_size)?.checked_next_multiple_of(4)?;
        let note_end = description_at.checked_add(size)?;
        if note_end > end {
            return None;
        }
        let wanted = self.wanted(kind, size)?;
        let name = self.image.bytes(name_at, name_size.min(NAME_BYTES));
        let description = self.image.bytes(description_at, wanted);
        visit(&Note {
            name: name.strip_suffix(&[0]).unwrap_or(&name),
            kind,
            description: &description,
        });
        note_end.checked_next_multiple_of(4)
    }

    /// How much of a note's description to read; nothing when the budget is used up.
    fn wanted(&mut self, kind: u32, size: u64) -> Option<u64> {
        let wanted = match kind {
            NT_FILE | NT_MINICORE if size > FILE_NOTE_BYTES => {
                self.over_budget = true;
                0
            }
            NT_FILE | NT_MINICORE => size,
            _ => size.min(NOTE_BYTES),
        };
        if self.notes_left == 0 || self.bytes_left < wanted {
            self.over_budget = true;
            return None;
        }
        self.notes_left -= 1;
        self.bytes_left -= wanted;
        Some(wanted)
    }

    /// Says so when something was left out.
    pub(super) fn problem(&self) -> Option<Problem> {
        self.over_budget.then(|| {
            Problem::new(
                "limit-notes",
                format!(
                    "the core has more notes than are read ({NOTES} notes, {FILE_NOTE_BYTES} bytes of mapped files, \
                     {ALL_NOTE_BYTES} bytes in all); threads or mapped files may be missing"
                ),
            )
        })
    }
}
