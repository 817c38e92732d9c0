//! Nothing grows for ever: what is old is removed, and what nothing refers to.
//!
//! A round does a bounded part of each kind of work, in small steps that are whole by themselves: it can end at any of
//! them, and the next round goes on. Whatever refers to something goes before what it refers to, so a process that is
//! killed in between leaves bytes that the next round finds, and never a report that lacks its bytes.

mod blobs;
mod retention;
mod staging;
mod symbols;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::services::Services;
use crate::store::{ReportId, Result, StoreError, age_now};

/// Longest pause between the start and the first round.
const FIRST: Duration = Duration::from_secs(60);
/// Things of each kind that are removed in one round at most.
const ROUND: u64 = 10_000;
/// Things looked at, or removed, together.
const BATCH: u32 = 100;

/// How many there were, and how many bytes they had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// How many.
    pub count: u64,
    /// Bytes on the disk, where that is known.
    pub bytes: u64,
}

impl Removed {
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
    }
}

/// What a round has removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Reports older than they shall be.
    pub reports: Removed,
    /// Uploads that stood still.
    pub uploads: Removed,
    /// Artifacts older than their kind shall be. Their bytes go with the blobs.
    pub artifacts: Removed,
    /// Files of uploads that nobody goes on with.
    pub staged: Removed,
    /// Bytes that no report refers to.
    pub blobs: Removed,
    /// Symbols older than they shall be.
    pub symbols: Removed,
}

impl Round {
    fn kinds(&self) -> [(&'static str, Removed); 6] {
        [
            ("reports", self.reports),
            ("uploads", self.uploads),
            ("artifacts", self.artifacts),
            ("staged", self.staged),
            ("blobs", self.blobs),
            ("symbols", self.symbols),
        ]
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [reports, uploads, artifacts, staged, blobs, symbols] = self.kinds().map(|(_, removed)| removed);
        write!(
            f,
            "removed {} old reports, {} uploads that stood still, {} old artifacts, {} left-over files ({} bytes), {} \
             unreferenced blobs ({} bytes) and {} files of symbols ({} bytes)",
            reports.count,
            uploads.count,
            artifacts.count,
            staged.count,
            staged.bytes,
            blobs.count,
            blobs.bytes,
            symbols.count,
            symbols.bytes
        )
    }
}

/// Does a round from time to time, for as long as the server runs.
pub async fn run(services: Arc<Services>) {
    let pause = Duration::from_secs(services.config.retention.every_seconds);
    if pause.is_zero() {
        return;
    }
    tokio::time::sleep(pause.min(FIRST)).await;
    loop {
        match round(&services).await {
            Ok(round) if round == Round::default() => tracing::debug!("nothing is to be removed"),
            Ok(round) => tracing::info!("{round}"),
            Err(error) => tracing::warn!(%error, "can not remove what is old; it will be tried again"),
        }
        tokio::time::sleep(pause).await;
    }
}

/// Does one round.
pub async fn round(services: &Services) -> Result<Round> {
    let now = age_now();
    let mut round = Round {
        reports: retention::reports(services, now).await?,
        uploads: retention::uploads(services, now).await?,
        artifacts: retention::artifacts(services, now).await?,
        ..Round::default()
    };
    // References are gone by now: what they referred to follows.
    round.staged = staging::sweep(services, now).await?;
    round.blobs = blobs::collect(services, now).await?;
    round.symbols = symbols::remove_old(services, now).await?;
    // A text that people look at keeps the space of its removed blob until it is closed.
    services.lines.forget_removed();
    services.stores.upkeep.compact().await?;
    for (kind, removed) in round.kinds() {
        metrics::counter!("whycrash_removed_total", "kind" => kind).increment(removed.count);
        metrics::counter!("whycrash_removed_bytes_total", "kind" => kind).increment(removed.bytes);
    }
    match services.stores.search.verify().await {
        // The indexer sees it too, and builds a new one.
        Err(StoreError::Damaged(reason)) => tracing::warn!(reason, "the index is damaged"),
        Err(error) => tracing::debug!(%error, "the index can not be looked at now"),
        Ok(()) => {}
    }
    Ok(round)
}

/// Removes a report with everything that belongs to it; false if there is no such report. Its bytes go with the next
/// rounds, unless other reports have the same.
pub async fn delete(services: &Services, id: &ReportId) -> Result<bool> {
    let Some(report) = services.stores.records.report(id).await? else {
        return Ok(false);
    };
    let deleted = services.stores.records.delete(id).await?;
    for artifact in &report.artifacts {
        services.ingest.discard(id, &artifact.digest).await?;
    }
    services.indexer.wake.notify_one();
    Ok(deleted)
}

fn days_ago(now: Timestamp, days: u32) -> Timestamp {
    hours_ago(now, u64::from(days) * 24)
}

fn hours_ago(now: Timestamp, hours: u64) -> Timestamp {
    let hours = SignedDuration::from_hours(i64::try_from(hours).unwrap_or(i64::MAX / 3600));
    now.checked_sub(hours).unwrap_or(Timestamp::MIN)
}
