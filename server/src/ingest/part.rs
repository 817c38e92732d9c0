//! A file that bytes are appended to, with the hash of everything in it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::store::Digest;

/// Bytes read at a time when a file is hashed again after a restart.
const HASH_BUFFER: usize = 1 << 20;
/// Bytes that may wait for the disk. A sync of anything else may have to wait for them too, as ext4's journal does:
/// an upload of many MB must not hold up the answer to a small one.
const UNSYNCED: u64 = 4 << 20;

/// A file and the hash of everything in it. There is no file before the first byte.
#[derive(Debug)]
pub struct Part {
    path: PathBuf,
    /// Open while bytes come.
    file: Option<File>,
    /// Bytes that the disk has not been asked to keep.
    unsynced: u64,
    /// None while nobody has read what an earlier process left.
    content: Option<Content>,
}

/// What is in a part.
#[derive(Clone, Debug, Default)]
pub struct Content {
    length: u64,
    hasher: Sha256,
}

impl Part {
    /// The part at `path`, which may have bytes in it already: see [`Self::load`].
    pub fn at(path: PathBuf) -> Self {
        Self {
            path,
            file: None,
            unsynced: 0,
            content: None,
        }
    }

    /// An empty file that was just made.
    pub fn new(path: PathBuf, file: File) -> Self {
        Self {
            path,
            file: Some(file),
            unsynced: 0,
            content: Some(Content::default()),
        }
    }

    /// Hashes what is there, unless that is known.
    pub fn load(&mut self) -> io::Result<()> {
        if self.content.is_some() {
            return Ok(());
        }
        let mut content = Content::default();
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.content = Some(content);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let mut buffer = vec![0; HASH_BUFFER];
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                self.content = Some(content);
                return Ok(());
            }
            content.hasher.update(buffer.get(..read).unwrap_or_default());
            content.length += read as u64;
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is in it, to go back to.
    pub fn content(&self) -> Content {
        self.content.clone().unwrap_or_default()
    }

    /// Bytes in it.
    pub fn length(&self) -> u64 {
        match &self.content {
            Some(content) => content.length,
            None => std::fs::metadata(&self.path).map_or(0, |about| about.len()),
        }
    }

    /// Digest of the bytes in it.
    pub fn digest(&self) -> Digest {
        Digest::finish(self.content().hasher)
    }

    /// Appends the bytes; when that fails nothing of them stays.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.load()?;
        let content = self.content();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(open(&self.path)?),
        };
        file.seek(SeekFrom::Start(content.length))?;
        self.unsynced += bytes.len() as u64;
        let is_due = self.unsynced >= UNSYNCED;
        let mut kept = file.write_all(bytes);
        if is_due {
            kept = kept.and_then(|()| file.sync_data());
        }
        if let Err(error) = kept {
            file.set_len(content.length)?;
            return Err(error);
        }
        if is_due {
            self.unsynced = 0;
        }
        if let Some(content) = &mut self.content {
            content.hasher.update(bytes);
            content.length += bytes.len() as u64;
        }
        metrics::counter!("whycrash_ingest_bytes_total").increment(bytes.len() as u64);
        Ok(())
    }

    /// Drops what came after `content`, and the file when that is nothing.
    pub fn go_back(&mut self, content: Content) -> io::Result<()> {
        if content.length == 0 {
            return self.clear();
        }
        open(&self.path)?.set_len(content.length)?;
        self.content = Some(content);
        Ok(())
    }

    /// Removes the file.
    pub fn clear(&mut self) -> io::Result<()> {
        self.taken();
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Notes that the file has been moved away.
    pub fn taken(&mut self) {
        (self.file, self.content) = (None, Some(Content::default()));
    }

    /// Makes everything durable and closes the file.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.take().map_or(Ok(()), |file| file.sync_all())
    }

    /// Makes the file, which an empty artifact has not had yet.
    pub fn make(&self) -> io::Result<()> {
        open(&self.path).map(drop)
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).open(path)
}
