//! How a core begins, where it comes through a pipe: the kernel writes the headers and the notes before any memory.

use std::io::{self, Read};

use super::caps::SEGMENTS;
use super::headers::{HEADER_SIZE, Header, PROGRAM_HEADER_SIZE, PT_NOTE, ProgramHeader};

/// Bytes that are kept of it: a thread has some 4 KiB of notes, and a mapping has a program header and a path.
const HEAD_BYTES: u64 = 24 << 20;

/// All of a core that comes before the memory.
#[derive(Debug)]
pub struct Head {
    /// What was read.
    pub bytes: Vec<u8>,
    /// Whether that is all of the headers and notes.
    pub is_whole: bool,
}

impl Head {
    /// Reads a stream up to the end of the notes, and no further. What is no core, or has headers and notes of more than
    /// 24 MiB, is not read to their end.
    ///
    /// # Errors
    /// When the stream can not be read.
    pub fn read(stream: &mut impl Read) -> io::Result<Self> {
        let mut head = Self {
            bytes: Vec::new(),
            is_whole: false,
        };
        if !head.read_to(stream, HEADER_SIZE)? {
            return Ok(head);
        }
        let Some(header) = Header::parse(&head.bytes).filter(Header::is_core) else {
            return Ok(head);
        };
        if !head.read_to(stream, header.program_headers.saturating_add(PROGRAM_HEADER_SIZE))? {
            return Ok(head);
        }
        let from = |bytes: &[u8], offset: u64| {
            let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
            rest.map_or_else(Vec::new, <[u8]>::to_vec)
        };
        let count = header
            .program_header_count(|offset| from(&head.bytes, offset))
            .min(SEGMENTS);
        let table_end = header.program_headers.saturating_add(count * PROGRAM_HEADER_SIZE);
        if !head.read_to(stream, table_end)? {
            return Ok(head);
        }
        let table = from(&head.bytes, header.program_headers);
        let headers = table
            .chunks_exact(PROGRAM_HEADER_SIZE as usize)
            .filter_map(ProgramHeader::parse);
        let notes = headers.filter(|header| header.kind == PT_NOTE);
        let ends = notes.map(|notes| notes.offset.saturating_add(notes.file_size));
        let end = ends.max().unwrap_or(0).max(table_end);
        head.is_whole = head.read_to(stream, end)?;
        Ok(head)
    }

    /// Reads on until there are so many bytes; false where that is too many, or the stream ends before.
    fn read_to(&mut self, stream: &mut impl Read, end: u64) -> io::Result<bool> {
        if end > HEAD_BYTES {
            return Ok(false);
        }
        let missing = end.saturating_sub(self.bytes.len() as u64);
        let read = stream.by_ref().take(missing).read_to_end(&mut self.bytes)?;
        Ok(read as u64 == missing)
    }
}
