//! The queue of reports that are still to be read and diagnosed.

use std::time::Duration;

use async_trait::async_trait;

use super::{NewReport, ReportId, Result, StoreError};

/// What is to be done for a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Read its artifacts, and diagnose.
    Read,
    /// Diagnose from the evidence that is stored.
    Diagnose,
}

impl Work {
    /// The name used in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Diagnose => "diagnose",
        }
    }

    /// The work of this name.
    pub fn named(name: &str) -> Result<Self> {
        [Self::Read, Self::Diagnose]
            .into_iter()
            .find(|work| work.as_str() == name)
            .ok_or_else(|| StoreError::Damaged(format!("unknown work {name}")))
    }
}

/// A job taken from the queue, to be finished before its lease ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The report to process; it has at most one job.
    pub report: ReportId,
    /// What is to be done for it.
    pub work: Work,
    /// How often it was taken, this time included: 1 at first.
    pub attempt: u32,
    /// How often the process that read it died of it; those times are no attempts.
    pub deaths: u32,
    /// Proves the lease; a later lease on the same job makes it void.
    pub token: i64,
}

/// Which jobs a worker takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lane {
    /// Those of reports with few bytes that are to be read: so new reports never all wait for old ones.
    New,
    /// Those of reports with few bytes alone, so that these never all wait for large ones.
    Small,
    /// Any.
    #[default]
    Any,
}

/// Bytes of a report's artifacts from which on it is no small one: reading them takes seconds.
pub const LARGE_BYTES: u64 = 256 << 20;

/// Who takes a job, and for how long from now on. What time it is, the store says.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Names the process that takes it: its leases can be released together when it is known to be dead.
    pub owner: String,
    /// How long until others may take it.
    pub span: Duration,
    /// Which jobs it may be.
    pub lane: Lane,
}

/// How many jobs there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// Waiting to be taken.
    pub queued: u64,
    /// Taken and not finished.
    pub running: u64,
    /// Given up after too many attempts.
    pub failed: u64,
}

/// Jobs by report, durable, each taken by one worker at a time.
#[async_trait]
pub trait Jobs: Send + Sync + std::fmt::Debug {
    /// Adds a job to read the report unless it has one that is waiting or running; one that failed before starts again
    /// from its first attempt, and one to diagnose it becomes one to read it. With `limit` of these waiting already the
    /// answer is [`super::StoreError::QueueFull`].
    async fn enqueue(&self, report: &ReportId, limit: u64) -> Result<()>;

    /// Adds a report whose artifacts are all here, with its job, in one step; false if the report was there already. Of
    /// one that was, the artifacts are noted as being here, and it is queued unless it is read or being read; see
    /// [`Self::enqueue`] for `limit`.
    async fn submit(&self, report: &NewReport, limit: u64) -> Result<bool>;

    /// Whether at least so many jobs to read a report wait.
    async fn has_waiting(&self, count: u64) -> Result<bool>;

    /// How many jobs of this work wait or run.
    async fn unfinished(&self, work: Work) -> Result<u64>;

    /// Takes the oldest job of the lane that waits, or whose lease has run out; none if there is no such job. What is
    /// to be read goes before what is only to be diagnosed anew.
    async fn take(&self, lease: &Lease) -> Result<Option<Job>>;

    /// Extends the lease on a job that is still held.
    async fn renew(&self, job: &Job, lease: &Lease) -> Result<()>;

    /// Removes a job that is done. Fails with [`super::StoreError::LeaseLost`] if another holds it by now.
    async fn finish(&self, job: &Job) -> Result<()>;

    /// Puts a job back that went wrong, to be taken again after `retry`; without it the job is given up, and its report
    /// is [`Failed`](super::ReportState::Failed).
    async fn fail(&self, job: &Job, reason: &str, retry: Option<Duration>) -> Result<()>;

    /// Puts a job back to the end of the queue whose report killed the process that read it. The `most`th death gives
    /// the job up, and its report is in [`Quarantine`](super::ReportState::Quarantined).
    async fn died(&self, job: &Job, reason: &str, most: u32) -> Result<()>;

    /// Puts a job back that could not be done now, through no fault of its own: taken again after `retry`, and this
    /// time counts as no attempt.
    async fn postpone(&self, job: &Job, reason: &str, retry: Duration) -> Result<()>;

    /// Adds a job for each of these reports as [`Self::enqueue`] without a limit does; one to diagnose a report only
    /// where there is none that is waiting or running.
    async fn enqueue_all(&self, reports: &[ReportId], work: Work) -> Result<()>;

    /// Ends all leases of an owner that is known to be dead; how many. Their jobs go to the end of the queue, and this
    /// time counts as no attempt. Other leases, and jobs that wait to be tried again, keep their time, but wait no longer
    /// from now on than was asked for: the clock of the process that asked may have been wrong.
    async fn release(&self, owner: &str) -> Result<u64>;

    /// How many jobs there are.
    async fn counts(&self) -> Result<JobCounts>;
}
