//! The index's files, read with system calls.
//!
//! Mapped into memory they would be faster to set up, but a process that touches a mapped page of a file that somebody
//! has cut short ends by SIGBUS. Read like this, a damaged index is an error that can be answered.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use ::tantivy::HasLen;
use ::tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use ::tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, OwnedBytes, WatchCallback, WatchHandle, WritePtr,
};

/// Files up to this size, in bytes, are read whole when they are opened: they need no file descriptor then.
const WHOLE: u64 = 256 << 10;

/// A folder of index files.
#[derive(Clone)]
pub struct Files {
    folder: PathBuf,
    /// Everything but reading is done the common way.
    inner: MmapDirectory,
    /// Files of an index never change, so those that are open serve everybody.
    open: Arc<Mutex<HashMap<PathBuf, Weak<OpenFile>>>>,
}

impl Files {
    /// The files in this folder.
    pub fn open(folder: &Path) -> ::tantivy::Result<Self> {
        Ok(Self {
            folder: folder.to_owned(),
            inner: MmapDirectory::open(folder)?,
            open: Arc::default(),
        })
    }

    /// Whether every file that is in use is still there, with the length it had.
    pub fn are_whole(&self) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let in_use = open.iter().filter_map(|(path, file)| Some((path, file.upgrade()?)));
        in_use.into_iter().all(|(path, file)| {
            std::fs::metadata(self.folder.join(path)).is_ok_and(|about| about.len() == file.length as u64)
        })
    }

    fn handle(&self, path: &Path) -> io::Result<Arc<OpenFile>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = open.get(path).and_then(Weak::upgrade) {
            return Ok(file);
        }
        open.retain(|_, file| file.strong_count() > 0);
        let file = Arc::new(OpenFile::open(&self.folder.join(path))?);
        open.insert(path.to_owned(), Arc::downgrade(&file));
        Ok(file)
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Directory for Files {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        match self.handle(path) {
            Ok(file) => Ok(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(OpenReadError::FileDoesNotExist(path.to_owned()))
            }
            Err(error) => Err(OpenReadError::wrap_io_error(error, path.to_owned())),
        }
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
        self.inner.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.inner.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.inner.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.inner.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.inner.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.inner.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.inner.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> ::tantivy::Result<WatchHandle> {
        self.inner.watch(callback)
    }
}

/// A file of the index: all of it, or a way to read it.
struct OpenFile {
    length: usize,
    content: Content,
}

enum Content {
    Whole(OwnedBytes),
    File(File),
}

impl OpenFile {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut opened = Self {
            length: length as usize,
            content: Content::File(file),
        };
        if length <= WHOLE {
            opened.content = Content::Whole(opened.read_bytes(0..opened.length)?);
        }
        Ok(opened)
    }
}

impl FileHandle for OpenFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        if range.start > range.end || range.end > self.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match &self.content {
            Content::Whole(bytes) => Ok(bytes.slice(range)),
            Content::File(file) => {
                let mut bytes = vec![0; range.len()];
                file.read_exact_at(&mut bytes, range.start as u64)?;
                Ok(OwnedBytes::new(bytes))
            }
        }
    }
}

impl HasLen for OpenFile {
    fn len(&self) -> usize {
        self.length
    }
}

impl fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenFile")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}
