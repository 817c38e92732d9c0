//! Blobs as files of this machine, through the `object_store` crate's local file system.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use futures_util::StreamExt;
use object_store::ObjectStoreExt;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Location;
use tokio::io::AsyncReadExt;
use tokio_util::io::ReaderStream;

use super::sqlite::blocking;
use super::{Blobs, ByteStream, Digest, LocalBlob, Result, StoreError};

/// Bytes per piece of a blob that is read.
const READ_PIECE: usize = 256 << 10;

/// Blobs in a folder, one file each: `sha256/ab/ab12…`.
#[derive(Debug)]
pub struct FileBlobs {
    store: LocalFileSystem,
    root: Location,
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
        if self.size(digest).await?.is_some() {
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
        blocking(move || Ok(File::open(&staged)?.sync_all()?)).await?;
        // Atomic, and the folder's entry is synced before it returns.
        Ok(self.store.rename(&from, &self.location(digest)).await?)
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

    async fn delete(&self, digest: &Digest) -> Result<()> {
        match self.store.delete(&self.location(digest)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl From<object_store::Error> for StoreError {
    fn from(error: object_store::Error) -> Self {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(current) = cause {
            if current.downcast_ref::<std::io::Error>().is_some_and(super::is_full) {
                return Self::Full(error.to_string());
            }
            cause = current.source();
        }
        Self::Failed(error.to_string())
    }
}
