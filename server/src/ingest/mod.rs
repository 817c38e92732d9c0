//! From what clients send to durable reports with a job each.
//!
//! Everything here is idempotent: a report's id is derived from what was declared, blobs are named by their content,
//! and a report has at most one job. A client that does not know whether its request got through sends it again.

mod leftovers;
pub mod metadata;
pub mod names;
pub mod pace;
mod part;
mod refusal;
pub mod space;
mod staging;

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use serde_json::{Map, Value};
use tempfile::TempPath;
use tokio::sync::{Notify, OwnedMutexGuard};

pub use leftovers::Leftover;
pub use part::Part;
pub use refusal::{IngestError, Refusal};
pub use staging::{AppendError, Incoming, Received, Staging, Writer};

use crate::config::Limits;
use crate::store::{
    ArtifactRecord, Blobs, Digest, Jobs, NewReport, Records, ReportId, ReportRecord, ReportState, StoreError, kept_now,
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
#[derive(Debug)]
pub struct Declared {
    /// Name, already clean.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256.
    pub digest: Digest,
    /// Its bytes, if they came with the request. They are removed unless the report is taken in.
    pub staged: Option<TempPath>,
}

impl Declared {
    /// An artifact that came with the request.
    pub fn received(name: String, received: Received) -> Self {
        let Received { path, bytes, digest } = received;
        Self {
            name,
            bytes,
            digest,
            staged: Some(path),
        }
    }
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
        Ok(self.staging.space().check(bytes)?)
    }

    /// Adds a report, or finds the one there is: its record, and whether it is new. Nothing is stored before all of
    /// it has been checked.
    pub async fn declare(
        &self,
        metadata: Map<String, Value>,
        artifacts: Vec<Declared>,
    ) -> Result<(ReportRecord, bool), IngestError> {
        check(artifacts.iter(), &self.limits)?;
        let pairs: Vec<_> = artifacts.iter().map(|a| (a.name.clone(), a.digest.clone())).collect();
        let id = ReportId::derive(&metadata, &pairs);
        if let Some(report) = self.records.report(&id).await?
            && matches!(report.state, ReportState::Processing | ReportState::Done)
            && report.artifacts.iter().all(|artifact| artifact.stored)
        {
            // All of it is here already.
            return Ok((report, false));
        }
        if self.is_whole(&artifacts).await? {
            self.check_queue().await?;
        }
        let report = NewReport {
            id: id.clone(),
            metadata,
            artifacts: self.store(artifacts).await?,
            received: kept_now(),
        };
        let new = if report.artifacts.iter().all(|artifact| artifact.stored) {
            let new = self.jobs.submit(&report, self.limits.queued_jobs).await?;
            self.wake.notify_one();
            new
        } else {
            self.begin(&report).await?
        };
        Ok((self.report(&id).await?, new))
    }

    /// Adds a report whose artifacts are still to come; whether it is new.
    async fn begin(&self, report: &NewReport) -> Result<bool, IngestError> {
        let new = self.records.create(report).await?;
        if !new {
            // An earlier upload may have ended between the blob and its note, or another report brought the bytes.
            for artifact in report.artifacts.iter().filter(|artifact| artifact.stored) {
                self.records.artifact_stored(&report.id, &artifact.digest).await?;
            }
        }
        Ok(new)
    }

    /// Whether all bytes came with the request or are here already.
    async fn is_whole(&self, artifacts: &[Declared]) -> Result<bool, IngestError> {
        for artifact in artifacts.iter().filter(|artifact| artifact.staged.is_none()) {
            if self.blobs.size(&artifact.digest).await?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Turns away what could not be queued, before anything of it is kept.
    async fn check_queue(&self) -> Result<(), IngestError> {
        match self.jobs.has_waiting(self.limits.queued_jobs).await? {
            true => Err(StoreError::QueueFull.into()),
            false => Ok(()),
        }
    }

    /// Makes blobs of the artifacts that came with the request, and finds those that are here already.
    async fn store(&self, artifacts: Vec<Declared>) -> Result<Vec<ArtifactRecord>, IngestError> {
        let mut records = Vec::with_capacity(artifacts.len());
        for artifact in artifacts {
            let Declared {
                name,
                bytes,
                digest,
                staged,
            } = artifact;
            let stored = match staged {
                Some(path) => {
                    self.blobs.put(&digest, &path).await?;
                    // The store has taken the file over, so there is nothing left to remove.
                    let _ = path.keep();
                    Some(bytes)
                }
                // Claimed, so that nobody collects the bytes before the report refers to them.
                None => self.blobs.claim(&digest).await?,
            };
            records.push(ArtifactRecord {
                name,
                bytes: stored.unwrap_or(bytes),
                stored: stored.is_some(),
                expired: false,
                digest,
            });
        }
        Ok(records)
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
        let part = self.staging.part_soon(report, &artifact.digest).await;
        let mut part = part.ok_or_else(|| Refusal::InProgress(artifact.name.clone()))?;
        if offset.is_some() {
            part = load(part).await?;
        }
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

    fn part(&self, report: &ReportId, artifact: &ArtifactRecord) -> Result<OwnedMutexGuard<Part>, Refusal> {
        let part = self.staging.part(report, &artifact.digest);
        part.ok_or_else(|| Refusal::InProgress(artifact.name.clone()))
    }

    /// Goes on with a part, up to the size that was declared.
    pub fn writer(&self, artifact: &ArtifactRecord, part: OwnedMutexGuard<Part>) -> Writer<OwnedMutexGuard<Part>> {
        self.staging.writer(part, artifact.bytes)
    }

    /// How many bytes of an artifact are here.
    pub fn offset(&self, report: &ReportId, artifact: &ArtifactRecord) -> Result<u64, IngestError> {
        if artifact.stored {
            return Ok(artifact.bytes);
        }
        Ok(self.part(report, artifact)?.length())
    }

    /// Makes a part that has all its bytes a blob, once their digest is the declared one; dropped otherwise.
    pub async fn seal(
        &self,
        report: &ReportId,
        artifact: &ArtifactRecord,
        part: OwnedMutexGuard<Part>,
    ) -> Result<(), IngestError> {
        let mut part = load(part).await?;
        let actual = part.digest();
        if actual != artifact.digest {
            part.clear()?;
            let (name, declared) = (artifact.name.clone(), artifact.digest.clone());
            return Err(Refusal::Mismatch { name, declared, actual }.into());
        }
        if artifact.bytes == 0 {
            part.make()?;
        }
        self.blobs.put(&artifact.digest, part.path()).await?;
        part.taken();
        self.records.artifact_stored(report, &artifact.digest).await?;
        Ok(())
    }

    /// Leaves a part for whoever goes on with it; whether the artifact has come whole by another way meanwhile. Then
    /// nobody goes on, and nobody does if the report was deleted, which could not take a part along that is held: such
    /// a part goes now.
    pub async fn leave(
        &self,
        report: &ReportId,
        artifact: &ArtifactRecord,
        mut part: OwnedMutexGuard<Part>,
    ) -> Result<bool, IngestError> {
        let Some(now) = self.records.report(report).await? else {
            part.clear()?;
            return Err(Refusal::NoReport(report.clone()).into());
        };
        let mut same = now.artifacts.iter().filter(|other| other.digest == artifact.digest);
        let stored = same.any(|other| other.stored);
        if stored {
            part.clear()?;
        }
        Ok(stored)
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
            if self.blobs.size(&artifact.digest).await? == Some(artifact.bytes) {
                // Another report brought it meanwhile.
                self.records.artifact_stored(&report.id, &artifact.digest).await?;
                artifact.stored = true;
                continue;
            }
            let Some(part) = self.staging.part(&report.id, &artifact.digest) else {
                continue;
            };
            if part.length() == artifact.bytes {
                self.seal(&report.id, artifact, part).await?;
                artifact.stored = true;
            }
        }
        Ok(())
    }

    /// A place for the bytes of an artifact that is sent in one go.
    pub fn receive(&self, limit: u64) -> Result<Incoming, IngestError> {
        // How much will come is not known.
        self.check_space(1)?;
        Ok(self.staging.one_shot(limit)?)
    }
}

/// Reads what an earlier process left of a part, which can be long.
async fn load(mut part: OwnedMutexGuard<Part>) -> io::Result<OwnedMutexGuard<Part>> {
    tokio::task::spawn_blocking(move || part.load().map(|()| part))
        .await
        .map_err(io::Error::other)?
}

/// Whether these can be the artifacts of a report.
pub fn check<'a>(artifacts: impl Iterator<Item = &'a Declared>, limits: &Limits) -> Result<(), Refusal> {
    let (mut names, mut sizes) = (HashSet::new(), HashMap::new());
    for Declared {
        name, bytes, digest, ..
    } in artifacts
    {
        if names.len() == limits.artifacts {
            return Err(Refusal::TooMany(limits.artifacts));
        }
        if !names.insert(name) {
            return Err(Refusal::SameName(name.clone()));
        }
        if *bytes > limits.artifact_bytes {
            return Err(Refusal::TooLarge {
                name: name.clone(),
                limit: limits.artifact_bytes,
            });
        }
        if *sizes.entry(digest).or_insert(bytes) != bytes {
            return Err(Refusal::TwoSizes(name.clone()));
        }
    }
    match names.is_empty() {
        true => Err(Refusal::Empty),
        false => Ok(()),
    }
}
