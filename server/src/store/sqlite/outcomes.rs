//! Evidence and diagnoses.

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Sqlite, kin, millis, outbox, parse, timestamp, wanted};
use crate::store::{
    DiagnosisRecord, Job, Kin, Kinsman, MadeWith, ModuleUse, Outcome, Outcomes, Outdated, PartBody, ReportId,
    ReportState, Result, StoreError, StoredEvidence, StoredPart, Summary, Work,
};

/// Reports that are outdated where the first parameter is what diagnoses are made with now, and the second the version of
/// the reader.
const OUTDATED: &str = "reports JOIN evidence ON evidence.report = id
    WHERE (diagnosed_with IS NOT ?1
           OR (reader < ?2 AND NOT EXISTS (SELECT 1 FROM artifacts WHERE artifacts.report = id AND expired = 1)))
      AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.report = id AND jobs.state != 'failed')";

#[async_trait]
impl Outcomes for Sqlite {
    async fn commit(&self, job: &Job, outcome: &Outcome, keep: u32) -> Result<u64> {
        let (job, outcome) = (job.clone(), outcome.clone());
        self.write(move |tx| {
            let wanted = held_work(tx, &job)?;
            if let Some((evidence, modules)) = &outcome.evidence {
                put_evidence(tx, &job.report, evidence)?;
                put_modules(tx, &job.report, modules)?;
            }
            let version = put_diagnosis(tx, &job.report, &outcome, keep)?;
            put_summary(tx, &job.report, &outcome)?;
            outbox::add(tx, &job.report)?;
            end_job(tx, &job, wanted)?;
            kin::commit(tx, &job.report, &outcome)?;
            Ok(version)
        })
        .await
    }

    async fn kin(&self, id: &ReportId, kin: &Kin) -> Result<Vec<Kinsman>> {
        let (id, kin) = (id.clone(), kin.clone());
        self.read(move |connection| kin::of(connection, &id, &kin)).await
    }

