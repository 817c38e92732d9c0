//! Blobs as files of this machine, through the `object_store` crate's local file system.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures_util::StreamExt;
use jiff::Timestamp;
use object_store::ObjectStoreExt;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Location;
use tokio::io::AsyncReadExt;
use tokio_util::io::ReaderStream;

use super::sqlite::blocking;
use super::{BlobFacts, Blobs, ByteStream, Digest, LocalBlob, Result, StoreError, kept_now};

/// Bytes per piece of a blob that is read.
const READ_PIECE: usize = 256 << 10;

/// Blobs in a folder, one file each: `sha256/ab/ab12…`. A file's time of modification is when it was claimed last.
#[derive(Debug)]
pub struct FileBlobs {
    store: LocalFileSystem,
    root: Location,
    /// Held while a blob is claimed or collected: between the look at its time and its end nobody may claim it.
    claims: Arc<Mutex<()>>,
}

impl FileBlobs {
    /// Blobs in this folder, which is made if need be. What is put must be staged on the same file system.
    pub fn open(root: &Path) -> Result<Self> {
        fs::create_dir_all(root)?;
        let root = Location::from_filesystem_path(root).map_err(|error| StoreError::Failed(error.to_string()))?;
        // The whole file system, because staged files are moved in from another folder of it.
        Ok(Self {
            store: LocalFileSystem::new().with_fsync(true),
            root,
            claims: Arc::default(),
        })
    }

    fn location(&self, digest: &Digest) -> Location {
        let digest = digest.as_str();
        self.root.clone().join("sha256").join(&digest[..2]).join(digest)
    }

    fn path(&self, digest: &Digest) -> Result<PathBuf> {
        Ok(self.store.path_to_filesystem(&self.location(digest))?)
    }

    /// The blob's file and its size, or none.
    async fn file(&self, digest: &Digest) -> Result<Option<(File, u64)>> {
        let path = self.path(digest)?;
        blocking(move || match File::open(&path) {
            Ok(file) => {
                let size = file.metadata()?.len();
                Ok(Some((file, size)))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        })
        .await
    }
}

#[async_trait]
impl Blobs for FileBlobs {
    async fn put(&self, digest: &Digest, staged: &Path) -> Result<()> {
        let staged = staged.to_owned();
        if self.claim(digest).await?.is_some() {
            // Whoever put it first may still be about to sync the folder, and our caller answers when we return.
            let path = self.path(digest)?;
            return blocking(move || {
                if let Some(folder) = path.parent() {
                    File::open(folder)?.sync_all()?;
                }
                Ok(fs::remove_file(&staged)?)
            })
            .await;
        }
        let from = Location::from_filesystem_path(&staged).map_err(|error| StoreError::Failed(error.to_string()))?;
        blocking(move || {
            let file = File::options().write(true).open(&staged)?;
            file.set_modified(kept_now().into())?;
            Ok(file.sync_all()?)
        })
        .await?;
        // Atomic, and the folder's entry is synced before it returns.
        Ok(self.store.rename(&from, &self.location(digest)).await?)
    }

    async fn claim(&self, digest: &Digest) -> Result<Option<u64>> {
        let (path, claims) = (self.path(digest)?, Arc::clone(&self.claims));
        blocking(move || {
            let _guard = claims.lock().unwrap_or_else(PoisonError::into_inner);
            let file = match File::options().write(true).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            file.set_modified(kept_now().into())?;
            Ok(Some(file.metadata()?.len()))
        })
        .await
    }

    async fn size(&self, digest: &Digest) -> Result<Option<u64>> {
        let path = self.path(digest)?;
        blocking(move || match fs::metadata(&path) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        })
        .await
    }

    async fn read(&self, digest: &Digest, range: Range<u64>) -> Result<Option<ByteStream>> {
        let Some((mut file, size)) = self.file(digest).await? else {
            return Ok(None);
        };
        let start = range.start.min(size);
        let file = blocking(move || {
            file.seek(SeekFrom::Start(start))?;
            Ok(file)
        })
        .await?;
        let part = tokio::fs::File::from_std(file).take(range.end.saturating_sub(start));
        Ok(Some(ReaderStream::with_capacity(part, READ_PIECE).boxed()))
    }

    async fn local(&self, digest: &Digest) -> Result<Option<LocalBlob>> {
        if self.size(digest).await?.is_none() {
            return Ok(None);
        }
        Ok(Some(LocalBlob {
            path: self.path(digest)?,
            guard: None,
        }))
    }

    async fn list(&self, after: Option<&Digest>, limit: usize) -> Result<Vec<BlobFacts>> {
        let root = self.store.path_to_filesystem(&self.root.clone().join("sha256"))?;
        let after = after.map(|digest| digest.as_str().to_owned()).unwrap_or_default();
        blocking(move || list(&root, &after, limit)).await
    }

    async fn collect(&self, digest: &Digest, before: Timestamp) -> Result<bool> {
        let (path, claims) = (self.path(digest)?, Arc::clone(&self.claims));
        blocking(move || {
            let _guard = claims.lock().unwrap_or_else(PoisonError::into_inner);
            let old = match fs::metadata(&path) {
                Ok(about) => claimed(&about)? < before,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
                Err(error) => return Err(error.into()),
            };
            if old {
                fs::remove_file(&path)?;
            }
            Ok(old)
        })
        .await
    }
}

/// Blobs after `after`, folder by folder.
fn list(root: &Path, after: &str, limit: usize) -> Result<Vec<BlobFacts>> {
    let mut blobs = Vec::new();
    for prefix in names(root)? {
        if prefix.as_str() < after.get(..prefix.len()).unwrap_or_default() {
            continue;
        }
        for name in names(&root.join(&prefix))? {
            if blobs.len() == limit {
                return Ok(blobs);
            }
            let Ok(digest) = name.parse::<Digest>() else { continue };
            if name.as_str() <= after {
                continue;
            }
            // One that goes away meanwhile is not there any more.
            let Ok(about) = fs::metadata(root.join(&prefix).join(&name)) else {
                continue;
            };
            let (bytes, claimed) = (about.len(), claimed(&about)?);
            blobs.push(BlobFacts { digest, bytes, claimed });
        }
    }
    Ok(blobs)
}

/// Names in a folder in order; none if there is no such folder.
fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<_>>>()?;
    names.sort_unstable();
    Ok(names)
}

fn claimed(about: &fs::Metadata) -> Result<Timestamp> {
    Timestamp::try_from(about.modified()?).map_err(|error| StoreError::Damaged(format!("a blob's time: {error}")))
}

impl From<object_store::Error> for StoreError {
    fn from(error: object_store::Error) -> Self {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(current) = cause {
            if let Some(io) = current.downcast_ref::<std::io::Error>() {
                return Self::from(io);
            }
            cause = current.source();
        }
        Self::Failed(error.to_string())
    }
}
