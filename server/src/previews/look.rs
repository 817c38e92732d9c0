//! One report of a preview: what is concluded of it now, and what would be.

use std::sync::Arc;

use whycrash_plugin_host::{Diagnosis, Diff, Panel, Report};

use super::made_with;
use crate::documents::conclusion;
use crate::pipeline::{Stores, digest, evidence, history, incident};
use crate::store::sqlite::blocking;
use crate::store::{Change, Conclusion, DiagnosisRecord, Looked, Proposal, ReportId, ReportRecord, Result, StoreError};

/// What this panel makes of a report. What can not be read is looked at and left as it is.
pub async fn look(stores: &Stores, panel: &Arc<Panel>, id: ReportId) -> Result<Looked> {
    let diagnosis = stores.outcomes.diagnosis(&id, None).await?;
    let Some(record) = diagnosis else {
        return Ok(Looked {
            report: id,
            base: 0,
            proposal: None,
        });
    };
    let base = record.version;
    let proposal = match propose(stores, panel, &id, record).await {
        Err(StoreError::Damaged(reason)) => {
            tracing::warn!(report = %id, reason, "a preview leaves out a report that can not be read");
            None
        }
        proposed => proposed?,
    };
    Ok(Looked {
        report: id,
        base,
        proposal,
    })
}

async fn propose(stores: &Stores, panel: &Arc<Panel>, id: &ReportId, now: DiagnosisRecord) -> Result<Option<Proposal>> {
    let (Some(report), Some(stored)) = (
        stores.records.report(id).await?,
        stores.outcomes.evidence(id, None).await?,
    ) else {
        return Ok(None);
    };
    let key = stored.key.clone();
    let loaded = evidence::load(stores.blobs.as_ref(), stored).await?;
    let mut read = Report::load(&loaded.parts).map_err(|error| StoreError::Damaged(error.to_string()))?;
    let is_told = panel.asks_for_history();
    let kin = incident::join(stores, id, &key, &loaded.parts, &mut read, is_told).await?;
    if is_told {
        read.history = Some(history::of(stores, id, &read, &kin.looked_at, Some(&now)).await?);
    }
    let panel = Arc::clone(panel);
    blocking(move || {
        let proposal = compare(&panel, &report, read, &conclusion(&now)?);
        // Its texts are read from files until here.
        drop(loaded);
        proposal
    })
    .await
}

fn compare(panel: &Panel, report: &ReportRecord, mut read: Report, now: &Diagnosis) -> Result<Option<Proposal>> {
    digest::complete_head(&mut read.head, report);
    let read = Arc::new(read);
    let mut diagnosis = panel.conclude(&read);
    if let Some(run) = diagnosis.unavailable() {
        let reason = run.reason.clone().unwrap_or_default();
        return Err(StoreError::Unavailable(format!("the plugin {}: {reason}", run.name)));
    }
    diagnosis.forget_times();
    let diff = Diff::between(now, &diagnosis);
    if diff.is_empty() {
        return Ok(None);
    }
    let found = digest::Found::new(&read.head, &read.evidence, &diagnosis, panel.catalog());
    Ok(Some(Proposal {
        conclusion: Conclusion {
            diagnosis: serde_json::to_string(&diagnosis).map_err(|error| StoreError::Failed(error.to_string()))?,
            made_with: made_with(panel),
            summary: digest::summary(&found, report),
            causes: digest::causes(&found),
        },
        changes: changes(diff),
    }))
}

fn changes(diff: Diff) -> Vec<(Change, String)> {
    let gained = diff.gained.into_iter().map(|ranked| (Change::Gained, ranked.cause));
    let lost = diff.lost.into_iter().map(|ranked| (Change::Lost, ranked.cause));
    let changed = diff.changed.into_iter().map(|changed| (Change::Changed, changed.cause));
    gained.chain(lost).chain(changed).collect()
}
