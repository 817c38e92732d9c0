//! Bytes that many readers share: a mapped file, or a section that was decompressed from one.

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use gimli::{CloneStableDeref, LittleEndian, StableDeref};

/// A range of bytes with a share in their owner. Cloning costs a reference count.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    owner: Arc<Owner>,
    range: Range<usize>,
}

#[derive(Debug)]
enum Owner {
    Mapped(memmap2::Mmap),
    Owned(Vec<u8>),
}

impl Owner {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// The reader that DWARF is read with.
pub(crate) type Reader = gimli::EndianReader<LittleEndian, Shared>;

impl Shared {
    /// Maps a file; pages are read when they are touched.
    pub(crate) fn map(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        // SAFETY: the map is read-only and private to this process's reading. Another process that shortens the file
        // under us can make a read fault; binaries and debug files are replaced, not rewritten, by every installer.
        let map = unsafe { memmap2::Mmap::map(&file)? };
        let len = map.len();
        Ok(Self {
            owner: Arc::new(Owner::Mapped(map)),
            range: 0..len,
        })
    }

    /// The part of these bytes at `range`, when it is all there.
    pub(crate) fn slice(&self, range: Range<usize>) -> Option<Self> {
        let start = self.range.start.checked_add(range.start)?;
        let end = self.range.start.checked_add(range.end)?;
        (start <= end && end <= self.range.end).then(|| Self {
            owner: Arc::clone(&self.owner),
            range: start..end,
        })
    }

    /// As a reader of DWARF.
    pub(crate) fn reader(self) -> Reader {
        Reader::new(self, LittleEndian)
    }
}

impl From<Vec<u8>> for Shared {
    fn from(bytes: Vec<u8>) -> Self {
        let len = bytes.len();
        Self {
            owner: Arc::new(Owner::Owned(bytes)),
            range: 0..len,
        }
    }
}

impl Deref for Shared {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // The range was checked when it was made.
        self.owner.bytes().get(self.range.clone()).unwrap_or_default()
    }
}

// SAFETY: the bytes belong to the heap allocation or mapping behind the `Arc`, which moving a `Shared` does not move,
// and nothing can change them while any share exists.
unsafe impl StableDeref for Shared {}
// SAFETY: a clone shares the same owner, so it dereferences to the same address.
unsafe impl CloneStableDeref for Shared {}
