//! The disk's free space, shared by everything that is being written at one time.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::store::StoreError;

/// Free space on the disk of a folder, less a reserve that the database and the index need to go on.
///
/// Every write asks for its bytes first, and holds them until they are on the disk and the file system counts them
/// itself. So uploads that run side by side never take the reserve together, whatever each of them found free.
#[derive(Debug)]
pub struct Space {
    folder: PathBuf,
    reserve: u64,
    claimed: AtomicU64,
}

/// Bytes that somebody may write; given back when dropped.
#[derive(Debug)]
pub struct Claim {
    space: Arc<Space>,
    bytes: u64,
}

impl Space {
    /// The space on the disk of this folder, less the reserve in bytes.
    pub fn new(folder: &Path, reserve: u64) -> Self {
        Self {
            folder: folder.to_owned(),
            reserve,
            claimed: AtomicU64::new(0),
        }
    }

    /// Leave to write this many bytes.
    pub fn claim(self: &Arc<Self>, bytes: u64) -> Result<Claim, StoreError> {
        let others = self.claimed.fetch_add(bytes, Ordering::AcqRel);
        let claim = Claim {
            space: Arc::clone(self),
            bytes,
        };
        self.check_beside(others, bytes)?;
        Ok(claim)
    }

    /// Makes sure that this many bytes could be written now.
    pub fn check(&self, bytes: u64) -> Result<(), StoreError> {
        self.check_beside(self.claimed.load(Ordering::Acquire), bytes)
    }

    fn check_beside(&self, claimed: u64, bytes: u64) -> Result<(), StoreError> {
        let free = free_bytes(&self.folder)?;
        if free.saturating_sub(self.reserve).saturating_sub(claimed) < bytes {
            return Err(StoreError::Full(format!(
                "{bytes} bytes were to be written, {free} are free, and {} of them are kept back \
                 (`limits.reserved_disk_bytes`)",
                self.reserve
            )));
        }
        Ok(())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.space.claimed.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

/// Bytes that may still be written to the file system of this folder.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let stat = match rustix::fs::statvfs(folder) {
        // Everything that comes in asks here first: a folder that somebody removed costs what was in it, and no more.
        Err(rustix::io::Errno::NOENT) => {
            std::fs::create_dir_all(folder)?;
            rustix::fs::statvfs(folder)?
        }
        stat => stat?,
    };
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}