    async fn earlier(&self, id: &ReportId, signature: &str, limit: u32) -> Result<Vec<(Summary, String)>> {
        let (id, signature) = (id.clone(), signature.to_owned());
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT summary, (SELECT body FROM diagnoses WHERE report = id ORDER BY version DESC LIMIT 1)
                 FROM reports
                 WHERE signature = ?2 AND (received, id) < (SELECT received, id FROM reports WHERE id = ?1)
                   AND EXISTS (SELECT 1 FROM diagnoses WHERE report = id)
                 ORDER BY received DESC, id DESC LIMIT ?3",
            )?;
            let rows = statement.query_map(params![id.as_str(), signature, limit], |row| {
                Ok((row.get::<_, String>(0)?, row.get(1)?))
            })?;
            let read = rows.map(|row| {
                let (summary, diagnosis) = row?;
                Ok((parse("summary", serde_json::from_str(&summary))?, diagnosis))
            });
            read.collect()
        })
        .await
    }

    async fn summaries(&self, ids: &[ReportId]) -> Result<Vec<Summary>> {
        let ids: Vec<&str> = ids.iter().map(ReportId::as_str).collect();
        let wanted = parse("ids", serde_json::to_string(&ids))?;
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT summary FROM json_each(?1) AS wanted JOIN reports ON reports.id = wanted.value
                 ORDER BY reports.received, reports.id",
            )?;
            let rows = statement.query_map([wanted], |row| row.get::<_, String>(0))?;
            rows.map(|row| parse("summary", serde_json::from_str(&row?))).collect()
        })
        .await
    }

    async fn evidence(&self, id: &ReportId, parts: Option<&[&str]>) -> Result<Option<StoredEvidence>> {
        let id = id.clone();
        let wanted: Option<Vec<String>> = parts.map(|names| names.iter().map(ToString::to_string).collect());
        self.read(move |connection| {
            let head = connection
                .prepare_cached("SELECT key, reader FROM evidence WHERE report = ?1")?
                .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let Some((key, reader)) = head else { return Ok(None) };
            let parts = match wanted {
                None => all_parts(connection, &id)?,
                Some(names) => some_parts(connection, &id, &names)?,
            };
            Ok(Some(StoredEvidence { key, reader, parts }))
        })
        .await
    }

    async fn diagnosis(&self, id: &ReportId, version: Option<u64>) -> Result<Option<DiagnosisRecord>> {
        let id = id.clone();
        self.read(move |connection| {
            let found = connection
                .prepare_cached(
                    "SELECT version, made, plugins, knowledge, evidence, body FROM diagnoses
                     WHERE report = ?1 AND version = coalesce(?2, version) ORDER BY version DESC LIMIT 1",
                )?
                .query_row(params![id.as_str(), version.map(wanted)], |row| Ok(diagnosis(row)))
                .optional()?;
            found.transpose()
        })
        .await
    }

    async fn diagnoses(&self, id: &ReportId) -> Result<Vec<DiagnosisRecord>> {
        let id = id.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT version, made, plugins, knowledge, evidence, body FROM diagnoses
                 WHERE report = ?1 ORDER BY version DESC",
            )?;
            let rows = statement.query_map([id.as_str()], |row| Ok(diagnosis(row)))?;
            rows.map(|row| row?).collect()
        })
        .await
    }

    async fn outdated(
        &self,
        now: &MadeWith,
        reader: u32,
        after: Option<&ReportId>,
        limit: u32,
    ) -> Result<Vec<ReportId>> {
        let now = diagnosed_with(now);
        let after = after.map(ToString::to_string).unwrap_or_default();
        self.read(move |connection| {
            let mut statement =
                connection.prepare_cached(&format!("SELECT id FROM {OUTDATED} AND id > ?3 ORDER BY id LIMIT ?4"))?;
            let ids = statement
                .query_map(params![now, reader, after, limit], |row| row.get::<_, String>(0))?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            ids.into_iter().map(|id| parse("report id", id.parse())).collect()
        })
        .await
    }

    async fn count_outdated(&self, now: &MadeWith, reader: u32) -> Result<Outdated> {
        let now = diagnosed_with(now);
        self.read(move |connection| {
            let reports = connection
                .prepare_cached(&format!("SELECT count(*) FROM {OUTDATED}"))?
                .query_row(params![now, reader], |row| row.get(0))?;
            let of = connection
                .prepare_cached("SELECT count(*) FROM evidence")?
                .query_row([], |row| row.get(0))?;
            Ok(Outdated { reports, of })
        })
        .await
    }

    async fn make_outdated(&self, ids: Option<&[ReportId]>) -> Result<u64> {
        let ids = ids.map(<[ReportId]>::to_vec);
        self.write(move |tx| {
            let Some(ids) = ids else {
                let sql = "UPDATE reports SET diagnosed_with = NULL WHERE id IN (SELECT report FROM evidence)";
                return Ok(tx.execute(sql, [])? as u64);
            };
            let mut update = tx.prepare_cached(
                "UPDATE reports SET diagnosed_with = NULL
                 WHERE id = ?1 AND EXISTS (SELECT 1 FROM evidence WHERE report = ?1)",
            )?;
            ids.iter()
                .try_fold(0, |sum, id| Ok(sum + update.execute([id.as_str()])? as u64))
        })
        .await
    }

    async fn symbol_generation(&self) -> Result<u64> {
        self.read(|connection| {
            let seen = connection
                .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'arrivals'")?
                .query_row([], |row| row.get(0))
                .optional()?;
            Ok(seen.unwrap_or(0))
        })
        .await
    }
}

/// What the job's row asks for by this time; an error if the lease is lost.
fn held_work(tx: &Connection, job: &Job) -> Result<Work> {
    let work: Option<String> = tx
        .prepare_cached("SELECT work FROM jobs WHERE report = ?1 AND token = ?2 AND state = 'running'")?
        .query_row(params![job.report.as_str(), job.token], |row| row.get(0))
        .optional()?;
    match work {
        Some(work) => Work::named(&work),
        None => Err(StoreError::LeaseLost(job.report.clone())),
    }
}

