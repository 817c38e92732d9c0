//! What the reports of one incident tell together of its ranks.
//!
//! Each rank may have sent what it has by itself. So whoever diagnoses a report looks for its kin in the store, takes
//! their recorders from what is stored of them, and judges all of them at once. Kin that come later have it diagnosed
//! again ([`Outcomes::commit`](crate::store::Outcomes::commit)).

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use whycrash_evidence::model::{Collectives, Recorder};
use whycrash_evidence::{Account, judge_together, kinship};
use whycrash_plugin_host::Report;
use whycrash_reading::stored::{COMMUNICATORS, HEAD, LoadError, Parts, RECORDERS};

use super::{Stores, evidence};
use crate::store::sqlite::blocking;
use crate::store::{Kin, Kinsman, ReportId, Result, StoreError, StoredEvidence};

/// Judgements that are remembered: all reports of an incident need the same one, mostly one after the other.
const REMEMBERED: usize = 8;
/// Bytes, as stored, of recorders that are judged together.
const BYTES: u64 = 16 << 20;

/// What was judged lately, by the evidence it was judged from.
#[derive(Debug, Default)]
pub struct Judgements(Mutex<VecDeque<(BTreeSet<Kinsman>, Arc<Judgement>)>>);

/// What the ranks did together, and the reports that tell of it.
#[derive(Debug)]
struct Judgement {
    collectives: Option<Collectives>,
    reports: BTreeSet<String>,
}

impl Judgements {
    fn of(&self, evidence: &BTreeSet<Kinsman>) -> Option<Arc<Judgement>> {
        let judged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = judged.iter().find(|(known, _)| known == evidence);
        found.map(|(_, judgement)| Arc::clone(judgement))
    }

    fn remember(&self, evidence: BTreeSet<Kinsman>, judgement: &Arc<Judgement>) {
        let mut judged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        judged.truncate(REMEMBERED - 1);
        judged.push_front((evidence, Arc::clone(judgement)));
    }
}

/// Has what the ranks did together judged with what the report's kin tell of it, and says by what they find each other.
/// `evidence` is the key of the report's evidence; with `is_told` those are looked for too that have nothing to be
/// judged.
pub async fn join(
    stores: &Stores,
    id: &ReportId,
    evidence: &str,
    parts: &Parts,
    read: &mut Report,
    is_told: bool,
) -> Joined {
    let recorders = parts.recorders()?;
    let kinship = kinship(&read.evidence, &recorders);
    let mut kin = Kin {
        job: kinship.job,
        keys: kinship.keys.into_iter().collect(),
        attempt: kinship.attempt,
        is_told,
        looked_at: Vec::new(),
    };
    if kin.wanted().next().is_none() {
        return Ok(kin);
    }
    // First of all: who comes meanwhile makes what is concluded outdated at worst, never wrongly current.
    let all = stores.outcomes.kin(id, &kin).await?;
    kin.looked_at = all.into_iter().map(|other| other.report).collect();
    let others = stores.outcomes.kin(id, &kin.judged()).await?;
    if others.is_empty() {
        return Ok(kin);
    }
    let own = Kinsman {
        report: id.clone(),
        evidence: evidence.to_owned(),
        job: kin.job.clone(),
    };
    let all: BTreeSet<Kinsman> = others.iter().cloned().chain([own]).collect();
    let judgement = match stores.judgements.of(&all) {
        Some(judgement) => judgement,
        None => {
            let judgement = Arc::new(judge(stores, id, &kin, recorders, read, others).await?);
            stores.judgements.remember(all, &judgement);
            judgement
        }
    };
    if judgement.reports.len() > 1 && judgement.reports.contains(id.as_str()) {
        let others = judgement.reports.iter().filter(|report| *report != id.as_str());
        read.judged_with(others.cloned().collect(), judgement.collectives.clone());
    }
    Ok(kin)
}

/// What came of looking for kin.
pub type Joined = std::result::Result<Kin, JoinError>;

/// Why it could not be looked for.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The report's own recorders can not be read.
    #[error(transparent)]
    Own(#[from] LoadError),
    /// A store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<JoinError> for StoreError {
    fn from(error: JoinError) -> Self {
        match error {
            JoinError::Own(error) => Self::Damaged(error.to_string()),
            JoinError::Store(error) => error,
        }
    }
}

async fn judge(
    stores: &Stores,
    id: &ReportId,
    kin: &Kin,
    recorders: Vec<Recorder>,
    read: &Report,
    others: Vec<Kinsman>,
) -> Result<Judgement> {
    let own = Account {
        report: id.to_string(),
        job: kin.job.clone(),
        recorders,
        communicators: read.evidence.communicators.clone(),
    };
    let (mut accounts, mut left) = (Vec::new(), BYTES);
    for other in others {
        let parts: &[&str] = &[HEAD, RECORDERS, COMMUNICATORS];
        let Some(stored) = stores.outcomes.evidence(&other.report, Some(parts)).await? else {
            continue;
        };
        let bytes = stored.parts.iter().map(|part| part.bytes).sum();
        let Some(rest) = left.checked_sub(bytes) else { break };
        left = rest;
        match account(stores, &other, stored).await {
            Err(StoreError::Damaged(reason)) => {
                tracing::warn!(report = %other.report, reason, "what it tells of ranks can not be read");
            }
            account => accounts.push(account?),
        }
    }
    let (collectives, reports) = blocking(move || Ok(judge_together(own, accounts))).await?;
    Ok(Judgement { collectives, reports })
}

async fn account(stores: &Stores, other: &Kinsman, stored: StoredEvidence) -> Result<Account> {
    let loaded = evidence::load(stores.blobs.as_ref(), stored).await?;
    let (report, job) = (other.report.to_string(), other.job.clone());
    blocking(move || {
        let damaged = |error: LoadError| StoreError::Damaged(error.to_string());
        Ok(Account {
            report,
            job,
            recorders: loaded.parts.recorders().map_err(damaged)?,
            communicators: loaded.parts.communicators().map_err(damaged)?,
        })
    })
    .await
}
