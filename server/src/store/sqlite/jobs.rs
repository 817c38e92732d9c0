//! The job queue.

use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};

use super::records::{artifact_stored, complete, create, set_state};
use super::{Sqlite, millis, parse};
use crate::store::{
    Job, JobCounts, Jobs, LARGE_BYTES, Lane, Lease, NewReport, ReportId, ReportState, Result, StoreError, Work,
};

#[async_trait]
impl Jobs for Sqlite {
    async fn enqueue(&self, report: &ReportId, limit: u64) -> Result<()> {
        let report = report.clone();
        self.write(move |tx| enqueue(tx, &report, limit)).await
    }

    async fn submit(&self, report: &NewReport, limit: u64) -> Result<bool> {
        let report = report.clone();
        self.write(move |tx| {
            let is_new = create(tx, &report)?;
            if !is_new {
                for artifact in &report.artifacts {
                    artifact_stored(tx, &report.id, &artifact.digest)?;
                }
            }
            if complete(tx, &report.id)? {
                enqueue(tx, &report.id, limit)?;
            }
            Ok(is_new)
        })
        .await
    }

    async fn has_waiting(&self, count: u64) -> Result<bool> {
        self.read(move |connection| has_waiting(connection, count)).await
    }

    async fn unfinished(&self, work: Work) -> Result<u64> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT coalesce(sum(jobs), 0) FROM job_counts WHERE state IN ('queued', 'running') AND work = ?1",
            )?;
            Ok(statement.query_row([work.as_str()], |row| row.get(0))?)
        })
        .await
    }

    async fn enqueue_all(&self, reports: &[ReportId], work: Work) -> Result<()> {
        let reports = reports.to_vec();
        self.write(move |tx| {
            for report in &reports {
                if !has_job(tx, report, work)? {
                    add_job(tx, report, work)?;
                }
            }
            Ok(())
        })
        .await
    }

    async fn take(&self, lease: &Lease) -> Result<Option<Job>> {
        let (lease, now) = (lease.clone(), self.clock.now());
        self.write(move |tx| {
            let taken = tx
                // Left to itself the planner sorts all that wait, each time one is taken.
                .prepare_cached(
                    "UPDATE jobs SET state = 'running', attempts = attempts + 1, token = random(), owner = ?1,
                            not_before = ?3 + ?2, pause = ?2
                     WHERE report = (SELECT report FROM jobs INDEXED BY jobs_to_take
                                     WHERE state IN ('queued', 'running') AND not_before <= ?3 AND large <= ?4
                                       AND work >= ?5
                                     ORDER BY work DESC, queued LIMIT 1)
                     RETURNING report, attempts, deaths, token, work",
                )?
                .query_row(
                    params![
                        lease.owner,
                        span(lease.span),
                        millis(now),
                        lease.lane == Lane::Any,
                        // In the order of the index, so that a worker that waits for new reports looks at nothing else.
                        if lease.lane == Lane::New {
                            Work::Read.as_str()
                        } else {
                            ""
                        }
                    ],
                    |row| {
                        Ok((
                            row.get::<_, String>(0)?,
                            row.get(1)?,
                            row.get(2)?,
                            row.get(3)?,
                            row.get::<_, String>(4)?,
                        ))
                    },
                )
                .optional()?;
            let Some((report, attempt, deaths, token, work)) = taken else {
                return Ok(None);
            };
            Ok(Some(Job {
                report: parse("job", report.parse())?,
                work: Work::named(&work)?,
                attempt,
                deaths,
                token,
            }))
        })
        .await
    }

    async fn renew(&self, job: &Job, lease: &Lease) -> Result<()> {
        let (job, span, now) = (job.clone(), span(lease.span), millis(self.clock.now()));
        self.write(move |tx| {
            let changed = tx
                .prepare_cached(
                    "UPDATE jobs SET not_before = ?3 + ?4, pause = ?4
                     WHERE report = ?1 AND token = ?2 AND state = 'running'",
                )?
                .execute(params![job.report.as_str(), job.token, now, span])?;
            held(changed, job.report)
        })
        .await
    }

    async fn finish(&self, job: &Job) -> Result<()> {
        let job = job.clone();
        self.write(move |tx| {
            let changed = tx
                .prepare_cached("DELETE FROM jobs WHERE report = ?1 AND token = ?2 AND state = 'running'")?
                .execute(params![job.report.as_str(), job.token])?;
            held(changed, job.report)
        })
        .await
    }

    async fn fail(&self, job: &Job, reason: &str, retry: Option<Duration>) -> Result<()> {
        let (job, reason) = (job.clone(), reason.to_owned());
        let now = millis(self.clock.now());
        self.write(move |tx| {
            let changed = tx
                .prepare_cached(
                    "UPDATE jobs SET state = ?3, not_before = ?4 + ?5, pause = ?5, reason = ?6, owner = NULL
                     WHERE report = ?1 AND token = ?2 AND state = 'running'",
                )?
                .execute(params![
                    job.report.as_str(),
                    job.token,
                    if retry.is_some() { "queued" } else { "failed" },
                    now,
                    retry.map_or(0, span),
                    reason
                ])?;
            if retry.is_none() && changed == 1 {
                set_state(tx, &job.report, ReportState::Failed, Some(&reason), "TRUE")?;
            }
            held(changed, job.report)
        })
        .await
    }

    async fn died(&self, job: &Job, reason: &str, most: u32) -> Result<()> {
        let (job, reason) = (job.clone(), reason.to_owned());
        self.write(move |tx| {
            let last = job.deaths + 1 >= most;
            let changed = tx
                .prepare_cached(
                    "UPDATE jobs SET state = ?3, deaths = deaths + 1, attempts = attempts - 1, not_before = 0, reason = ?4,
                            owner = NULL, queued = (SELECT max(queued) FROM jobs) + 1
                     WHERE report = ?1 AND token = ?2 AND state = 'running'",
                )?
                .execute(params![
                    job.report.as_str(),
                    job.token,
                    if last { "failed" } else { "queued" },
                    reason
                ])?;
            if last && changed == 1 {
                set_state(tx, &job.report, ReportState::Quarantined, Some(&reason), "TRUE")?;
            }
            held(changed, job.report)
        })
        .await
    }

    async fn postpone(&self, job: &Job, reason: &str, retry: Duration) -> Result<()> {
        let (job, reason) = (job.clone(), reason.to_owned());
        let (now, retry) = (millis(self.clock.now()), span(retry));
        self.write(move |tx| {
            let changed = tx
                .prepare_cached(
                    "UPDATE jobs SET state = 'queued', attempts = attempts - 1, not_before = ?3 + ?4, pause = ?4,
                            reason = ?5, owner = NULL
                     WHERE report = ?1 AND token = ?2 AND state = 'running'",
                )?
                .execute(params![job.report.as_str(), job.token, now, retry, reason])?;
            held(changed, job.report)
        })
        .await
    }

    async fn release(&self, owner: &str) -> Result<u64> {
        let (owner, now) = (owner.to_owned(), millis(self.clock.now()));
        self.write(move |tx| {
            let changed = tx
                .prepare_cached(
                    "UPDATE jobs SET state = 'queued', not_before = 0, owner = NULL, attempts = attempts - 1,
                            queued = (SELECT max(queued) FROM jobs) + 1
                     WHERE state = 'running' AND owner = ?1",
                )?
                .execute([owner])?;
            tx.execute(
                "UPDATE jobs SET not_before = ?1 + pause WHERE not_before > ?1 + pause",
                [now],
            )?;
            Ok(changed as u64)
        })
        .await
    }

    async fn counts(&self) -> Result<JobCounts> {
        self.read(|connection| {
            let mut counts = JobCounts::default();
            let mut statement = connection.prepare_cached("SELECT state, sum(jobs) FROM job_counts GROUP BY state")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let count = row.get(1)?;
                match row.get_ref(0)?.as_str().unwrap_or_default() {
                    "queued" => counts.queued = count,
                    "running" => counts.running = count,
                    _ => counts.failed = count,
                }
            }
            Ok(counts)
        })
        .await
    }
}

