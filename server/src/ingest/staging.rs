//! Files that are still coming in.
//!
//! Bytes are written and hashed on a blocking thread while the next ones arrive; a few pieces wait in between, so
//! memory is bounded whatever the size. An artifact that is sent in chunks lives in a file named after its report
//! and digest, so that an upload goes on where it stopped even after a restart.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::sync::{OwnedMutexGuard, mpsc};
use tokio::task::JoinHandle;

use crate::store::{Digest, ReportId};

/// Pieces that may wait between the network and the disk.
const PIECES: usize = 16;
/// Bytes read at a time when a part is hashed again after a restart.
const HASH_BUFFER: usize = 1 << 20;

type Parts = HashMap<(ReportId, Digest), Arc<tokio::sync::Mutex<Part>>>;

/// The folder of files that are still coming in.
#[derive(Debug)]
pub struct Staging {
    folder: PathBuf,
    parts: Mutex<Parts>,
}

impl Staging {
    /// Uses this folder, which is made if need be, and clears what uploads of an earlier process left half-done;
    /// the parts of resumable uploads stay.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "part") {
                fs::remove_file(path)?;
            }
        }
        Ok(Self {
            folder: folder.to_owned(),
            parts: Mutex::default(),
        })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file for an upload in one go of up to `limit` bytes; removed when dropped.
    pub fn one_shot(&self, limit: u64) -> io::Result<Incoming> {
        let path = tempfile::Builder::new()
            .prefix("upload-")
            .tempfile_in(&self.folder)?
            .into_temp_path();
        let part = Box::new(Part::open(path.to_path_buf())?);
        Ok(Incoming {
            writer: Writer::start(part, limit),
            path,
        })
    }

    /// The part of an artifact that came so far, for one upload at a time; none if another upload of it is going on.
    pub async fn part(&self, report: &ReportId, digest: &Digest) -> io::Result<Option<OwnedMutexGuard<Part>>> {
        let key = (report.clone(), digest.clone());
        if let Some(known) = self.known(&key) {
            return Ok(known.try_lock_owned().ok());
        }
        let path = self.folder.join(format!("{report}-{digest}.part"));
        let opened = tokio::task::spawn_blocking(move || Part::open(path))
            .await
            .map_err(io::Error::other)??;
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let part = parts
            .entry(key)
            .or_insert_with(|| Arc::new(tokio::sync::Mutex::new(opened)));
        Ok(Arc::clone(part).try_lock_owned().ok())
    }

    fn known(&self, key: &(ReportId, Digest)) -> Option<Arc<tokio::sync::Mutex<Part>>> {
        self.parts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(key)
            .cloned()
    }

    /// Forgets a part whose file has been moved away or removed.
    pub fn forget(&self, report: &ReportId, digest: &Digest) {
        self.parts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&(report.clone(), digest.clone()));
    }
}

/// A file and the hash of everything in it.
#[derive(Debug)]
pub struct Part {
    path: PathBuf,
    length: u64,
    hasher: Sha256,
}

impl Part {
    /// The file at `path`, made if need be; what is in it already is hashed.
    fn open(path: PathBuf) -> io::Result<Self> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)?;
        let (mut hasher, mut length, mut buffer) = (Sha256::new(), 0, vec![0; HASH_BUFFER]);
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                return Ok(Self { path, length, hasher });
            }
            hasher.update(buffer.get(..read).unwrap_or_default());
            length += read as u64;
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes in it.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Digest of the bytes in it.
    pub fn digest(&self) -> Digest {
        Digest::finish(self.hasher.clone())
    }

    /// Empties it.
    pub fn clear(&mut self) -> io::Result<()> {
        (self.length, self.hasher) = (0, Sha256::new());
        OpenOptions::new().write(true).open(&self.path)?.set_len(0)
    }

    /// Appends all pieces and makes them durable. When that fails nothing of them stays.
    fn append(&mut self, pieces: &mut mpsc::Receiver<Bytes>, limit: u64) -> Result<(), AppendError> {
        let (length, hasher) = (self.length, self.hasher.clone());
        let mut file = OpenOptions::new().write(true).open(&self.path)?;
        let result = self.append_to(&mut file, pieces, limit);
        if result.is_err() {
            (self.length, self.hasher) = (length, hasher);
            file.set_len(length)?;
        }
        result
    }

    fn append_to(
        &mut self,
        file: &mut File,
        pieces: &mut mpsc::Receiver<Bytes>,
        limit: u64,
    ) -> Result<(), AppendError> {
        file.seek(SeekFrom::Start(self.length))?;
        while let Some(piece) = pieces.blocking_recv() {
            let length = self.length + piece.len() as u64;
            if length > limit {
                return Err(AppendError::TooLong);
            }
            file.write_all(&piece)?;
            self.hasher.update(&piece);
            self.length = length;
            metrics::counter!("whycrash_ingest_bytes_total").increment(piece.len() as u64);
        }
        Ok(file.sync_all()?)
    }
}

/// Why bytes were not appended. Nothing of them stays then.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// They are more than the file may have.
    #[error("more bytes came than the file may have")]
    TooLong,
    /// They can not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A part that bytes are being appended to.
#[derive(Debug)]
pub struct Writer<P> {
    pieces: mpsc::Sender<Bytes>,
    written: JoinHandle<(P, Result<(), AppendError>)>,
}

impl<P: std::ops::DerefMut<Target = Part> + Send + 'static> Writer<P> {
    /// Starts to append, up to `limit` bytes in all. Dropping the writer ends the appending too; what was written
    /// stays then.
    pub fn start(mut part: P, limit: u64) -> Self {
        let (pieces, mut receiver) = mpsc::channel(PIECES);
        let written = tokio::task::spawn_blocking(move || {
            let result = part.append(&mut receiver, limit);
            (part, result)
        });
        Self { pieces, written }
    }

    /// Hands over one piece; false when writing has failed, which [`Self::finish`] tells more about.
    pub async fn write(&self, piece: Bytes) -> bool {
        self.pieces.send(piece).await.is_ok()
    }

    /// Waits until everything is durable.
    pub async fn finish(self) -> Result<P, AppendError> {
        drop(self.pieces);
        let (part, result) = self.written.await.map_err(io::Error::other)?;
        result.map(|()| part)
    }
}

/// An upload in one go.
#[derive(Debug)]
pub struct Incoming {
    writer: Writer<Box<Part>>,
    path: tempfile::TempPath,
}

/// An upload in one go that is durable, but not yet a blob.
#[derive(Debug)]
pub struct Received {
    /// Where it is until then.
    pub path: tempfile::TempPath,
    /// Its size.
    pub bytes: u64,
    /// Its digest.
    pub digest: Digest,
}

impl Incoming {
    /// Hands over one piece; false when writing has failed.
    pub async fn write(&self, piece: Bytes) -> bool {
        self.writer.write(piece).await
    }

    /// Waits until everything is durable.
    pub async fn finish(self) -> Result<Received, AppendError> {
        let part = self.writer.finish().await?;
        Ok(Received {
            path: self.path,
            bytes: part.length(),
            digest: part.digest(),
        })
    }
}
