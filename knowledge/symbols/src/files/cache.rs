//! What was opened, kept for the next crash that maps the same files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::files::regular::{Identity, RegularFile};

/// Entries that are kept, whatever their size. A training process maps a few hundred files.
const MAX_ENTRIES: usize = 2048;

/// Opened files by path. A file that changed since is opened again; those used longest ago make room.
///
/// Each file is opened outside of the lock and once: who wants the same one waits for it, and nobody else.
#[derive(Debug)]
pub(crate) struct Cache<T> {
    entries: Mutex<Entries<T>>,
    /// What may be kept, in bytes of [`Kept::held`].
    bytes: u64,
}

/// What can be kept.
pub(crate) trait Kept {
    /// Bytes of memory it holds, roughly.
    fn held(&self) -> u64;

    /// Whether it can be used again: what it was made of besides its file is as it was.
    fn is_current(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Entries<T> {
    by_path: HashMap<PathBuf, Entry<T>>,
    /// Counts the uses.
    clock: u64,
}

/// What was made of a file; nothing in it for a file that could not be used.
type Cell<T> = Arc<OnceLock<Option<Arc<T>>>>;

#[derive(Debug)]
struct Entry<T> {
    identity: Identity,
    opened: Cell<T>,
    used: u64,
}

impl<T: Kept> Cache<T> {
    /// A cache of so many bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        let entries = Entries {
            by_path: HashMap::new(),
            clock: 0,
        };
        Self {
            entries: Mutex::new(entries),
            bytes,
        }
    }

    /// What `open` makes of a file, unless it was opened before and is still the same.
    pub(crate) fn get(&self, file: &RegularFile, open: impl FnOnce() -> Option<T>) -> Option<Arc<T>> {
        let mut cell = self.entries().cell(file, None);
        // Looks at files, and so not under the lock.
        if cell
            .get()
            .and_then(Option::as_ref)
            .is_some_and(|known| !known.is_current())
        {
            cell = self.entries().cell(file, Some(&cell));
        }
        let mut is_new = false;
        let opened = cell.get_or_init(|| {
            is_new = true;
            open().map(Arc::new)
        });
        let opened = opened.clone();
        if is_new {
            self.entries().make_room(self.bytes, file.path());
        }
        opened
    }

    fn entries(&self) -> MutexGuard<'_, Entries<T>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Kept> Entries<T> {
    /// The place of a file: that of its last opening, unless the file changed since or that one is out of date.
    fn cell(&mut self, file: &RegularFile, outdated: Option<&Cell<T>>) -> Cell<T> {
        self.clock += 1;
        let known = self.by_path.get_mut(file.path()).filter(|entry| {
            let is_outdated = outdated.is_some_and(|outdated| Arc::ptr_eq(outdated, &entry.opened));
            entry.identity == file.identity() && !is_outdated
        });
        if let Some(known) = known {
            known.used = self.clock;
            return Arc::clone(&known.opened);
        }
        let entry = Entry {
            identity: file.identity(),
            opened: Arc::default(),
            used: self.clock,
        };
        let cell = Arc::clone(&entry.opened);
        self.by_path.insert(file.path().to_owned(), entry);
        cell
    }

    /// Forgets what was used longest ago until the rest fits; what was opened last goes first if it alone does not.
    fn make_room(&mut self, bytes: u64, last: &Path) {
        let is_too_large = |entry: &Entry<T>| entry.held() > bytes;
        if self.by_path.get(last).is_some_and(is_too_large) {
            self.by_path.remove(last);
        }
        let mut held: u64 = self.by_path.values().map(Entry::held).sum();
        if held <= bytes && self.by_path.len() <= MAX_ENTRIES {
            return;
        }
        let mut oldest: Vec<_> = self
            .by_path
            .iter()
            .map(|(path, entry)| (entry.used, path.clone()))
            .collect();
        oldest.sort_unstable();
        for (_, path) in oldest {
            if held <= bytes && self.by_path.len() <= MAX_ENTRIES {
                return;
            }
            held -= self.by_path.remove(&path).map_or(0, |entry| entry.held());
        }
    }
}

impl<T: Kept> Entry<T> {
    fn file(&self) -> Option<&Arc<T>> {
        self.opened.get()?.as_ref()
    }

    fn held(&self) -> u64 {
        self.file().map_or(0, |file| file.held())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::regular::{MAX_FILE, find_regular};

    impl Kept for u64 {
        fn held(&self) -> u64 {
            *self
        }
    }

    /// A folder with some files, a cache of ten bytes, and how often files were opened.
    struct Files {
        folder: tempfile::TempDir,
        cache: Cache<u64>,
        opened: std::cell::Cell<usize>,
    }

    impl Files {
        fn new() -> Self {
            Self {
                folder: tempfile::tempdir().expect("a temporary folder"),
                cache: Cache::new(10),
                opened: std::cell::Cell::new(0),
            }
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.folder.path().join(name), text).expect("room");
        }

        /// Whether a file that holds this much had to be opened.
        fn opens(&self, name: &str, held: u64) -> bool {
            let file = find_regular(&self.folder.path().join(name), MAX_FILE).expect("a file");
            let before = self.opened.get();
            let found = self.cache.get(&file, || {
                self.opened.set(before + 1);
                Some(held)
            });
            assert_eq!(found.as_deref(), Some(&held));
            self.opened.get() > before
        }
    }

    #[test]
    fn a_file_is_opened_again_when_it_was_replaced() {
        let files = Files::new();
        files.write("a", "one");
        assert!(files.opens("a", 3));
        assert!(!files.opens("a", 3));
        files.write("b", "two");
        std::fs::rename(files.folder.path().join("b"), files.folder.path().join("a")).expect("a rename");
        assert!(files.opens("a", 3), "same size, another file");
        files.write("a", "three");
        assert!(files.opens("a", 5), "written to in place");
    }

    #[test]
    fn what_was_used_longest_ago_makes_room() {
        let files = Files::new();
        for name in ["a", "b", "c", "d"] {
            files.write(name, name);
        }
        assert!(files.opens("a", 4));
        assert!(files.opens("b", 4));
        assert!(!files.opens("a", 4));
        assert!(files.opens("c", 4), "more than ten bytes by now");
        assert!(!files.opens("a", 4));
        assert!(files.opens("b", 4), "it had to go");
        assert!(files.opens("d", 11), "larger than the cache");
        assert!(files.opens("d", 11), "and so not kept");
        assert!(!files.opens("b", 4), "nor did anything go for it");
    }
}