fn put_evidence(tx: &Connection, report: &ReportId, evidence: &StoredEvidence) -> Result<()> {
    tx.prepare_cached("DELETE FROM evidence_parts WHERE report = ?1")?
        .execute([report.as_str()])?;
    tx.prepare_cached("INSERT OR REPLACE INTO evidence (report, key, reader, made) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![
            report.as_str(),
            evidence.key,
            evidence.reader,
            millis(Timestamp::now())
        ])?;
    let mut insert = tx.prepare_cached(
        "INSERT INTO evidence_parts (report, name, artifact, bytes, body, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for part in &evidence.parts {
        let (body, digest) = match &part.body {
            PartBody::Inline(bytes) => (Some(bytes), None),
            PartBody::Blob(digest) => (None, Some(digest.as_str())),
        };
        insert.execute(params![
            report.as_str(),
            part.name,
            part.artifact,
            part.bytes,
            body,
            digest
        ])?;
    }
    Ok(())
}

fn put_modules(tx: &Connection, report: &ReportId, modules: &[ModuleUse]) -> Result<()> {
    tx.prepare_cached("DELETE FROM report_modules WHERE report = ?1")?
        .execute([report.as_str()])?;
    let mut insert =
        tx.prepare_cached("INSERT OR IGNORE INTO report_modules (module, report, lacks_symbols) VALUES (?1, ?2, ?3)")?;
    for module in modules {
        insert.execute(params![module.id, report.as_str(), module.lacks_symbols])?;
    }
    Ok(())
}

/// Adds a version, or notes that the last one would be made in the same way again; its number.
fn put_diagnosis(tx: &Connection, report: &ReportId, outcome: &Outcome, keep: u32) -> Result<u64> {
    let key: String = tx
        .prepare_cached("SELECT key FROM evidence WHERE report = ?1")?
        .query_row([report.as_str()], |row| row.get(0))?;
    let with = &outcome.made_with;
    let said = params![
        report.as_str(),
        millis(Timestamp::now()),
        with.plugins,
        with.knowledge,
        key,
        outcome.diagnosis
    ];
    let same = tx
        .prepare_cached(
            "UPDATE diagnoses SET made = ?2, plugins = ?3, knowledge = ?4 WHERE report = ?1 AND evidence = ?5 AND body = ?6
             AND version = (SELECT max(version) FROM diagnoses WHERE report = ?1) RETURNING version",
        )?
        .query_row(said, |row| row.get(0))
        .optional()?;
    if let Some(version) = same {
        return Ok(version);
    }
    let version = add_version(tx, report, with, &outcome.diagnosis)?;
    if version > 1 {
        tx.prepare_cached("DELETE FROM diagnoses WHERE report = ?1 AND version <= ?2")?
            .execute(params![report.as_str(), version.saturating_sub(keep.max(1).into())])?;
        forget_removed(tx, report)?;
    }
    Ok(version)
}

/// Forgets earlier versions that were judged with a report that was removed since: what it told is to be gone.
fn forget_removed(tx: &Connection, report: &ReportId) -> Result<()> {
    tx.prepare_cached(
        "DELETE FROM diagnoses WHERE report = ?1
         AND version < (SELECT max(version) FROM diagnoses WHERE report = ?1)
         AND EXISTS (SELECT 1 FROM json_each(body, '$.incident.reports') AS other
                     WHERE NOT EXISTS (SELECT 1 FROM reports WHERE id = other.value))",
    )?
    .execute([report.as_str()])?;
    Ok(())
}

/// Adds a version of the diagnosis, made of the evidence that there is; its number.
pub(super) fn add_version(tx: &Connection, report: &ReportId, with: &MadeWith, diagnosis: &str) -> Result<u64> {
    Ok(tx
        .prepare_cached(
            "INSERT INTO diagnoses (report, version, made, plugins, knowledge, evidence, body)
             VALUES (?1, (SELECT coalesce(max(version), 0) + 1 FROM diagnoses WHERE report = ?1), ?2, ?3, ?4,
                     (SELECT key FROM evidence WHERE report = ?1), ?5) RETURNING version",
        )?
        .query_row(
            params![
                report.as_str(),
                millis(Timestamp::now()),
                with.plugins,
                with.knowledge,
                diagnosis
            ],
            |row| row.get(0),
        )?)
}

