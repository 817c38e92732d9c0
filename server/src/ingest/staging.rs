//! Files that are still coming in.
//!
//! Bytes gather in memory until there are enough of them to write, and are written and hashed on a blocking thread
//! while the next ones arrive: memory is bounded whatever the size, and a client that sends slowly holds neither a
//! thread nor a place on the disk. An artifact that is sent in chunks lives in a file named after its report and
//! digest, so that an upload goes on where it stopped even after a restart.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::ops::DerefMut;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinHandle;

use super::part::{Content, Part};
use super::space::Space;
use crate::store::{Digest, ReportId, StoreError};

/// Bytes gathered before they are written.
const BATCH: usize = 128 << 10;
/// Parts whose hash is kept although nobody sends to them; others are hashed again when their upload goes on.
const KEPT: usize = 256;
/// How long somebody who only looks at a part may hold it, by far.
const A_LOOK: Duration = Duration::from_millis(200);

type Slot = Arc<tokio::sync::Mutex<Part>>;

/// The folder of files that are still coming in.
#[derive(Debug)]
pub struct Staging {
    folder: PathBuf,
    space: Arc<Space>,
    parts: Mutex<HashMap<(ReportId, Digest), Slot>>,
}

impl Staging {
    /// Uses this folder, which is made if need be, and clears what uploads of an earlier process left half-done;
    /// the parts of resumable uploads stay. The disk keeps `reserve` bytes free.
    pub fn open(folder: &Path, reserve: u64) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "part") {
                fs::remove_file(path)?;
            }
        }
        Ok(Self {
            folder: folder.to_owned(),
            space: Arc::new(Space::new(folder, reserve)),
            parts: Mutex::default(),
        })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The space that is left.
    pub fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// A file for an upload in one go of up to `limit` bytes; removed when dropped.
    pub fn one_shot(&self, limit: u64) -> io::Result<Incoming> {
        let file = tempfile::Builder::new().prefix("upload-").tempfile_in(&self.folder)?;
        let (file, path) = file.into_parts();
        let part = Box::new(Part::new(path.to_path_buf(), file));
        Ok(Incoming {
            writer: Writer::start(part, limit, Arc::clone(&self.space)),
            path,
        })
    }

    /// The part of an artifact that came so far, for one upload at a time; none if another upload of it is going on.
    /// What an earlier process left is not read yet: see [`Part::load`].
    pub fn part(&self, report: &ReportId, digest: &Digest) -> Option<OwnedMutexGuard<Part>> {
        self.slot(report, digest).try_lock_owned().ok()
    }

    /// The same for who is about to send: who only looks how far it has come holds it for a moment, which is waited for.
    pub async fn part_soon(&self, report: &ReportId, digest: &Digest) -> Option<OwnedMutexGuard<Part>> {
        let part = self.slot(report, digest).lock_owned();
        tokio::time::timeout(A_LOOK, part).await.ok()
    }

    fn slot(&self, report: &ReportId, digest: &Digest) -> Slot {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if parts.len() >= KEPT {
            // Who holds a part holds its slot too.
            parts.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        let slot = parts.entry((report.clone(), digest.clone())).or_insert_with(|| {
            let path = self.folder.join(format!("{report}-{digest}.part"));
            Arc::new(tokio::sync::Mutex::new(Part::at(path)))
        });
        Arc::clone(slot)
    }

    /// A writer that goes on with a part, up to `limit` bytes in all.
    pub fn writer(&self, part: OwnedMutexGuard<Part>, limit: u64) -> Writer<OwnedMutexGuard<Part>> {
        Writer::start(part, limit, Arc::clone(&self.space))
    }
}

/// Why bytes were not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// They are more than the file may have.
    #[error("more bytes came than the file may have")]
    TooLong,
    /// They can not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<io::Error> for AppendError {
    fn from(error: io::Error) -> Self {
        Self::Store(error.into())
    }
}

/// A part that bytes are being appended to. Dropping it ends the appending; what was written stays then.
#[derive(Debug)]
pub struct Writer<P> {
    space: Arc<Space>,
    limit: u64,
    /// Bytes in the part once everything is written.
    length: u64,
    /// What was in the part at first.
    start: Content,
    gathered: Vec<u8>,
    part: State<P>,
}

