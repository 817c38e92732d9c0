//! Where things are kept, behind traits so that a fleet can keep them elsewhere.
//!
//! [`Records`] (reports and their documents), [`Jobs`] (what is still to be read) and [`Blobs`] (artifacts by
//! content) are the truth; everything else is derived from them. [`sqlite`] and [`files`] are the implementations
//! of the single binary. What every implementation must do is written down as a conformance suite in the tests.

pub mod files;
mod ids;
mod jobs;
mod modules;
mod records;
pub mod sqlite;
mod tokens;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;

pub use ids::{Digest, ReportId};
pub use jobs::{Job, JobCounts, Jobs, Lease};
pub use modules::{Arrival, ModuleUse, Modules};
pub use records::{
    ArtifactRecord, CauseCount, Group, NewReport, Page, Records, ReportRecord, ReportState, StoredDocument, Summary,
};
pub use tokens::{Scope, Token, TokenRecord, Tokens};

/// Why a store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No space is left where it writes. Nothing was half-written.
    #[error("the disk is full: {0}")]
    Full(String),
    /// The job queue holds as many jobs as it may.
    #[error("the job queue is full")]
    QueueFull,
    /// Another worker holds the job's lease by now: this one's result is void.
    #[error("the lease on job {0} was lost")]
    LeaseLost(ReportId),
    /// What is stored does not have the form it must have.
    #[error("stored data is damaged: {0}")]
    Damaged(String),
    /// The store did not answer as it should.
    #[error("the store failed: {0}")]
    Failed(String),
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        if is_full(&error) {
            Self::Full(error.to_string())
        } else {
            Self::Failed(error.to_string())
        }
    }
}

/// Whether the error means that no more can be written: no space, over quota, or over the size a file may have.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

/// What a store operation returns.
pub type Result<T> = std::result::Result<T, StoreError>;

/// The bytes of a blob, piece by piece.
pub type ByteStream = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// A blob's bytes as a file of this machine, for as long as the value lives.
#[derive(Debug)]
pub struct LocalBlob {
    /// Where the bytes are.
    pub path: PathBuf,
    /// Removes a copy that was made for this value alone.
    pub guard: Option<tempfile::TempPath>,
}

/// Artifacts by the SHA-256 of their bytes. The same bytes are stored once, whoever sends them.
#[async_trait]
pub trait Blobs: Send + Sync + std::fmt::Debug {
    /// Takes over the local file `staged`, whose bytes hash to `digest`. Durable when it returns; the file is gone
    /// then. Doing it again with the same bytes changes nothing.
    async fn put(&self, digest: &Digest, staged: &Path) -> Result<()>;

    /// Size in bytes, or none if there is no such blob.
    async fn size(&self, digest: &Digest) -> Result<Option<u64>>;

    /// Bytes `range` of the blob (cut to its size), or none if there is no such blob.
    async fn read(&self, digest: &Digest, range: Range<u64>) -> Result<Option<ByteStream>>;

    /// The blob as a local file, or none if there is no such blob.
    async fn local(&self, digest: &Digest) -> Result<Option<LocalBlob>>;

    /// Removes the blob; removing what is not there is no error.
    async fn delete(&self, digest: &Digest) -> Result<()>;
}
