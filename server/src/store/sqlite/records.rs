//! Reports.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Sqlite, kin, millis, outbox, parse, timestamp};
use crate::store::{
    ArtifactRecord, COUNTED, CauseCount, Digest, Group, Listed, NewReport, Page, Place, Records, ReportId,
    ReportRecord, ReportState, Result, StoreError, Summary, kept_now,
};

/// Which reports may be read again: complete ones whose artifacts are all still here.
const CAN_BE_READ_AGAIN: &str = "state IN ('done', 'failed', 'quarantined') AND NOT EXISTS
    (SELECT 1 FROM artifacts WHERE artifacts.report = reports.id AND expired = 1)";

#[async_trait]
impl Records for Sqlite {
    async fn create(&self, report: &NewReport) -> Result<bool> {
        let report = report.clone();
        self.write(move |tx| create(tx, &report)).await
    }

    async fn report(&self, id: &ReportId) -> Result<Option<ReportRecord>> {
        let id = id.clone();
        self.read(move |connection| {
            let found = connection
                .prepare_cached(
                    "SELECT metadata, received, state, failure, happened, 
                            coalesce((SELECT max(version) FROM diagnoses WHERE report = id), 0)
                     FROM reports WHERE id = ?1",
                )?
                .query_row([id.as_str()], |row| {
                    Ok((
                        row.get::<_, String>(0)?,
                        row.get(1)?,
                        row.get::<_, String>(2)?,
                        row.get(3)?,
                        row.get(4)?,
                        row.get(5)?,
                    ))
                })
                .optional()?;
            let Some((metadata, received, state, failure, happened, version)) = found else {
                return Ok(None);
            };
            Ok(Some(ReportRecord {
                metadata: parse("metadata", serde_json::from_str(&metadata))?,
                received: timestamp(received)?,
                happened: timestamp(happened)?,
                version,
                state: report_state(&state)?,
                failure,
                artifacts: artifacts(connection, &id)?,
                id,
            }))
        })
        .await
    }

    async fn artifact_stored(&self, id: &ReportId, digest: &Digest) -> Result<()> {
        let (id, digest) = (id.clone(), digest.clone());
        self.write(move |tx| artifact_stored(tx, &id, &digest)).await
    }

    async fn completed(&self, id: &ReportId) -> Result<()> {
        let id = id.clone();
        self.write(move |tx| complete(tx, &id).map(drop)).await
    }

    async fn reopen(&self, id: &ReportId) -> Result<()> {
        let id = id.clone();
        self.write(move |tx| set_state(tx, &id, ReportState::Processing, None, CAN_BE_READ_AGAIN).map(drop))
            .await
    }

    async fn reopen_all(&self, ids: &[ReportId]) -> Result<u64> {
        let ids = ids.to_vec();
        self.write(move |tx| {
            let mut reopened = 0;
            for id in &ids {
                reopened += set_state(tx, id, ReportState::Processing, None, CAN_BE_READ_AGAIN)?;
            }
            Ok(reopened)
        })
        .await
    }

    async fn delete(&self, id: &ReportId) -> Result<bool> {
        let id = id.clone();
        self.write(move |tx| {
            kin::remove(tx, &id)?;
            // Artifacts, evidence, diagnoses and causes go with their report.
            let deleted = tx
                .prepare_cached("DELETE FROM reports WHERE id = ?1")?
                .execute([id.as_str()])?;
            tx.prepare_cached("DELETE FROM jobs WHERE report = ?1")?
                .execute([id.as_str()])?;
            if deleted == 1 {
                outbox::add(tx, &id)?;
            }
            Ok(deleted == 1)
        })
        .await
    }

