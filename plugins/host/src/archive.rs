//! Opening a zip file that anybody may have made.
//!
//! A zip file is read from its end, where a record says how many entries there are and where. The reader makes room
//! for as many as that claims, and tries the next such record when one leads nowhere, so a small file can ask for any
//! amount of memory and work. Here it can not: records that can claim more than 65,535 entries (ZIP64) are refused,
//! and what is read in all is bounded by the size of the file.

use std::io::{self, Cursor, Read, Seek, SeekFrom};

use memchr::memmem;
use zip::ZipArchive;

/// The record at the end, and what stands right before it in a ZIP64 file (APPNOTE.TXT 4.3.15 and 4.3.16).
const END: &[u8] = b"PK\x05\x06";
const LOCATOR: &[u8] = b"PK\x06\x07";
const LOCATOR_BYTES: usize = 20;
/// Bytes that may be read for each byte of the file, and beyond that.
const READS: u64 = 3;
const MORE: u64 = 1 << 20;

/// A zip file in memory.
pub(crate) type Archive = ZipArchive<Bounded>;

/// Opens a zip file. The error says what is wrong with it.
pub(crate) fn open(bytes: Vec<u8>) -> Result<Archive, String> {
    let mut ends = memmem::find_iter(&bytes, END);
    let has_locator = |end: usize| {
        let at = end.checked_sub(LOCATOR_BYTES);
        at.and_then(|at| bytes.get(at..))
            .is_some_and(|before| before.starts_with(LOCATOR))
    };
    if ends.any(has_locator) {
        return Err("it is a ZIP64 file: pack it as a plain zip file".to_owned());
    }
    let reader = Bounded {
        left: (bytes.len() as u64).saturating_mul(READS).saturating_add(MORE),
        bytes: Cursor::new(bytes),
    };
    ZipArchive::new(reader).map_err(|error| format!("it is no whole zip file: {error}"))
}

/// Bytes that can be read so often, and then no more.
#[derive(Debug)]
pub(crate) struct Bounded {
    bytes: Cursor<Vec<u8>>,
    left: u64,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(buffer)?;
        let left = self.left.checked_sub(read as u64);
        self.left = left.ok_or_else(|| io::Error::other("its parts overlap, or its directory leads nowhere"))?;
        Ok(read)
    }
}

impl Seek for Bounded {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        // A place that is looked for again and again costs work too.
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| io::Error::other("its directory leads nowhere"))?;
        self.bytes.seek(to)
    }
}
