//! One worker: takes a job, has it processed, makes true what was found.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::indexer;
use super::process::{Concluded, Processor, Trouble};
use crate::config;
use crate::store::{Job, Jobs, Lane, Lease, ModuleUse, StoreError, Work};

/// What became of a report; nothing where there was nothing to do.
type Found = Result<Option<Concluded>, Trouble>;

/// What came of asking the queue for a job.
type Taken = Result<Option<Job>, StoreError>;

/// How long a worker waits for a wake-up before it looks for jobs whose time to be tried again has come.
const POLL: Duration = Duration::from_millis(500);
/// How long it waits after the queue itself failed.
const QUEUE_TROUBLE: Duration = Duration::from_secs(1);
/// How long a report waits for disk space, file descriptors or memory before it is tried again.
const SHORTAGE: Duration = Duration::from_secs(10);

/// What every worker thread has.
#[derive(Clone)]
pub struct Worker {
    pub processor: Processor,
    pub settings: config::Workers,
    pub indexer: Arc<indexer::Shared>,
    pub wake: Arc<Notify>,
    pub lane: Lane,
    pub stop: Arc<AtomicBool>,
}

impl Worker {
    /// Works until told to stop.
    pub fn run(&self) {
        let mut taken = None;
        while !self.stop.load(Ordering::Acquire) {
            let next = taken
                .take()
                .unwrap_or_else(|| self.wait(self.jobs().take(&self.lease())));
            match next {
                Ok(Some(job)) => taken = self.work_on(&job),
                Ok(None) => self.pause(POLL),
                Err(error) => {
                    tracing::error!(%error, "can not take jobs from the queue");
                    self.pause(QUEUE_TROUBLE);
                }
            }
        }
    }

    fn pause(&self, time: Duration) {
        // A time-out is as good a reason to look again as a wake-up.
        let _ = self.wait(async { tokio::time::timeout(time, self.wake.notified()).await });
    }

    fn lease(&self) -> Lease {
        let span = Duration::from_secs(self.settings.lease_seconds.max(1));
        Lease {
            owner: self.processor.stores.owner.clone(),
            span,
            lane: self.lane,
        }
    }

    /// Does a job; what came of taking the next one, if it was tried.
    fn work_on(&self, job: &Job) -> Option<Taken> {
        let started = Instant::now();
        let renewal = self.keep_lease(job);
        let arrivals = self.processor.stores.arrivals.now();
        let found = self.processor.process(job);
        let modules = modules(&found);
        let with = concluded(&found).map(|concluded| concluded.with.clone());
        // At once, so that both are made durable by one commit.
        let (settled, next) = self.wait(async { tokio::join!(self.settle_at_last(job, &found), self.take_next()) });
        renewal.abort();
        let outcome = match (found, settled) {
            (_, Err(StoreError::LeaseLost(_))) => {
                tracing::info!(report = %job.report, "a report was deleted, or taken by another, while it was read");
                "lost"
            }
            (_, Err(error)) => {
                tracing::error!(report = %job.report, %error, "can not note how a job ended; it will run again");
                "lost"
            }
            (Ok(concluded), Ok(version)) => {
                self.hand_over(concluded, version);
                "done"
            }
            (Err(trouble), Ok(_)) => {
                tracing::warn!(report = %job.report, attempt = job.attempt, reason = %trouble, "processing failed");
                if trouble.is_transient() { "postponed" } else { "failed" }
            }
        };
        // After the job has ended: one that is queued while it runs would go with it.
        if self.processor.stores.arrivals.since(arrivals, &modules) {
            self.read_again(job);
        }
        // Who changed plugins meanwhile looked for outdated diagnoses before this one was there.
        if with.is_some_and(|with| with != self.processor.diagnoser.version()) {
            self.diagnose_again(job);
        }
        if outcome == "done" && job.work == Work::Diagnose {
            metrics::counter!("whycrash_diagnosed_anew_total").increment(1);
        }
        metrics::counter!("whycrash_jobs_total", "outcome" => outcome).increment(1);
        metrics::histogram!("whycrash_job_seconds").record(started.elapsed().as_secs_f64());
        next
    }

