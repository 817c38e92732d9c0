//! From what clients send to durable reports with a job each.
//!
//! Everything here is idempotent: a report's id is derived from what was declared, blobs are named by their content,
//! and a report has at most one job. A client that does not know whether its request got through sends it again.

pub mod names;
mod staging;

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::{Notify, OwnedMutexGuard};

pub use staging::{AppendError, Incoming, Part, Received, Staging, Writer};

use crate::config::Limits;
use crate::store::{
    ArtifactRecord, Blobs, Digest, Jobs, NewReport, Records, ReportId, ReportRecord, ReportState, StoreError,
};

/// Takes in reports.
#[derive(Debug)]
pub struct Ingest {
    records: Arc<dyn Records>,
    jobs: Arc<dyn Jobs>,
    blobs: Arc<dyn Blobs>,
    staging: Staging,
    limits: Limits,
    wake: Arc<Notify>,
}

/// One artifact as a client declares it.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Name, already clean.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256.
    pub digest: Digest,
}

/// Why something was not taken in.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// What was sent is not acceptable.
    #[error("{0}")]
    Refused(Refusal),
    /// A store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<io::Error> for IngestError {
    fn from(error: io::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<Refusal> for IngestError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// What is wrong with what was sent.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// No such report.
    #[error("there is no report {0}")]
    NoReport(ReportId),
    /// No such artifact in it.
    #[error("report {0} declares no artifact {1:?}")]
    NoArtifact(ReportId, String),
    /// Declared without a single artifact.
    #[error("the report has no artifact")]
    Empty,
    /// More artifacts than a report may have.
    #[error("the report has {0} artifacts, and {1} are allowed")]
    TooMany(usize, usize),
    /// Two artifacts of one name.
    #[error("two artifacts are named {0:?}")]
    SameName(String),
    /// Larger than artifacts may be.
    #[error("artifact {name:?} has more than the {limit} bytes that are allowed")]
    TooLarge {
        /// Its name.
        name: String,
        /// The most that is allowed.
        limit: u64,
    },
    /// The bytes are not the declared ones.
    #[error("artifact {name:?} was declared with sha256 {declared}, and what came has {actual}; it was dropped")]
    Mismatch {
        /// Its name.
        name: String,
        /// As declared.
        declared: Digest,
        /// Of what came.
        actual: Digest,
    },
    /// More bytes than declared.
    #[error("artifact {name:?} was declared with {declared} bytes, and more were sent; nothing of them was kept")]
    TooLong {
        /// Its name.
        name: String,
        /// Size as declared.
        declared: u64,
    },
    /// A chunk that does not start where the last one ended.
    #[error("the chunk starts at byte {sent}, and byte {expected} is next")]
    WrongOffset {
        /// Where the chunk starts.
        sent: u64,
        /// Where it must start.
        expected: u64,
    },
    /// Another upload of the same artifact is going on.
    #[error("artifact {0:?} is being uploaded by another request")]
    InProgress(String),
    /// Said to be complete while artifacts are missing.
    #[error("artifacts are missing: {}", .0.join(", "))]
    Missing(Vec<String>),
}

impl Ingest {
    /// Takes in reports to these stores; `wake` tells the workers of new jobs.
    pub fn new(
        records: Arc<dyn Records>,
        jobs: Arc<dyn Jobs>,
        blobs: Arc<dyn Blobs>,
        staging: Staging,
        limits: Limits,
        wake: Arc<Notify>,
    ) -> Self {
        Self {
            records,
            jobs,
            blobs,
            staging,
            limits,
            wake,
        }
    }

    /// Makes sure that the bytes fit on the disk and leave the reserve that the database and the index need.
    pub fn check_space(&self, bytes: u64) -> Result<(), IngestError> {
        let free = free_bytes(self.staging.folder())?;
        if free.saturating_sub(self.limits.reserved_disk_bytes) < bytes {
            return Err(StoreError::Full(format!("{bytes} bytes were to be written and {free} are free")).into());
        }
        Ok(())
    }

    /// Adds a report, or finds the one there is: its record, and whether it is new.
    pub async fn declare(
        &self,
        metadata: Map<String, Value>,
        artifacts: Vec<Declared>,
    ) -> Result<(ReportRecord, bool), IngestError> {
        self.check(&artifacts)?;
        let pairs: Vec<_> = artifacts.iter().map(|a| (a.name.clone(), a.digest.clone())).collect();
        let id = ReportId::derive(&metadata, &pairs);
        let mut records = Vec::with_capacity(artifacts.len());
        for Declared { name, bytes, digest } in artifacts {
            let stored = self.blobs.size(&digest).await?;
            records.push(ArtifactRecord {
                name,
                bytes: stored.unwrap_or(bytes),
                stored: stored.is_some(),
                digest,
            });
        }
        let report = NewReport {
            id: id.clone(),
            metadata,
            artifacts: records,
            received: Timestamp::now(),
        };
        let new = self.records.create(&report).await?;
        if !new {
            // An earlier upload may have ended between the blob and its note, or another report brought the bytes.
            for artifact in report.artifacts.iter().filter(|artifact| artifact.stored) {
                self.records.artifact_stored(&id, &artifact.digest).await?;
            }
        }
        Ok((self.report(&id).await?, new))
    }

    fn check(&self, artifacts: &[Declared]) -> Result<(), Refusal> {
        if artifacts.is_empty() {
            return Err(Refusal::Empty);
        }
        if artifacts.len() > self.limits.artifacts {
            return Err(Refusal::TooMany(artifacts.len(), self.limits.artifacts));
        }
        let mut names = HashSet::new();
        for Declared { name, bytes, .. } in artifacts {
            if !names.insert(name) {
                return Err(Refusal::SameName(name.clone()));
            }
            let limit = self.limits.artifact_bytes;
            if *bytes > limit {
                return Err(Refusal::TooLarge {
                    name: name.clone(),
                    limit,
                });
            }
        }
        Ok(())
    }

