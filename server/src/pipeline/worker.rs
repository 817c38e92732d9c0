//! One worker: takes a job, reads the artifacts, stores the document.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use whycrash_evidence::Artifact;
use whycrash_plugin_host::{Document, Input};

use super::{Diagnose, OWNER, Stores, digest, indexer, reopen};
use crate::config;
use crate::public_text::without_paths;
use crate::store::{Job, Lease, LocalBlob, ModuleUse, ReportRecord, StoreError};

/// How long a worker waits for a wake-up before it looks for jobs whose time to be tried again has come.
const POLL: Duration = Duration::from_millis(500);
/// How long it waits after the queue itself failed.
const QUEUE_TROUBLE: Duration = Duration::from_secs(1);
/// How long a report waits for disk space, file descriptors or memory before it is tried again.
const SHORTAGE: SignedDuration = SignedDuration::from_secs(10);

/// What every worker thread has.
#[derive(Clone)]
pub struct Worker {
    pub stores: Stores,
    pub diagnoser: Arc<dyn Diagnose>,
    pub settings: config::Workers,
    pub runtime: Handle,
    pub indexer: Arc<indexer::Shared>,
    pub wake: Arc<Notify>,
    pub stop: Arc<AtomicBool>,
}

/// Why a report was not processed.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("reading it panicked: {0}")]
    Panic(String),
    #[error("the server ended {0} times while it was read")]
    Deadly(u32),
    #[error("artifact {0:?} is not in the store")]
    NoBlob(String),
    #[error("the plugin {plugin} could not be run: {reason}")]
    Plugins { plugin: String, reason: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Trouble {
    /// Whether it says nothing about the report: then it waits, however often.
    fn is_transient(&self) -> bool {
        match self {
            Self::Store(error) => error.is_transient(),
            Self::Plugins { .. } => true,
            _ => false,
        }
    }

    /// In words for people who look at the report.
    fn public(&self) -> String {
        match self {
            Self::Store(error) => error.public(),
            other => without_paths(&other.to_string()),
        }
    }
}

impl Worker {
    /// Works until told to stop.
    pub fn run(&self) {
        while !self.stop.load(Ordering::Acquire) {
            match self.runtime.block_on(self.stores.jobs.take(&self.lease())) {
                Ok(Some(job)) => self.work_on(&job),
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
        let _ = self
            .runtime
            .block_on(async { tokio::time::timeout(time, self.wake.notified()).await });
    }

    fn lease(&self) -> Lease {
        let span = Duration::from_secs(self.settings.lease_seconds.max(1));
        Lease {
            owner: OWNER.to_owned(),
            now: Timestamp::now(),
            span,
        }
    }

    fn work_on(&self, job: &Job) {
        let started = Instant::now();
        let renewal = self.keep_lease(job);
        let arrivals = self.stores.arrivals.now();
        let processed = self.process(job);
        renewal.abort();
        let (modules, result) = match processed {
            Ok(modules) => (modules, Ok(())),
            Err(trouble) => (Vec::new(), Err(trouble)),
        };
        let outcome = match (&result, self.runtime.block_on(self.settle_at_last(job, &result))) {
            (_, Err(StoreError::LeaseLost(_))) => {
                tracing::info!(report = %job.report, "a report was deleted, or taken by another, while it was read");
                "lost"
            }
            (_, Err(error)) => {
                tracing::error!(report = %job.report, %error, "can not note how a job ended; it will run again");
                "lost"
            }
            (Ok(()), Ok(())) => "done",
            (Err(trouble), Ok(())) => {
                tracing::warn!(report = %job.report, attempt = job.attempt, reason = %trouble, "processing failed");
                if trouble.is_transient() { "postponed" } else { "failed" }
            }
        };
        // After the job has ended: one that is queued while it runs would go with it.
        if self.stores.arrivals.since(arrivals, &modules) {
            self.read_again(job);
        }
        metrics::counter!("whycrash_jobs_total", "outcome" => outcome).increment(1);
        metrics::histogram!("whycrash_job_seconds").record(started.elapsed().as_secs_f64());
    }

    /// Queues a report for which symbols came while it was read.
    fn read_again(&self, job: &Job) {
        let queued = self.runtime.block_on(async {
            self.stores.jobs.enqueue(&job.report, u64::MAX).await?;
            self.stores.records.reopen(&job.report).await
        });
        if let Err(error) = queued {
            tracing::error!(report = %job.report, %error, "can not queue a report again that symbols came for");
        }
    }

    /// Renews the lease while the job is worked on.
    fn keep_lease(&self, job: &Job) -> tokio::task::JoinHandle<()> {
        let (worker, job) = (self.clone(), job.clone());
        self.runtime.spawn(async move {
            loop {
                tokio::time::sleep(worker.lease().span / 3).await;
                if let Err(error) = worker.stores.jobs.renew(&job, &worker.lease()).await {
                    tracing::warn!(report = %job.report, %error, "can not renew the lease on a job");
                }
            }
        })
    }

    /// Reads a report and stores what is found: which binaries its stacks lead through.
    fn process(&self, job: &Job) -> Result<Vec<ModuleUse>, Trouble> {
        if job.deaths >= self.settings.deaths {
            return Err(Trouble::Deadly(job.deaths));
        }
        let records = &self.stores.records;
        let Some(report) = self.runtime.block_on(records.report(&job.report))? else {
            return Ok(Vec::new());
        };
        if report.artifacts.iter().any(|artifact| artifact.expired) {
            // Its document says more than could be read now.
            return Ok(Vec::new());
        }
        let (input, blobs) = self.runtime.block_on(self.input(&report))?;
        // A reader takes a file that can not be opened for one that can not be read, and says so for good: a machine
        // that is short of file descriptors must not become part of what is known about a crash.
        open_all(&input)?;
        let mut document = self.diagnose(&input)?;
        open_all(&input)?;
        all_ran(&document)?;
        complete_head(&mut document, &report);
        drop(blobs);
        count_plugins(&document);
        let stored = digest::stored(&document, &report)?;
        let modules = reopen::modules_of(&document.evidence);
        // The index follows the document when it can. A report that was deleted meanwhile stays deleted.
        self.runtime.block_on(async {
            self.stores.modules.note_modules(&report.id, &modules).await?;
            records.put_document(&report.id, &stored, Timestamp::now()).await
        })?;
        self.indexer.wake.notify_one();
        Ok(modules)
    }

    async fn input(&self, report: &ReportRecord) -> Result<(Input, Vec<LocalBlob>), Trouble> {
        let mut input = Input {
            metadata: report.metadata.clone(),
            ..Input::default()
        };
        let mut blobs = Vec::new();
        for artifact in &report.artifacts {
            let blob = self.stores.blobs.local(&artifact.digest).await?;
            let blob = blob.ok_or_else(|| Trouble::NoBlob(artifact.name.clone()))?;
            let known = Artifact::new(artifact.name.clone(), blob.path.clone());
            input.artifacts.push(known.with_sha256(artifact.digest.as_str()));
            blobs.push(blob);
        }
        Ok((input, blobs))
    }

    fn diagnose(&self, input: &Input) -> Result<Document, Trouble> {
        // The diagnoser keeps caches only, each consistent after every step, so it is fit for use after a panic.
        catch_unwind(AssertUnwindSafe(|| self.diagnoser.diagnose(input))).map_err(|panic| {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or(panic.downcast_ref::<&str>().copied());
            Trouble::Panic(text.unwrap_or("without a message").to_owned())
        })
    }

    /// Notes how the job ended, as soon as that can be written down.
    async fn settle_at_last(&self, job: &Job, result: &Result<(), Trouble>) -> Result<(), StoreError> {
        loop {
            match self.settle(job, result).await {
                Err(error) if error.is_transient() && !self.stop.load(Ordering::Acquire) => {
                    tracing::warn!(report = %job.report, %error, "can not note how a job ended yet");
                    tokio::time::sleep(QUEUE_TROUBLE).await;
                }
                settled => return settled,
            }
        }
    }

    /// Notes how the job ended: gone, to be tried again, or given up.
    async fn settle(&self, job: &Job, result: &Result<(), Trouble>) -> Result<(), StoreError> {
        let Err(trouble) = result else {
            return self.stores.jobs.finish(job).await;
        };
        let reason = trouble.public();
        if trouble.is_transient() {
            let retry = Timestamp::now().saturating_add(SHORTAGE);
            return self
                .stores
                .jobs
                .postpone(job, &reason, retry.unwrap_or(Timestamp::MAX))
                .await;
        }
        if job.attempt < self.settings.attempts && !matches!(trouble, Trouble::Deadly(_)) {
            let pause = self.settings.retry_seconds.saturating_mul(u64::from(job.attempt));
            let pause = SignedDuration::from_secs(i64::try_from(pause).unwrap_or(i64::MAX));
            return self
                .stores
                .jobs
                .fail(job, &reason, Timestamp::now().saturating_add(pause).ok())
                .await;
        }
        // The job first: where the lease was lost the report is another's, or gone.
        self.stores.jobs.fail(job, &reason, None).await?;
        self.stores.records.failed(&job.report, &reason).await
    }
}

/// Fails where the artifacts' files can not be opened now.
fn open_all(input: &Input) -> Result<(), StoreError> {
    let mut artifacts = input.artifacts.iter();
    Ok(artifacts.try_for_each(|artifact| File::open(&artifact.path).map(drop))?)
}

/// Fails where the machine lacked what a plugin needs: the document lacks what that one would have found.
fn all_ran(document: &Document) -> Result<(), Trouble> {
    match document.unavailable() {
        None => Ok(()),
        Some(run) => Err(Trouble::Plugins {
            plugin: run.name.clone(),
            reason: run.reason.clone().unwrap_or_default(),
        }),
    }
}

/// What the store knows of the report better than who read it.
pub fn complete_head(document: &mut Document, report: &ReportRecord) {
    report.id.as_str().clone_into(&mut document.report.id);
    for head in &mut document.report.artifacts {
        if let Some(artifact) = report.artifacts.iter().find(|artifact| artifact.name == head.name) {
            head.bytes = artifact.bytes;
            artifact.digest.as_str().clone_into(&mut head.sha256);
        }
    }
}

fn count_plugins(document: &Document) {
    for run in &document.plugins {
        let outcome = match run.outcome {
            whycrash_plugin_host::Outcome::Ok => "ok",
            whycrash_plugin_host::Outcome::Failed => "failed",
            whycrash_plugin_host::Outcome::Skipped => "skipped",
            whycrash_plugin_host::Outcome::Unavailable => "unavailable",
        };
        let name = run.name.clone();
        metrics::counter!("whycrash_plugin_runs_total", "plugin" => name.clone(), "outcome" => outcome).increment(1);
        metrics::counter!("whycrash_plugin_fuel_total", "plugin" => name).increment(run.fuel);
    }
}
