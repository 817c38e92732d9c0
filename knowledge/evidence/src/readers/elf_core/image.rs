//! The bytes of a core, wherever they are: a file that is read in place, or what is kept of a stream.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::compression::Compression;
use super::pages::{PAGE, Pages};
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
    /// Opens the bytes at `path`. A regular uncompressed file is not read at all, a compressed one or a pipe is read
    /// to its end once.
    pub(super) fn open(path: &Path, limits: &Limits) -> io::Result<(Self, Vec<Problem>)> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        let head = read_head(&mut file)?;
        let compression = Compression::of(&head);
        if compression.is_none() && metadata.is_file() {
            return Ok((
                Self::File {
                    file,
                    len: metadata.len(),
                },
                Vec::new(),
            ));
        }
        let stream = head.as_slice().chain(file);
        let (pages, problems) = match compression {
            Some(compression) => keep(compression.decoder(stream)?, Some(compression), limits)?,
            None => keep(stream, None, limits)?,
        };
        Ok((Self::Pages(pages), problems))
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

/// The first bytes of an artifact as the core reader sees them: decompressed when they are compressed.
pub(super) fn decompressed_head(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let head = read_head(&mut file)?;
    let Some(compression) = Compression::of(&head) else {
        return Ok(head);
    };
    let mut decompressed = Vec::new();
    compression
        .decoder(head.as_slice().chain(file))?
        .take(HEAD)
        .read_to_end(&mut decompressed)?;
    Ok(decompressed)
}

/// Enough to see a magic number and an ELF header.
const HEAD: u64 = 64;

fn read_head(file: &mut File) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

/// Reads a stream to its end and keeps its non-zero pages. Damage ends the reading, not the core.
fn keep(mut stream: impl Read, compression: Option<Compression>, limits: &Limits) -> io::Result<(Pages, Vec<Problem>)> {
    let mut pages = Pages::new(limits.resident_bytes);
    let mut problems = Vec::new();
    let mut buffer = vec![0; 64 * PAGE];
    loop {
        let filled = match fill(&mut stream, &mut buffer) {
            Ok(filled) => filled,
            Err((filled, error)) => {
                problems.push(damaged_stream(compression, pages.len() + filled as u64, &error));
                pages.push(buffer.get(..filled).unwrap_or_default())?;
                break;
            }
        };
        pages.push(buffer.get(..filled).unwrap_or_default())?;
        if filled < buffer.len() {
            break;
        }
        if pages.len() > limits.decompressed_bytes {
            problems.push(Problem::new(
                "limit-decompressed-bytes",
                format!(
                    "the core is larger than {} bytes; the rest was not read",
                    limits.decompressed_bytes
                ),
            ));
            break;
        }
    }
    Ok((pages, problems))
}

fn damaged_stream(compression: Option<Compression>, good: u64, error: &io::Error) -> Problem {
    let stream = compression.map_or("input", Compression::name);
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return Problem::new(
            "truncated",
            format!("the {stream} stream ends early, after {good} decompressed bytes; upload the whole file"),
        );
    }
    Problem::new(
        "damaged-compression",
        format!("the {stream} stream is damaged after {good} decompressed bytes ({error}); upload the file again"),
    )
}

/// Fills the buffer as far as the stream goes. An error comes with the number of bytes read before it.
fn fill(stream: &mut impl Read, buffer: &mut [u8]) -> Result<usize, (usize, io::Error)> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match stream.read(rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err((filled, error)),
        }
    }
    Ok(filled)
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