    /// The report as it stands.
    pub async fn report(&self, id: &ReportId) -> Result<ReportRecord, IngestError> {
        let report = self.records.report(id).await?;
        report.ok_or_else(|| Refusal::NoReport(id.clone()).into())
    }

    /// Starts or continues the upload of an artifact that is not stored yet, at `offset` if one is given.
    pub async fn resume(
        &self,
        report: &ReportId,
        artifact: &ArtifactRecord,
        offset: Option<u64>,
    ) -> Result<OwnedMutexGuard<Part>, IngestError> {
        let part = self.staging.part(report, &artifact.digest).await?;
        let mut part = part.ok_or_else(|| Refusal::InProgress(artifact.name.clone()))?;
        match offset {
            // The whole artifact again, from its start.
            None => part.clear()?,
            Some(sent) if sent != part.length() => {
                return Err(Refusal::WrongOffset {
                    sent,
                    expected: part.length(),
                }
                .into());
            }
            Some(_) => {}
        }
        self.check_space(artifact.bytes.saturating_sub(part.length()))?;
        Ok(part)
    }

    /// How many bytes of an artifact are here.
    pub async fn offset(&self, report: &ReportId, artifact: &ArtifactRecord) -> Result<u64, IngestError> {
        if artifact.stored {
            return Ok(artifact.bytes);
        }
        let part = self.staging.part(report, &artifact.digest).await?;
        Ok(part.ok_or_else(|| Refusal::InProgress(artifact.name.clone()))?.length())
    }

    /// Makes a part that has all its bytes a blob, once their digest is the declared one; dropped otherwise.
    pub async fn seal(
        &self,
        report: &ReportId,
        artifact: &ArtifactRecord,
        part: OwnedMutexGuard<Part>,
    ) -> Result<(), IngestError> {
        let actual = part.digest();
        if actual != artifact.digest {
            std::fs::remove_file(part.path())?;
            self.staging.forget(report, &artifact.digest);
            let (name, declared) = (artifact.name.clone(), artifact.digest.clone());
            return Err(Refusal::Mismatch { name, declared, actual }.into());
        }
        self.blobs.put(&artifact.digest, part.path()).await?;
        self.staging.forget(report, &artifact.digest);
        self.records.artifact_stored(report, &artifact.digest).await?;
        Ok(())
    }

    /// Queues a report whose artifacts are all here. What is queued or processed already stays as it is.
    pub async fn complete(&self, id: &ReportId) -> Result<ReportRecord, IngestError> {
        let mut report = self.report(id).await?;
        if matches!(report.state, ReportState::Processing | ReportState::Done) {
            return Ok(report);
        }
        self.seal_whole_parts(&mut report).await?;
        let missing: Vec<String> = report
            .artifacts
            .iter()
            .filter(|a| !a.stored)
            .map(|a| a.name.clone())
            .collect();
        if !missing.is_empty() {
            return Err(Refusal::Missing(missing).into());
        }
        // The job first: a job without the note is harmless, a note without the job would never be processed.
        self.jobs.enqueue(id, self.limits.queued_jobs).await?;
        self.records.completed(id).await?;
        self.wake.notify_one();
        self.report(id).await
    }

    /// An upload may have ended between its last byte and the blob; empty artifacts need no upload at all.
    async fn seal_whole_parts(&self, report: &mut ReportRecord) -> Result<(), IngestError> {
        for artifact in report.artifacts.iter_mut().filter(|artifact| !artifact.stored) {
            let Some(part) = self.staging.part(&report.id, &artifact.digest).await? else {
                continue;
            };
            if part.length() == artifact.bytes {
                self.seal(&report.id, artifact, part).await?;
                artifact.stored = true;
            }
        }
        Ok(())
    }

    /// Takes in bytes that came with the request itself.
    pub async fn keep_inline(&self, name: &str, bytes: Bytes) -> Result<Declared, IngestError> {
        self.check_space(bytes.len() as u64)?;
        let incoming = self.receive()?;
        incoming.write(bytes).await;
        self.keep(name, incoming).await
    }

    /// A place for the bytes of an artifact that is sent in one go.
    pub fn receive(&self) -> Result<Incoming, IngestError> {
        // How much will come is not known.
        self.check_space(1)?;
        Ok(self.staging.one_shot(self.limits.artifact_bytes)?)
    }

    /// Waits until everything that is sent in one go has come and is durable.
    pub async fn received(&self, name: &str, incoming: Incoming) -> Result<Received, IngestError> {
        let limit = self.limits.artifact_bytes;
        incoming.finish().await.map_err(|error| match error {
            AppendError::TooLong => Refusal::TooLarge {
                name: name.to_owned(),
                limit,
            }
            .into(),
            AppendError::Io(error) => IngestError::from(error),
        })
    }

    /// Makes what was received a blob.
    pub async fn keep(&self, name: &str, incoming: Incoming) -> Result<Declared, IngestError> {
        let Received { path, bytes, digest } = self.received(name, incoming).await?;
        self.blobs.put(&digest, &path).await?;
        // The store has taken the file over, so there is nothing left to remove.
        let _ = path.keep();
        Ok(Declared {
            name: name.to_owned(),
            bytes,
            digest,
        })
    }
}

/// Bytes that may still be written to the file system of this folder.
fn free_bytes(folder: &std::path::Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(folder)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}
