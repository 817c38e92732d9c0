//! Artifacts by the SHA-256 of their bytes.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;
use jiff::Timestamp;

use super::{Digest, Result};

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

/// What is known of a blob without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobFacts {
    /// Digest of its bytes.
    pub digest: Digest,
    /// Size in bytes.
    pub bytes: u64,
    /// When it was put or claimed last.
    pub claimed: Timestamp,
}

/// Artifacts by the SHA-256 of their bytes. The same bytes are stored once, whoever sends them.
///
/// Bytes that no report refers to are collected. So that none are taken away from somebody who is about to refer to
/// them, [`put`](Self::put) and [`claim`](Self::claim) note the time, and [`collect`](Self::collect) leaves alone what
/// was noted after the time it is given: who has put or claimed a blob has that long to add a report with it.
#[async_trait]
pub trait Blobs: Send + Sync + std::fmt::Debug {
    /// Takes over the local file `staged`, whose bytes hash to `digest`. Durable when it returns; the file is gone
    /// then. Doing it again with the same bytes only claims the blob.
    async fn put(&self, digest: &Digest, staged: &Path) -> Result<()>;

    /// Notes that the blob is about to be referred to: its size in bytes, or none if there is no such blob.
    async fn claim(&self, digest: &Digest) -> Result<Option<u64>>;

    /// Size in bytes, or none if there is no such blob.
    async fn size(&self, digest: &Digest) -> Result<Option<u64>>;

    /// Bytes `range` of the blob (cut to its size), or none if there is no such blob.
    async fn read(&self, digest: &Digest, range: Range<u64>) -> Result<Option<ByteStream>>;

    /// The blob as a local file, or none if there is no such blob.
    async fn local(&self, digest: &Digest) -> Result<Option<LocalBlob>>;

    /// Blobs in order of their digests, after this one.
    async fn list(&self, after: Option<&Digest>, limit: usize) -> Result<Vec<BlobFacts>>;

    /// Removes the blob unless it was put or claimed at `before` or later; whether it was removed.
    async fn collect(&self, digest: &Digest, before: Timestamp) -> Result<bool>;
}
