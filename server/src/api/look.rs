//! The first look at a report, for the answer to who sent it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use whycrash_evidence::Artifact;
use whycrash_plugin_host::{Finding, Input, Report};

use super::prelude::*;
use crate::documents::conclusion;
use crate::reading::Scratch;
use crate::store::ReportRecord;
use crate::threads::Priority;

/// What is known about the report: from its diagnosis, or from a quick look at what is here if that is small.
///
/// Nothing depends on it: whatever takes too long, fails, or finds another look going on or other reports waiting is
/// left to the workers.
pub async fn findings(services: &Data<Services>, report: &ReportRecord) -> Vec<Finding> {
    if report.version > 0
        && let Ok(Some(record)) = services.stores.outcomes.diagnosis(&report.id, None).await
    {
        let claims = conclusion(&record).unwrap_or_default().findings;
        return services.documents().findings(claims);
    }
    let limits = &services.config.limits;
    let here = report.artifacts.iter().filter(|artifact| artifact.stored);
    let bytes: u64 = here.map(|artifact| artifact.bytes).sum();
    if bytes == 0 || bytes > limits.provisional_bytes || others_wait(services).await {
        return Vec::new();
    }
    let patience = Duration::from_secs(limits.provisional_seconds);
    tokio::time::timeout(patience, look(services, report))
        .await
        .ok()
        .flatten()
        .unwrap_or_default()
}

/// Whether reports wait to be read beside this one: then whatever reads it twice keeps them waiting longer.
async fn others_wait(services: &Data<Services>) -> bool {
    services.stores.jobs.has_waiting(2).await.unwrap_or(true)
}

/// Diagnoses what is here with the built-in plugins (no other may make a sender wait), on a thread that gives way to
/// those that answer. The look goes on when nobody waits for it any more, and no other starts until it ends.
async fn look(services: &Data<Services>, report: &ReportRecord) -> Option<Vec<Finding>> {
    let permit = Arc::clone(&services.provisional).try_acquire_owned().ok()?;
    let mut input = Input {
        metadata: report.metadata.clone(),
        ..Input::default()
    };
    let mut blobs = Vec::new();
    for artifact in report.artifacts.iter().filter(|artifact| artifact.stored) {
        let Ok(Some(blob)) = services.stores.blobs.local(&artifact.digest).await else {
            continue;
        };
        let known = Artifact::new(artifact.name.clone(), blob.path.clone());
        input.artifacts.push(known.with_sha256(artifact.digest.as_str()));
        blobs.push(blob);
    }
    let (reader, diagnoser) = (Arc::clone(&services.reader), Arc::clone(&services.diagnoser));
    let work = services.stores.work.clone();
    let (sender, findings) = oneshot::channel();
    let look = move || {
        Priority::Background.take();
        let found = || {
            let scratch = Scratch::below(&work);
            // What can not be read fails the job later, where it is shown.
            let parts = reader.read(&input, scratch.path()).ok()?;
            let report = Report::load(&parts).ok()?;
            Some(diagnoser.first_look(&Arc::new(report)).findings)
        };
        let found = found();
        drop((blobs, permit));
        // Nobody may be waiting any more.
        drop(sender.send(found));
    };
    std::thread::Builder::new()
        .name("first-look".to_owned())
        .spawn(look)
        .ok()?;
    Some(services.documents().findings(findings.await.ok()??))
}
