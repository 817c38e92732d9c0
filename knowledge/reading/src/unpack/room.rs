//! What the archives of one report may take, and where the texts in them are put.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::sync::Arc;

use whycrash_evidence::Limits;
use whycrash_evidence::readers::holes::Piece;
use whycrash_evidence::readers::{ALWAYS_ALLOWED_BYTES, Lines};

use crate::ReportLimits;

/// What is left for the archives of a report.
#[derive(Debug)]
pub(crate) struct Room {
    /// Files that may still come of archives.
    members: usize,
    /// Bytes that they may take on disk.
    unpacked_bytes: u64,
    /// Bytes of cores among them, with their holes.
    core_bytes: u64,
    /// Bytes, other than of cores, that may come of the artifact that is unpacked.
    expansion: u64,
    /// Names that members have: one in an archive within an archive may be called like one beside that.
    names: HashSet<String>,
    shelf: Option<Shelf>,
}

/// A file without a name that has the texts of members, one behind the other: thousands of them would be too many open
/// files.
#[derive(Debug)]
struct Shelf {
    file: Arc<File>,
    end: u64,
}

/// A limit that cut a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// [`Limits::expansion_ratio`].
    Expansion,
    /// [`ReportLimits::unpacked_bytes`], [`ReportLimits::core_bytes`].
    Bytes,
}

impl Room {
    pub(crate) fn new(limits: &ReportLimits) -> Self {
        Self {
            members: limits.members,
            unpacked_bytes: limits.unpacked_bytes,
            core_bytes: limits.core_bytes,
            expansion: 0,
            names: HashSet::new(),
            shelf: None,
        }
    }

    /// Begins an artifact of so many bytes. What is packed in it, archives within it included, is held against those.
    pub(crate) fn begin(&mut self, stored_bytes: u64, limits: &Limits) {
        self.expansion = stored_bytes
            .saturating_mul(limits.expansion_ratio)
            .max(ALWAYS_ALLOWED_BYTES);
    }

    /// Takes a name; false where another member has it.
    pub(super) fn take_name(&mut self, name: &str) -> bool {
        self.names.insert(name.to_owned())
    }

    /// Takes the place of one more file; false where there is none.
    pub(super) fn take_member(&mut self) -> bool {
        let left = self.members.checked_sub(1);
        self.members = left.unwrap_or_default();
        left.is_some()
    }

    /// Takes room for the next bytes of a file.
    pub(super) fn take(&mut self, piece: Piece) -> Result<(), Full> {
        let (of_file, full) = match piece.is_core {
            true => (&mut self.core_bytes, Full::Bytes),
            false => (&mut self.expansion, Full::Expansion),
        };
        *of_file = of_file.checked_sub(piece.bytes).ok_or(full)?;
        self.unpacked_bytes = self.unpacked_bytes.checked_sub(piece.on_disk).ok_or(Full::Bytes)?;
        Ok(())
    }

    /// Moves the text of a member to where those of all members are. Where the disk has no room for that it stays in its
    /// own file.
    pub(crate) fn shelve(&mut self, lines: Lines) -> Lines {
        let Ok(mut shelf) = self.shelf.take().map_or_else(Shelf::new, Ok) else {
            return lines;
        };
        let (lines, bytes) = lines.moved_to(&shelf.file, shelf.end);
        shelf.end += bytes;
        self.shelf = Some(shelf);
        lines
    }
}

impl Shelf {
    fn new() -> io::Result<Self> {
        let file = Arc::new(tempfile::tempfile()?);
        Ok(Self { file, end: 0 })
    }
}