    /// Lets the index follow.
    fn hand_over(&self, concluded: Option<Concluded>, version: Option<u64>) {
        if let (Some(concluded), Some(version)) = (concluded, version) {
            self.indexer.fresh.put(version, concluded.entry);
            self.indexer.wake.notify_one();
        }
    }

    /// Takes a job while the one before is ended; `None` where no more are to be taken.
    async fn take_next(&self) -> Option<Taken> {
        if self.stop.load(Ordering::Acquire) {
            return None;
        }
        Some(self.jobs().take(&self.lease()).await)
    }

    fn jobs(&self) -> &dyn Jobs {
        self.processor.stores.jobs.as_ref()
    }

    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.processor.runtime.block_on(future)
    }

    /// Queues a report for which symbols came while it was read.
    fn read_again(&self, job: &Job) {
        let stores = &self.processor.stores;
        let queued = self.wait(async {
            stores.jobs.enqueue(&job.report, u64::MAX).await?;
            stores.records.reopen(&job.report).await
        });
        if let Err(error) = queued {
            tracing::error!(report = %job.report, %error, "can not queue a report again that symbols came for");
        }
    }

    /// Queues a report that was diagnosed with plugins or pages that were changed meanwhile.
    fn diagnose_again(&self, job: &Job) {
        let reports = std::slice::from_ref(&job.report);
        if let Err(error) = self.wait(self.jobs().enqueue_all(reports, Work::Diagnose)) {
            tracing::error!(report = %job.report, %error, "can not queue a report again that plugins changed for");
        }
    }

    /// Renews the lease while the job is worked on.
    fn keep_lease(&self, job: &Job) -> tokio::task::JoinHandle<()> {
        let (worker, job) = (self.clone(), job.clone());
        self.processor.runtime.spawn(async move {
            loop {
                tokio::time::sleep(worker.lease().span / 3).await;
                if let Err(error) = worker.jobs().renew(&job, &worker.lease()).await {
                    tracing::warn!(report = %job.report, %error, "can not renew the lease on a job");
                }
            }
        })
    }

    /// Notes how the job ended, as soon as that can be written down; which version of the diagnosis is true now, if one
    /// was made.
    async fn settle_at_last(&self, job: &Job, found: &Found) -> Result<Option<u64>, StoreError> {
        loop {
            match self.settle(job, found).await {
                Err(error) if error.is_transient() && !self.stop.load(Ordering::Acquire) => {
                    tracing::warn!(report = %job.report, %error, "can not note how a job ended yet");
                    tokio::time::sleep(QUEUE_TROUBLE).await;
                }
                settled => return settled,
            }
        }
    }

    /// Makes true what was found; or notes that the job is to be tried again, or given up.
    async fn settle(&self, job: &Job, found: &Found) -> Result<Option<u64>, StoreError> {
        let stores = &self.processor.stores;
        match found {
            Ok(Some(Concluded { outcome, .. })) => {
                let version = stores.outcomes.commit(job, outcome, self.settings.diagnoses).await?;
                return Ok(Some(version));
            }
            Ok(None) => stores.jobs.finish(job).await?,
            Err(trouble) => self.put_back(job, trouble).await?,
        }
        Ok(None)
    }

    /// Has the job tried again, or given up.
    async fn put_back(&self, job: &Job, trouble: &Trouble) -> Result<(), StoreError> {
        let stores = &self.processor.stores;
        let reason = trouble.public();
        if trouble.is_transient() {
            return stores.jobs.postpone(job, &reason, SHORTAGE).await;
        }
        if trouble.is_deadly() {
            return stores.jobs.died(job, &reason, self.settings.deaths).await;
        }
        if job.attempt < self.settings.attempts {
            let pause = self.settings.retry_seconds.saturating_mul(u64::from(job.attempt));
            return stores.jobs.fail(job, &reason, Some(Duration::from_secs(pause))).await;
        }
        stores.jobs.fail(job, &reason, None).await
    }
}

fn concluded(found: &Found) -> Option<&Concluded> {
    found.as_ref().ok().and_then(Option::as_ref)
}

/// Which binaries the stacks that were read lead through.
fn modules(found: &Found) -> Vec<ModuleUse> {
    let evidence = concluded(found).and_then(|concluded| concluded.outcome.evidence.as_ref());
    evidence.map(|(_, modules)| modules.clone()).unwrap_or_default()
}
