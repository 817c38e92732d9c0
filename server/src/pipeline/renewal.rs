//! Has stored reports diagnosed anew when plugins or pages change.
//!
//! One task does this for all changes. It looks for reports whose last diagnosis was made with something else than there
//! is now, and queues some at a time, behind everything that is to be read; changes that come meanwhile have it begin
//! again, so that several in a row cost no more than the last of them. What a diagnosis was made with is stored with it:
//! so what was not queued when the process ended is found at the next start.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::Notify;
use utoipa::ToSchema;
use whycrash_reading::READER_VERSION;

use super::{Diagnose, Stores};
use crate::store::sqlite::blocking;
use crate::store::{MadeWith, Outdated, ReportId, Result, StoreError, Work};

/// Reports that are queued together, while fewer than as many wait.
const BATCH: u32 = 200;
/// How long to wait for room in the queue.
const FULL: Duration = Duration::from_millis(100);
/// How long to wait for a store that failed.
const TROUBLE: Duration = Duration::from_secs(1);

/// What a change means for the reports that are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Renewed {
    /// Reports that are diagnosed anew, one after the other, while new reports go first.
    pub reports: u64,
    /// Reports that have a diagnosis.
    pub of: u64,
}

/// How far diagnosing stored reports anew has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct RenewalStatus {
    /// Reports that are still to be diagnosed anew.
    pub waiting: u64,
    /// The most that there were to be since none was.
    pub of: u64,
}

/// What the task that queues reports shares with those who change something.
#[derive(Debug, Default)]
pub struct Renewals {
    changed: Notify,
    counted: Mutex<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    /// Outdated reports that have no job.
    not_queued: u64,
    /// The most that waited since none did.
    most: u64,
    /// How often something was told.
    tellings: u64,
}

impl Renewals {
    /// Tells that reports may be outdated: so many, if that is known, beside those that have a job already.
    pub fn tell(&self, outdated: Option<u64>, queued: u64) {
        let mut counted = self.counted();
        if let Some(outdated) = outdated {
            counted.not_queued = outdated;
            counted.most = outdated + queued;
        }
        counted.tellings += 1;
        drop(counted);
        self.changed.notify_one();
    }

    /// How far it has come.
    pub async fn status(&self, stores: &Stores) -> Result<RenewalStatus> {
        let queued = stores.jobs.unfinished(Work::Diagnose).await?;
        let mut counted = self.counted();
        let waiting = queued + counted.not_queued;
        counted.most = if waiting == 0 { 0 } else { counted.most.max(waiting) };
        Ok(RenewalStatus {
            waiting,
            of: counted.most,
        })
    }

    fn tellings(&self) -> u64 {
        self.counted().tellings
    }

    /// Notes what there is to do, as it was counted after so many tellings: whoever told something since knows better.
    fn begin(&self, tellings: u64, outdated: u64, queued: u64) {
        let mut counted = self.counted();
        if counted.tellings == tellings {
            counted.not_queued = outdated;
            counted.most = outdated + queued;
        }
    }

    fn queued(&self, reports: u64) {
        let mut counted = self.counted();
        counted.not_queued = counted.not_queued.saturating_sub(reports);
    }

    /// Notes that all have a job that were outdated when it began, unless something was told since.
    fn end(&self, tellings: u64) {
        let mut counted = self.counted();
        if counted.tellings == tellings {
            counted.not_queued = 0;
        }
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What diagnoses made now depend on beside the evidence. It waits until plugins are loaded.
pub async fn current(diagnoser: &Arc<dyn Diagnose>) -> Result<MadeWith> {
    let diagnoser = Arc::clone(diagnoser);
    let version = blocking(move || Ok::<_, StoreError>(diagnoser.version())).await?;
    Ok(MadeWith {
        plugins: version.plugins,
        knowledge: version.knowledge,
    })
}

/// Queues outdated reports.
#[derive(Debug)]
pub struct Renewer {
    /// Where reports and jobs are.
    pub stores: Stores,
    /// Knows the plugins and pages there are.
    pub diagnoser: Arc<dyn Diagnose>,
    /// Tells of changes, and is told how far it has come.
    pub renewals: Arc<Renewals>,
    /// Wakes workers.
    pub wake: Arc<Notify>,
}

impl Renewer {
    /// Works until it is dropped: at once, for what an earlier process left, and whenever something changes.
    pub async fn run(self) {
        loop {
            match self.queue_all().await {
                Ok(0) => self.renewals.changed.notified().await,
                Ok(reports) => {
                    tracing::info!(reports, "diagnosed anew with what is known now");
                    self.renewals.changed.notified().await;
                }
                Err(error) => {
                    tracing::warn!(%error, "can not queue reports that new knowledge is for; trying again");
                    tokio::time::sleep(TROUBLE).await;
                }
            }
        }
    }

    /// Queues what is outdated, until nothing is that has no job; how many.
    async fn queue_all(&self) -> Result<u64> {
        let mut sum = 0;
        loop {
            let tellings = self.renewals.tellings();
            let now = current(&self.diagnoser).await?;
            let Outdated { reports, .. } = self.stores.outcomes.count_outdated(&now, READER_VERSION).await?;
            let queued = self.stores.jobs.unfinished(Work::Diagnose).await?;
            self.renewals.begin(tellings, reports, queued);
            if self.queue(&now, &mut sum).await? {
                self.renewals.end(tellings);
                return Ok(sum);
            }
        }
    }

    /// Queues what is outdated by now; false where something else is known meanwhile.
    async fn queue(&self, now: &MadeWith, sum: &mut u64) -> Result<bool> {
        let mut last = None::<ReportId>;
        loop {
            self.wait_for_room().await?;
            if current(&self.diagnoser).await? != *now {
                return Ok(false);
            }
            let outcomes = &self.stores.outcomes;
            let ids = outcomes.outdated(now, READER_VERSION, last.as_ref(), BATCH).await?;
            let Some(end) = ids.last() else { return Ok(true) };
            last = Some(end.clone());
            self.stores.jobs.enqueue_all(&ids, Work::Diagnose).await?;
            self.wake.notify_waiters();
            self.renewals.queued(ids.len() as u64);
            *sum += ids.len() as u64;
        }
    }

    async fn wait_for_room(&self) -> Result<()> {
        while self.stores.jobs.unfinished(Work::Diagnose).await? >= u64::from(BATCH) {
            tokio::time::sleep(FULL).await;
        }
        Ok(())
    }
}
