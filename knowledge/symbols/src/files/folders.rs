//! The symbol folders: which of their files is of which build.

use std::collections::HashMap;
use std::io::{ErrorKind, Read as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use debugid::DebugId;

use crate::files::build_id::debug_id;
use crate::files::object_file::ObjectFile;
use crate::files::reach::Reach;
use crate::files::symbol_file::{SymbolIdentity, SymbolKind};

/// Files of the symbol folders that are looked at.
const MAX_FILES: usize = 100_000;
/// Longest first line of a symbol file that is looked at.
const MAX_MODULE_LINE: u64 = 4096;
/// How long a list of the folders is good at least.
const GOOD_FOR: Duration = Duration::from_secs(60);
/// How many times what listing took a list is good, so that large folders are not listed all the time.
const GOOD_FOR_TIMES: u32 = 50;

/// The folders, listed when they are first asked for, and again once in a while.
#[derive(Debug)]
pub(crate) struct Folders {
    reach: Arc<Reach>,
    /// Files that are looked at.
    max_files: usize,
    list: Mutex<Arc<OnceLock<List>>>,
    /// Whether somebody lists them again at this moment; everybody else goes on with the list there is.
    is_listing: AtomicBool,
}

#[derive(Debug)]
struct List {
    index: Arc<Index>,
    made: Instant,
    took: Duration,
}

/// The files of the folders.
#[derive(Debug, Default)]
struct Index {
    by_name: HashMap<String, Vec<PathBuf>>,
    by_build_id: HashMap<String, Vec<PathBuf>>,
    /// Breakpad symbol files by the debug id of what they describe.
    symbol_files: HashMap<DebugId, PathBuf>,
    /// Set when there are more files than are looked at.
    is_cut: bool,
}

impl Folders {
    /// The folders that are in reach.
    pub(crate) fn new(reach: &Arc<Reach>) -> Self {
        Self {
            reach: Arc::clone(reach),
            max_files: MAX_FILES,
            list: Mutex::default(),
            is_listing: AtomicBool::new(false),
        }
    }

    /// Whether there are more files than are looked at.
    pub(crate) fn is_cut(&self) -> bool {
        self.index().is_cut
    }

    /// Files with this build id, then those with this name; of several with the id, one with the name first.
    pub(crate) fn files(&self, build_id: Option<&str>, name: &str) -> Vec<PathBuf> {
        let index = self.index();
        let by_id = build_id.and_then(|id| index.by_build_id.get(id));
        let mut found = by_id.cloned().unwrap_or_default();
        found.sort_by_key(|path| path.file_name().is_none_or(|found| found != name));
        // What was put where debuggers look since the folders were listed.
        found.extend(build_id.into_iter().flat_map(|id| self.placed(id)));
        found.extend(index.by_name.get(name).into_iter().flatten().cloned());
        found
    }

    /// The Breakpad symbol file for a debug id: that at the place of the id, or any whose first line has it.
    pub(crate) fn symbol_file(&self, id: DebugId) -> Option<PathBuf> {
        let place = SymbolIdentity::breakpad_place(id);
        let placed = self.reach.folders().iter().map(|folder| folder.join(&place));
        let mut placed = placed.filter(|path| self.reach.find(path).is_ok());
        placed.next().or_else(|| self.index().symbol_files.get(&id).cloned())
    }

    /// Files at the place that the build id gives them below a folder.
    fn placed(&self, build_id: &str) -> Vec<PathBuf> {
        let places =
            [SymbolKind::Executable, SymbolKind::DebugInfo].map(|kind| SymbolIdentity::elf_place(build_id, kind));
        let folders = self.reach.folders().iter();
        folders
            .flat_map(|folder| places.iter().flatten().map(|place| folder.join(place)))
            .filter(|path| self.reach.find(path).is_ok())
            .collect()
    }

    fn index(&self) -> Arc<Index> {
        let list = Arc::clone(&self.list());
        // Outside of the lock: who needs the first list waits for it, and nobody else.
        let known = list.get_or_init(|| self.make_list());
        let good_for = GOOD_FOR.max(known.took.saturating_mul(GOOD_FOR_TIMES));
        if known.made.elapsed() > good_for && !self.is_listing.swap(true, Ordering::AcqRel) {
            let made = self.make_list();
            let index = Arc::clone(&made.index);
            *self.list() = Arc::new(OnceLock::from(made));
            self.is_listing.store(false, Ordering::Release);
            return index;
        }
        Arc::clone(&known.index)
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Arc<OnceLock<List>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn make_list(&self) -> List {
        let started = Instant::now();
        let index = Arc::new(Index::of(&self.reach, self.max_files));
        List {
            index,
            made: Instant::now(),
            took: started.elapsed(),
        }
    }
}

impl Index {
    fn of(reach: &Arc<Reach>, max_files: usize) -> Self {
        let mut index = Self::default();
        let mut pending = reach.listed_folders().to_vec();
        let mut seen = 0;
        while let Some(folder) = pending.pop() {
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            for entry in entries {
                seen += 1;
                if seen > max_files {
                    tracing::warn!(
                        limit = max_files,
                        "the symbol folders hold more files than are looked at"
                    );
                    index.is_cut = true;
                    return index;
                }
                let path = entry.path();
                // A link to a folder could lead back to itself.
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    pending.push(path);
                } else {
                    index.add(path, reach);
                }
            }
        }
        index
    }

    fn add(&mut self, path: PathBuf, reach: &Arc<Reach>) {
        let file = match reach.find(&path) {
            Ok(file) => file,
            // Who asks for it by its name is told that it is too large.
            Err(error) if error.kind() == ErrorKind::FileTooLarge => return self.add_name(path),
            Err(_) => return,
        };
        let mut head = Vec::new();
        let read = file
            .open()
            .and_then(|file| file.take(MAX_MODULE_LINE).read_to_end(&mut head));
        if read.is_err() {
            return;
        }
        if let Some(id) = symbol_file_id(&head) {
            self.symbol_files.insert(id, path);
            return;
        }
        if !head.starts_with(b"\x7fELF") {
            return;
        }
        if let Some(build_id) = ObjectFile::open(&file, reach).and_then(|file| file.build_id) {
            self.by_build_id.entry(build_id).or_default().push(path.clone());
        }
        self.add_name(path);
    }

    fn add_name(&mut self, path: PathBuf) {
        if let Some(name) = path.file_name() {
            self.by_name
                .entry(name.to_string_lossy().into_owned())
                .or_default()
                .push(path);
        }
    }
}

/// The debug id in the first line of a Breakpad symbol file: `MODULE Linux x86_64 5A865AB2…0 name`.
fn symbol_file_id(head: &[u8]) -> Option<DebugId> {
    let line = head.strip_prefix(b"MODULE ")?.split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    debug_id(words.nth(2)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_beyond_the_cap_are_said() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["a", "b", "c"] {
            std::fs::write(folder.path().join(name), name).expect("room");
        }
        let is_cut = |max_files| {
            let reach = Arc::new(Reach::new(vec![folder.path().to_owned()], None, false));
            let folders = Folders {
                max_files,
                ..Folders::new(&reach)
            };
            folders.is_cut()
        };
        assert!(!is_cut(3));
        assert!(is_cut(2));
    }
}
