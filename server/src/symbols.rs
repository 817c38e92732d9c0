//! Binaries and debug files that people uploaded, in a folder laid out as debuggers expect it.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use tempfile::TempPath;
use whycrash_symbols::{NotSymbols, SymbolIdentity, SymbolKind};

/// Bytes that are compared at a time.
const COMPARED: usize = 1 << 20;

/// The folder of uploaded symbols: [`whycrash_symbols::Sources::store`].
#[derive(Clone, Debug)]
pub struct SymbolFolder {
    root: PathBuf,
}

/// What to do with a file whose place is taken by another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The other one stays: nobody can change under others what an id stands for.
    Stays,
    /// It makes room.
    IsReplaced,
}

/// Why a file was not kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// It is of no use as symbols.
    #[error(transparent)]
    NotSymbols(#[from] NotSymbols),
    /// Another file with its id and kind is here.
    #[error("another {} file with the id {id} is kept", .kind.as_str())]
    Other {
        /// Build id or debug id.
        id: String,
        /// What kind of file it is.
        kind: SymbolKind,
    },
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

    /// The file of this kind with this build id or debug id, if it was uploaded.
    pub fn find(&self, id: &str, kind: SymbolKind) -> Option<PathBuf> {
        let path = self.root.join(SymbolIdentity::place_of(id, kind)?);
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

    /// Takes over a file; false if the very same is here already. Durable when it returns. Files are moved into their
    /// place, never written there: others may have the old one mapped.
    pub fn keep(&self, staged: TempPath, file: &SymbolIdentity, existing: Existing) -> Result<bool, KeepError> {
        File::open(&staged)?.sync_all()?;
        let path = self.root.join(&file.place);
        let folders: Vec<&Path> = path
            .ancestors()
            .skip(1)
            .take_while(|folder| *folder != self.root)
            .collect();
        fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
        let is_new = match staged.persist_noclobber(&path) {
            Ok(()) => true,
            Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => return Err(error.error.into()),
            Err(error) if is_same(&error.path, &path)? => false,
            Err(_) if existing == Existing::Stays => {
                let (id, kind) = (file.id.clone(), file.kind);
                return Err(KeepError::Other { id, kind });
            }
            Err(error) => {
                error.path.persist(&path).map_err(|error| error.error)?;
                true
            }
        };
        for folder in folders.into_iter().chain([self.root.as_path()]) {
            File::open(folder)?.sync_all()?;
        }
        Ok(is_new)
    }
}

/// Whether two files have the same bytes.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (one, other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut one, mut other) = (
        BufReader::with_capacity(COMPARED, one),
        BufReader::with_capacity(COMPARED, other),
    );
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let length = left.len().min(right.len());
        if left.get(..length) != right.get(..length) {
            return Ok(false);
        }
        if length == 0 {
            return Ok(left.is_empty() && right.is_empty());
        }
        one.consume(length);
        other.consume(length);
    }
}