/// What lists, groups and retention take from a diagnosis.
fn put_summary(tx: &Connection, report: &ReportId, outcome: &Outcome) -> Result<()> {
    let summary = &outcome.summary;
    let happened = summary.time.parse::<Timestamp>().ok().map(millis);
    tx.prepare_cached(
        "UPDATE reports SET state = ?2, failure = NULL, signature = ?3, happened = coalesce(?4, received) WHERE id = ?1",
    )?
    .execute(params![
        report.as_str(),
        ReportState::Done.as_str(),
        summary.signature,
        happened,
    ])?;
    put_shown(tx, report, summary, &outcome.causes, &outcome.made_with)?;
    let mut kinds = tx.prepare_cached("UPDATE artifacts SET kind = ?3 WHERE report = ?1 AND name = ?2")?;
    for (name, kind) in &outcome.kinds {
        kinds.execute(params![report.as_str(), name, kind])?;
    }
    Ok(())
}

/// What is shown of a report's last diagnosis.
pub(super) fn put_shown(
    tx: &Connection,
    report: &ReportId,
    summary: &Summary,
    causes: &[String],
    made_with: &MadeWith,
) -> Result<()> {
    tx.prepare_cached("UPDATE reports SET summary = ?2, diagnosed_with = ?3 WHERE id = ?1")?
        .execute(params![
            report.as_str(),
            parse("summary", serde_json::to_string(summary))?,
            diagnosed_with(made_with)
        ])?;
    tx.prepare_cached("DELETE FROM report_causes WHERE report = ?1")?
        .execute([report.as_str()])?;
    let mut insert = tx.prepare_cached("INSERT OR IGNORE INTO report_causes VALUES (?1, ?2, ?3)")?;
    for (position, cause) in causes.iter().enumerate() {
        insert.execute(params![report.as_str(), cause, position])?;
    }
    Ok(())
}

/// Removes the job, or puts it back when more was asked for while it ran.
fn end_job(tx: &Connection, job: &Job, wanted: Work) -> Result<()> {
    let sql = if wanted == job.work {
        "DELETE FROM jobs WHERE report = ?1"
    } else {
        "UPDATE jobs SET state = 'queued', attempts = 0, not_before = 0, owner = NULL WHERE report = ?1"
    };
    tx.prepare_cached(sql)?.execute([job.report.as_str()])?;
    Ok(())
}

fn all_parts(connection: &Connection, id: &ReportId) -> Result<Vec<StoredPart>> {
    let mut statement = connection.prepare_cached(
        "SELECT name, artifact, bytes, body, digest FROM evidence_parts WHERE report = ?1 ORDER BY name",
    )?;
    let rows = statement.query_map([id.as_str()], |row| Ok(part(row)))?;
    rows.map(|row| row?).collect()
}

fn some_parts(connection: &Connection, id: &ReportId, names: &[String]) -> Result<Vec<StoredPart>> {
    let mut statement = connection.prepare_cached(
        "SELECT name, artifact, bytes, body, digest FROM evidence_parts WHERE report = ?1 AND name = ?2",
    )?;
    let mut parts = Vec::new();
    for name in names {
        let found = statement
            .query_row([id.as_str(), name], |row| Ok(part(row)))
            .optional()?;
        parts.extend(found.transpose()?);
    }
    Ok(parts)
}

fn part(row: &Row<'_>) -> Result<StoredPart> {
    let body = match (row.get(3)?, row.get::<_, Option<String>>(4)?) {
        (_, Some(digest)) => PartBody::Blob(parse("digest", digest.parse())?),
        (Some(bytes), None) => PartBody::Inline(bytes),
        (None, None) => return Err(StoreError::Damaged("a part of evidence without bytes".into())),
    };
    Ok(StoredPart {
        name: row.get(0)?,
        artifact: row.get(1)?,
        bytes: row.get(2)?,
        body,
    })
}

fn diagnosis(row: &Row<'_>) -> Result<DiagnosisRecord> {
    Ok(DiagnosisRecord {
        version: row.get(0)?,
        made: timestamp(row.get(1)?)?,
        made_with: MadeWith {
            plugins: row.get(2)?,
            knowledge: row.get(3)?,
        },
        evidence: row.get(4)?,
        json: row.get(5)?,
    })
}

/// Both versions as the one value that is compared.
fn diagnosed_with(made_with: &MadeWith) -> String {
    format!("{} {}", made_with.plugins, made_with.knowledge)
}