/// Adds a job to read the report unless it has one, or too many wait.
fn enqueue(tx: &Connection, report: &ReportId, limit: u64) -> Result<()> {
    if has_job(tx, report, Work::Read)? {
        return Ok(());
    }
    if has_waiting(tx, limit)? {
        return Err(StoreError::QueueFull);
    }
    add_job(tx, report, Work::Read)
}

fn has_waiting(connection: &Connection, count: u64) -> Result<bool> {
    let waiting: Option<u64> = connection
        .prepare_cached("SELECT jobs FROM job_counts WHERE state = 'queued' AND work = 'read'")?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(waiting.unwrap_or(0) >= count)
}

/// Whether the report has a job that waits or runs; one to diagnose it is made to read it if that is asked for.
pub(super) fn has_job(connection: &Connection, report: &ReportId, work: Work) -> Result<bool> {
    let state: Option<String> = connection
        .prepare_cached("SELECT state FROM jobs WHERE report = ?1")?
        .query_row([report.as_str()], |row| row.get(0))
        .optional()?;
    let has = state.is_some_and(|state| state != "failed");
    if has && work == Work::Read {
        connection
            .prepare_cached("UPDATE jobs SET work = 'read' WHERE report = ?1")?
            .execute([report.as_str()])?;
    }
    Ok(has)
}

/// Adds a job, in place of one of the report's that failed.
pub(super) fn add_job(connection: &Connection, report: &ReportId, work: Work) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM jobs WHERE report = ?1")?
        .execute([report.as_str()])?;
    connection
        .prepare_cached(
            "INSERT INTO jobs (report, work, large, state, attempts, deaths, not_before, queued, token)
             VALUES (?1, ?2, ?2 = 'read' AND (SELECT coalesce(sum(bytes), 0) FROM artifacts WHERE report = ?1) >= ?3,
                     'queued', 0, 0, 0, (SELECT coalesce(max(queued), 0) + 1 FROM jobs), 0)",
        )?
        .execute(params![report.as_str(), work.as_str(), LARGE_BYTES])?;
    Ok(())
}

/// Milliseconds of a span, a century at most: what is added to a time stays a time.
fn span(time: Duration) -> i64 {
    const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    i64::try_from(time.min(LONGEST).as_millis()).unwrap_or(i64::MAX)
}

fn held(changed: usize, report: ReportId) -> Result<()> {
    if changed == 1 {
        Ok(())
    } else {
        Err(StoreError::LeaseLost(report))
    }
}