    async fn list(&self, after: Option<&Place>, limit: u32) -> Result<Page<Listed, Place>> {
        let (received, id) = after.map_or((i64::MAX, String::new()), |place| {
            (place.received, place.id.to_string())
        });
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id, received, state, summary FROM reports
                 WHERE received <= ?1 AND (received < ?1 OR id > ?2) ORDER BY received DESC, id LIMIT ?3",
            )?;
            let rows = statement.query_map(params![received, id, u64::from(limit) + 1], |row| Ok(listed(row)))?;
            let reports = rows.map(|row| row?).collect::<Result<Vec<Listed>>>()?;
            Ok(Page::of(reports, limit, |last| last.place.clone()))
        })
        .await
    }

    async fn beginning_with(&self, digits: &str, limit: u32) -> Result<Vec<Listed>> {
        // Behind every id that begins so: none has a letter behind `f`.
        let (from, to) = (digits.to_owned(), format!("{digits}g"));
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id, received, state, summary FROM reports WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3",
            )?;
            let rows = statement.query_map(params![from, to, limit], |row| Ok(listed(row)))?;
            rows.map(|row| row?).collect()
        })
        .await
    }

    async fn count(&self) -> Result<u64> {
        self.read(|connection| {
            Ok(connection
                .prepare_cached("SELECT count(*) FROM (SELECT 1 FROM reports LIMIT ?1)")?
                .query_row([COUNTED], |row| row.get(0))?)
        })
        .await
    }

    async fn in_state(&self, state: ReportState, after: Option<&ReportId>, limit: u32) -> Result<Vec<ReportId>> {
        let after = after.map(ToString::to_string).unwrap_or_default();
        self.read(move |connection| {
            let mut statement = connection
                .prepare_cached("SELECT id FROM reports WHERE state = ?1 AND id > ?2 ORDER BY id LIMIT ?3")?;
            let ids = statement
                .query_map(params![state.as_str(), after, limit], |row| row.get::<_, String>(0))?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            ids.into_iter().map(|id| parse("report id", id.parse())).collect()
        })
        .await
    }

    async fn group(&self, signature: &str, latest: u32) -> Result<Option<Group>> {
        let signature = signature.to_owned();
        self.read(move |connection| {
            // Each by itself, so that the index gives the two times without all between them.
            let (first, last): (Option<i64>, Option<i64>) = connection
                .prepare_cached(
                    "SELECT (SELECT min(happened) FROM reports WHERE signature = ?1),
                            (SELECT max(happened) FROM reports WHERE signature = ?1)",
                )?
                .query_row([&signature], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let (Some(first), Some(last)) = (first, last) else {
                return Ok(None);
            };
            let mut statement = connection.prepare_cached(
                "SELECT summary FROM reports WHERE signature = ?1 ORDER BY happened DESC, id LIMIT ?2",
            )?;
            let rows = statement
                .query_map(params![signature, latest], |row| row.get::<_, String>(0))?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(Some(Group {
                count: group_size(connection, &signature)?,
                first_seen: timestamp(first)?.to_string(),
                last_seen: timestamp(last)?.to_string(),
                latest: rows.iter().map(|json| summary(json)).collect::<Result<_>>()?,
                signature,
            }))
        })
        .await
    }

    async fn group_sizes(&self, signatures: &[String]) -> Result<Vec<u64>> {
        let signatures = signatures.to_vec();
        self.read(move |connection| {
            // Most that is found together is of few groups, and counting a large one takes a while.
            let mut counted = HashMap::new();
            let sizes = signatures.iter().map(|signature| match counted.entry(signature) {
                Entry::Occupied(size) => Ok(*size.get()),
                Entry::Vacant(place) => Ok(*place.insert(group_size(connection, signature)?)),
            });
            sizes.collect()
        })
        .await
    }

    async fn causes(&self) -> Result<Vec<CauseCount>> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT cause, count(*) FROM report_causes GROUP BY cause ORDER BY cause")?;
            let rows = statement.query_map([], |row| {
                Ok(CauseCount {
                    cause: row.get(0)?,
                    reports: row.get(1)?,
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
    }
}

fn listed(row: &Row<'_>) -> Result<Listed> {
    Ok(Listed {
        place: Place {
            received: row.get(1)?,
            id: parse("report id", row.get::<_, String>(0)?.parse())?,
        },
        state: report_state(&row.get::<_, String>(2)?)?,
        summary: summary(&row.get::<_, String>(3)?)?,
    })
}

fn group_size(connection: &Connection, signature: &str) -> Result<u64> {
    Ok(connection
        .prepare_cached("SELECT count(*) FROM (SELECT 1 FROM reports WHERE signature = ?1 LIMIT ?2)")?
        .query_row(params![signature, COUNTED], |row| row.get(0))?)
}

/// Adds a report, or believes what is said of one that is there; whether it was added.
pub(super) fn create(tx: &Connection, report: &NewReport) -> Result<bool> {
    let names: Vec<&str> = report.artifacts.iter().map(|artifact| artifact.name.as_str()).collect();
    let summary = Summary {
        id: report.id.to_string(),
        title: names.join(", "),
        time: report.received.to_string(),
        received: report.received.to_string(),
        ..Summary::default()
    };
    let added = tx
        .prepare_cached(
            "INSERT INTO reports (id, metadata, received, state, summary, happened, touched)
             VALUES (?1, ?2, ?3, ?4, ?5, ?3, ?3) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            report.id.as_str(),
            parse("metadata", serde_json::to_string(&report.metadata))?,
            millis(report.received),
            ReportState::Uploading.as_str(),
            parse("summary", serde_json::to_string(&summary))?,
        ])?;
    match added {
        1 => insert_artifacts(tx, report)?,
        _ => correct_sizes(tx, report)?,
    }
    Ok(added == 1)
}

/// Notes that bytes of a report are here.
pub(super) fn artifact_stored(tx: &Connection, id: &ReportId, digest: &Digest) -> Result<()> {
    tx.prepare_cached("UPDATE artifacts SET stored = 1, expired = 0 WHERE report = ?1 AND digest = ?2")?
        .execute([id.as_str(), digest.as_str()])?;
    tx.prepare_cached("UPDATE reports SET touched = ?2 WHERE id = ?1")?
        .execute(params![id.as_str(), millis(kept_now())])?;
    Ok(())
}

/// Notes that a report waits to be read, unless it is read or being read; whether it was noted.
pub(super) fn complete(tx: &Connection, id: &ReportId) -> Result<bool> {
    let condition = "state IN ('uploading', 'failed', 'quarantined')";
    Ok(set_state(tx, id, ReportState::Processing, None, condition)? == 1)
}

fn insert_artifacts(tx: &Connection, report: &NewReport) -> Result<()> {
    let mut insert = tx.prepare_cached(
        "INSERT INTO artifacts (report, position, name, bytes, digest, stored) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (position, artifact) in report.artifacts.iter().enumerate() {
        insert.execute(params![
            report.id.as_str(),
            position,
            artifact.name,
            artifact.bytes,
            artifact.digest.as_str(),
            artifact.stored
        ])?;
    }
    Ok(())
}

/// The sizes of artifacts that are not here yet are what somebody said: who says it last is believed.
fn correct_sizes(tx: &Connection, report: &NewReport) -> Result<()> {
    let mut update =
        tx.prepare_cached("UPDATE artifacts SET bytes = ?3 WHERE report = ?1 AND digest = ?2 AND stored = 0")?;
    for artifact in &report.artifacts {
        update.execute(params![report.id.as_str(), artifact.digest.as_str(), artifact.bytes])?;
    }
    Ok(())
}

fn artifacts(connection: &Connection, id: &ReportId) -> Result<Vec<ArtifactRecord>> {
    let mut statement = connection.prepare_cached(
        "SELECT name, bytes, digest, stored, expired FROM artifacts WHERE report = ?1 ORDER BY position",
    )?;
    let rows = statement
        .query_map([id.as_str()], |row| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get::<_, String>(2)?,
                row.get(3)?,
                row.get(4)?,
            ))
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    rows.into_iter()
        .map(|(name, bytes, digest, stored, expired)| {
            Ok(ArtifactRecord {
                name,
                bytes,
                digest: parse("digest", digest.parse())?,
                stored,
                expired,
            })
        })
        .collect()
}

/// Changes the state of a report that meets `condition` (SQL of ours, never input); how many that are.
pub(super) fn set_state(
    tx: &Connection,
    id: &ReportId,
    state: ReportState,
    failure: Option<&str>,
    condition: &str,
) -> Result<u64> {
    let changed = tx
        .prepare_cached(&format!(
            "UPDATE reports SET state = ?2, failure = ?3 WHERE id = ?1 AND {condition}"
        ))?
        .execute(params![id.as_str(), state.as_str(), failure])?;
    Ok(changed as u64)
}

fn report_state(name: &str) -> Result<ReportState> {
    [
        ReportState::Uploading,
        ReportState::Processing,
        ReportState::Done,
        ReportState::Failed,
        ReportState::Quarantined,
    ]
    .into_iter()
    .find(|state| state.as_str() == name)
    .ok_or_else(|| StoreError::Damaged(format!("unknown report state {name}")))
}

fn summary(json: &str) -> Result<Summary> {
    parse("summary", serde_json::from_str(json))
}
