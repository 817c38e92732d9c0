//! Bytes that many readers share: a mapped file, or a section that was decompressed from one.

use std::io;
use std::ops::{Deref, Range};
use std::sync::Arc;

use gimli::{CloneStableDeref, LittleEndian, StableDeref};

use crate::files::mapped::Mapped;
use crate::files::regular::RegularFile;

/// A range of bytes with a share in their owner. Cloning costs a reference count.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    owner: Arc<Owner>,
    range: Range<usize>,
}

#[derive(Debug)]
enum Owner {
    Mapped(Mapped),
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
    pub(crate) fn map(file: &RegularFile) -> io::Result<Self> {
        let map = Mapped::of(&file.open()?)?;
        let len = map.len();
        Ok(Self {
            owner: Arc::new(Owner::Mapped(map)),
            range: 0..len,
        })
    }

    /// Whether a part of the file was gone when it was read.
    pub(crate) fn is_torn(&self) -> bool {
        matches!(&*self.owner, Owner::Mapped(map) if map.is_torn())
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
// and it stays where it is while any share exists.
unsafe impl StableDeref for Shared {}
// SAFETY: a clone shares the same owner, so it dereferences to the same address.
unsafe impl CloneStableDeref for Shared {}