#[derive(Debug)]
enum State<P> {
    Idle(P),
    Writing(JoinHandle<(P, io::Result<()>)>),
    /// A thread that wrote has panicked.
    Gone,
}

impl<P: DerefMut<Target = Part> + Send + 'static> Writer<P> {
    fn start(part: P, limit: u64, space: Arc<Space>) -> Self {
        Self {
            space,
            limit,
            length: part.length(),
            start: part.content(),
            gathered: Vec::new(),
            part: State::Idle(part),
        }
    }

    /// Takes one piece. After an error nothing more can be written: see [`Self::undo`].
    pub async fn write(&mut self, piece: &[u8]) -> Result<(), AppendError> {
        self.length += piece.len() as u64;
        if self.length > self.limit {
            return Err(AppendError::TooLong);
        }
        // Copied, because a piece of one byte may keep the whole buffer alive that it was read into.
        self.gathered.extend_from_slice(piece);
        if self.gathered.len() >= BATCH {
            self.flush().await?;
        }
        Ok(())
    }

    /// Starts to write what was gathered, once what was gathered before is written.
    async fn flush(&mut self) -> Result<(), AppendError> {
        let mut part = self.idle().await?;
        let claim = match self.space.claim(self.gathered.len() as u64) {
            Ok(claim) => claim,
            Err(error) => {
                self.part = State::Idle(part);
                return Err(error.into());
            }
        };
        let bytes = std::mem::take(&mut self.gathered);
        self.part = State::Writing(tokio::task::spawn_blocking(move || {
            let result = part.append(&bytes);
            drop(claim);
            (part, result)
        }));
        Ok(())
    }

    /// The part, once nobody writes to it.
    async fn idle(&mut self) -> Result<P, AppendError> {
        match std::mem::replace(&mut self.part, State::Gone) {
            State::Idle(part) => Ok(part),
            State::Writing(thread) => {
                let (part, result) = thread.await.map_err(io::Error::other)?;
                if let Err(error) = result {
                    self.part = State::Idle(part);
                    return Err(error.into());
                }
                Ok(part)
            }
            State::Gone => Err(io::Error::other("an earlier write did not end").into()),
        }
    }

    /// Makes everything durable; after an error nothing of what came stays.
    pub async fn finish(mut self) -> Result<P, AppendError> {
        let result = self.sync().await;
        self.settle(result).await
    }

    /// Waits until everything is written; after an error nothing of what came stays.
    pub async fn written(mut self) -> Result<P, AppendError> {
        let result = self.write_rest().await;
        self.settle(result).await
    }

    async fn settle(self, result: Result<P, AppendError>) -> Result<P, AppendError> {
        if result.is_err() {
            self.undo().await;
        }
        result
    }

    async fn write_rest(&mut self) -> Result<P, AppendError> {
        if !self.gathered.is_empty() {
            self.flush().await?;
        }
        self.idle().await
    }

    async fn sync(&mut self) -> Result<P, AppendError> {
        let mut part = self.write_rest().await?;
        let synced = tokio::task::spawn_blocking(move || {
            let result = part.sync();
            (part, result)
        });
        self.part = State::Writing(synced);
        self.idle().await
    }

    /// Drops everything that came.
    pub async fn undo(mut self) {
        while let State::Writing(_) = self.part {
            if let Ok(part) = self.idle().await {
                self.part = State::Idle(part);
            }
        }
        if let State::Idle(mut part) = self.part {
            let undone = tokio::task::spawn_blocking(move || part.go_back(self.start)).await;
            if let Ok(Err(error)) = undone {
                tracing::warn!(%error, "can not remove what came of an upload that failed");
            }
        }
    }
}

/// An upload in one go.
#[derive(Debug)]
pub struct Incoming {
    writer: Writer<Box<Part>>,
    path: tempfile::TempPath,
}

/// An upload in one go that is all here. Its file is removed when dropped; who keeps it makes it durable.
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
    /// Takes one piece. After an error nothing more can be written.
    pub async fn write(&mut self, piece: &[u8]) -> Result<(), AppendError> {
        self.writer.write(piece).await
    }

    /// Waits until everything is written.
    pub async fn finish(self) -> Result<Received, AppendError> {
        let part = self.writer.written().await?;
        Ok(Received {
            path: self.path,
            bytes: part.length(),
            digest: part.digest(),
        })
    }
}
