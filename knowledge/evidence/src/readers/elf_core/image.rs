//! The bytes of a core, wherever they are: a file that is read in place, or what is kept of a stream.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use super::pages::{Full, PAGE, Pages};
use crate::readers::{Input, read_problem};
use crate::{Limits, Problem};

/// Random access to the (decompressed) bytes of a core, within a bounded amount of memory.
#[derive(Debug)]
pub(super) enum Image {
    /// An uncompressed file, read in place.
    File { file: File, len: u64 },
    /// A compressed file or a pipe: its non-zero pages.
    Pages(Pages),
}

impl Image {
    /// The bytes of an artifact. An uncompressed file is not read at all, a compressed one to its end once.
    pub(super) fn open(input: &Input, limits: &Limits) -> io::Result<(Self, Option<Problem>)> {
        match input.plain_file() {
            Some(file) => Ok((
                Self::File {
                    file: file.try_clone()?,
                    len: input.stored_bytes(),
                },
                None,
            )),
            None => Self::keep(input.stream()?, limits),
        }
    }

    /// What is worth keeping of a stream, read to its end. Damage ends the reading, not the core.
    pub(super) fn keep(mut stream: impl Read, limits: &Limits) -> io::Result<(Self, Option<Problem>)> {
        let mut pages = Pages::new(limits.resident_bytes, limits.spilled_bytes);
        let mut buffer = vec![0; 64 * PAGE];
        loop {
            let (filled, damage) = fill(&mut stream, &mut buffer);
            if let Err(full) = pages.push(buffer.get(..filled).unwrap_or_default()) {
                return Ok((Self::Pages(pages), Some(full_problem(&full))));
            }
            if filled < buffer.len() || damage.is_some() {
                return Ok((Self::Pages(pages), damage.as_ref().map(read_problem)));
            }
        }
    }

    /// Length in bytes, decompressed.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::File { len, .. } => *len,
            Self::Pages(pages) => pages.len(),
        }
    }

    /// Fills `buffer` from `offset` on; says how many bytes there were.
    pub(super) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
        match self {
            Self::File { file, .. } => read_fully(file, offset, buffer),
            Self::Pages(pages) => pages.read_at(offset, buffer),
        }
    }

    /// Up to `len` bytes from `offset` on; fewer where the core ends.
    pub(super) fn bytes(&self, offset: u64, len: u64) -> Vec<u8> {
        let available = self.len().saturating_sub(offset).min(len);
        let mut bytes = vec![0; usize::try_from(available).unwrap_or(0)];
        let got = self.read_at(offset, &mut bytes);
        bytes.truncate(got);
        bytes
    }
}

/// Where a core that is read as a stream is too large to keep, its end is lost: headers, notes and the stacks that come
/// first are not.
fn full_problem(full: &Full) -> Problem {
    match full {
        Full::Cap(cap) => Problem::new(
            "limit-spilled-bytes",
            format!(
                "the core has more memory that is not zero than is put aside for it on disk ({cap} bytes); the rest is \
                 missing: give the core uncompressed, which is read in place"
            ),
        ),
        Full::Disk(error) => Problem::new(
            "no-room",
            format!(
                "the core's memory can not be put aside in the temporary folder ({error}), so some is missing: make room \
                 there, set TMPDIR to another, or give the core uncompressed, which is read in place"
            ),
        ),
    }
}

/// Fills the buffer as far as the stream goes; says how far that was, and what ended it.
fn fill(stream: &mut impl Read, buffer: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match stream.read(rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (filled, Some(error)),
        }
    }
    (filled, None)
}

/// `pread` until the buffer is full, the file ends or an error ends it.
pub(super) fn read_fully(file: &File, offset: u64, buffer: &mut [u8]) -> usize {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    filled
}
