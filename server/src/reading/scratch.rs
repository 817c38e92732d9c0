//! Places for the long parts of what is read.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The name of a folder that nobody else uses, for one report. Who has something to put there makes it: most reports
/// are small and need none. What is in it goes with this.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A name in this folder, which belongs to this process alone.
    pub fn below(work: &Path) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        Self(work.join(NUMBER.fetch_add(1, Ordering::Relaxed).to_string()))
    }

    /// The folder, which may not be there.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0)
            && error.kind() != ErrorKind::NotFound
        {
            tracing::warn!(%error, "can not remove what was left of reading a report; the next start does");
        }
    }
}
