//! Binaries and debug files that people uploaded, in a folder laid out as debuggers expect it. A file's time of
//! modification is when it was sent last.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tempfile::TempPath;
use whycrash_symbols::{NotSymbols, SymbolIdentity, SymbolKind};

use crate::store::kept_now;

/// Bytes that are compared at a time.
const COMPARED: usize = 1 << 20;

/// The folder of uploaded symbols: [`whycrash_symbols::Sources::store`].
#[derive(Clone, Debug)]
pub struct SymbolFolder {
    root: PathBuf,
    /// Held while files and folders come or go.
    changes: Arc<Mutex<()>>,
}

/// A file in the folder.
#[derive(Clone, Debug)]
pub struct SymbolFile {
    path: PathBuf,
    /// Its size.
    pub bytes: u64,
}

/// How deep files lie in the folder: `.build-id/ab/cd….debug`, `name/id/name.sym`.
const DEPTH: usize = 3;

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
        let changes = Arc::default();
        Ok(Self { root, changes })
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
        let sent = File::options().write(true).open(&staged)?;
        sent.set_modified(kept_now().into())?;
        sent.sync_all()?;
        let _guard = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
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
            Err(error) if is_same(&error.path, &path)? => {
                File::options()
                    .write(true)
                    .open(&path)?
                    .set_modified(kept_now().into())?;
                false
            }
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

impl SymbolFolder {
    /// Files that were not sent since then.
    pub fn older_than(&self, time: Timestamp) -> io::Result<Vec<SymbolFile>> {
        let (mut files, mut folders) = (Vec::new(), vec![self.root.clone()]);
        for _ in 0..DEPTH {
            for folder in std::mem::take(&mut folders) {
                for entry in fs::read_dir(&folder)? {
                    let path = entry?.path();
                    // One that goes away meanwhile is not there any more.
                    let Ok(about) = fs::symlink_metadata(&path) else {
                        continue;
                    };
                    if about.is_dir() {
                        folders.push(path);
                    } else if is_older(&about, time) {
                        files.push(SymbolFile {
                            path,
                            bytes: about.len(),
                        });
                    }
                }
            }
        }
        Ok(files)
    }

    /// Removes a file, unless it was sent since then, and the folders that are empty without it; whether it is gone.
    pub fn remove(&self, file: &SymbolFile, time: Timestamp) -> io::Result<bool> {
        let _guard = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let still_old = fs::symlink_metadata(&file.path).is_ok_and(|about| is_older(&about, time));
        if still_old {
            fs::remove_file(&file.path)?;
            let folders = file.path.ancestors().skip(1).take_while(|folder| *folder != self.root);
            // One that has other files in it stays, and so do those around it.
            let _ = folders.map(fs::remove_dir).find(Result::is_err);
        }
        Ok(still_old)
    }
}

fn is_older(about: &fs::Metadata, time: Timestamp) -> bool {
    let modified = about
        .modified()
        .ok()
        .and_then(|modified| Timestamp::try_from(modified).ok());
    modified.is_some_and(|modified| modified < time)
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
