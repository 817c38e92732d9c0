//! Binaries and debug files that people uploaded, in a folder laid out as debuggers expect it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempPath;
use whycrash_symbols::{NotSymbols, SymbolIdentity, SymbolKind};

/// The folder of uploaded symbols. It is one of [`whycrash_symbols::Sources::folders`].
#[derive(Clone, Debug)]
pub struct SymbolFolder {
    root: PathBuf,
}

/// Why a file was not kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// It is of no use as symbols.
    #[error(transparent)]
    NotSymbols(#[from] NotSymbols),
    /// The folder can not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl SymbolFolder {
    /// Uses this folder, which is made if need be. What is kept must be staged on the same file system.
    pub fn open(root: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&root)?;
        Ok(Self { root })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file with this build id, if it was uploaded.
    pub fn find(&self, build_id: &str, kind: SymbolKind) -> Option<PathBuf> {
        let path = self.root.join(SymbolIdentity::elf_place(build_id, kind)?);
        path.is_file().then_some(path)
    }

    /// The file that answers debuginfod's clients. Debug information is a separate file, or the binary where that has
    /// its own (debuginfod(8)).
    pub fn serve(&self, build_id: &str, kind: SymbolKind) -> Option<PathBuf> {
        let has_debug_info = |path: &PathBuf| SymbolIdentity::of(path).is_ok_and(|file| file.has_debug_info);
        let binary = || self.find(build_id, SymbolKind::Executable).filter(has_debug_info);
        let is_debug_info = kind == SymbolKind::DebugInfo;
        self.find(build_id, kind)
            .or_else(|| is_debug_info.then(binary).flatten())
    }

    /// Takes over a file that is durable itself; tells what it is, and whether it was not here yet. Durable in its new place when it returns. A file that
    /// is here already stays: nobody can change under others what a build id stands for.
    pub fn keep(&self, staged: TempPath) -> Result<(SymbolIdentity, bool), KeepError> {
        let file = SymbolIdentity::of(&staged)?;
        let path = self.root.join(&file.place);
        let folders: Vec<&Path> = path
            .ancestors()
            .skip(1)
            .take_while(|folder| *folder != self.root)
            .collect();
        fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
        let new = match staged.persist_noclobber(&path) {
            Ok(()) => true,
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error.error.into()),
        };
        for folder in folders.into_iter().chain([self.root.as_path()]) {
            File::open(folder)?.sync_all()?;
        }
        Ok((file, new))
    }
}
