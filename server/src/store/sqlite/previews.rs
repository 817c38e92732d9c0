//! Previews.

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use super::outcomes::{add_version, put_shown};
use super::{Sqlite, millis, outbox, parse, timestamp, wanted};
use crate::store::{
    Change, ChangeCount, Conclusion, Looked, MadeWith, NewPreview, Page, Pair, PreviewRecord, PreviewState, Previews,
    Proposal, ReportId, Result, StoreError, Summary,
};

/// A conclusion as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    diagnosis: String,
    plugins: String,
    knowledge: String,
    summary: Summary,
    causes: Vec<String>,
}

impl Stored {
    fn json(conclusion: &Conclusion) -> Result<String> {
        let conclusion = conclusion.clone();
        let stored = Self {
            diagnosis: conclusion.diagnosis,
            plugins: conclusion.made_with.plugins,
            knowledge: conclusion.made_with.knowledge,
            summary: conclusion.summary,
            causes: conclusion.causes,
        };
        parse("a proposal", serde_json::to_string(&stored))
    }

    fn read(json: &str) -> Result<Conclusion> {
        let stored: Self = parse("a proposal", serde_json::from_str(json))?;
        Ok(Conclusion {
            diagnosis: stored.diagnosis,
            made_with: MadeWith {
                plugins: stored.plugins,
                knowledge: stored.knowledge,
            },
            summary: stored.summary,
            causes: stored.causes,
        })
    }
}

const PREVIEW: &str =
    "SELECT number, name, version, sha256, extension, query, plugins, knowledge, state, reason, created,
                              reports, looked_at, changed, replaced FROM previews";

#[async_trait]
impl Previews for Sqlite {
    async fn create_preview(&self, preview: &NewPreview, scope: Option<&[ReportId]>) -> Result<u64> {
        let (preview, scope) = (preview.clone(), scope.map(<[ReportId]>::to_vec));
        self.write(move |tx| {
            tx.prepare_cached(
                "INSERT INTO previews (name, version, sha256, extension, query, plugins, knowledge, state, created, reports,
                                       looked_at, changed)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'running', ?8, 0, 0, 0)",
            )?
            .execute(params![
                preview.name,
                preview.version,
                preview.sha256,
                preview.extension,
                preview.query,
                preview.made_with.plugins,
                preview.made_with.knowledge,
                millis(Timestamp::now())
            ])?;
            let number = tx.last_insert_rowid();
            match scope {
                None => {
                    tx.execute(
                        "INSERT INTO preview_reports (preview, report, is_true)
                         SELECT ?1, report, 0 FROM evidence WHERE report IN (SELECT report FROM diagnoses)",
                        [number],
                    )?;
                }
                Some(reports) => {
                    let mut insert = tx.prepare_cached(
                        "INSERT OR IGNORE INTO preview_reports (preview, report, is_true)
                         SELECT ?1, report, 0 FROM evidence
                         WHERE report = ?2 AND EXISTS (SELECT 1 FROM diagnoses WHERE report = ?2)",
                    )?;
                    for report in reports {
                        insert.execute(params![number, report.as_str()])?;
                    }
                }
            }
            tx.execute(
                "UPDATE previews SET reports = (SELECT count(*) FROM preview_reports WHERE preview = ?1) WHERE number = ?1",
                [number],
            )?;
            Ok(number.unsigned_abs())
        })
        .await
    }

    async fn previews(&self) -> Result<Vec<PreviewRecord>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!("{PREVIEW} ORDER BY number DESC"))?;
            let rows = statement.query_map([], |row| Ok(record(row)))?;
            rows.map(|row| row?).collect()
        })
        .await
    }

    async fn preview(&self, number: u64) -> Result<Option<PreviewRecord>> {
        self.read(move |connection| find(connection, number)).await
    }

    async fn forget_preview(&self, number: u64) -> Result<()> {
        self.write(move |tx| {
            tx.prepare_cached("DELETE FROM previews WHERE number = ?1 AND state != 'running'")?
                .execute([number])?;
            Ok(())
        })
        .await
    }

    async fn not_looked_at(&self, number: u64, limit: u32) -> Result<Vec<ReportId>> {
        self.read(move |connection| {
            let ids = connection
                .prepare_cached("SELECT report FROM preview_reports WHERE preview = ?1 AND base IS NULL LIMIT ?2")?
                .query_map(params![number, limit], |row| row.get::<_, String>(0))?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            ids.into_iter().map(|id| parse("report id", id.parse())).collect()
        })
        .await
    }

    async fn note(&self, number: u64, looked: &[Looked]) -> Result<bool> {
        let looked = looked.to_vec();
        self.write(move |tx| {
            if !is_in(tx, number, PreviewState::Running)? {
                return Ok(false);
            }
            looked.iter().try_for_each(|looked| note_one(tx, number, looked))?;
            Ok(true)
        })
        .await
    }

    async fn move_preview(
        &self,
        number: u64,
        from: PreviewState,
        to: PreviewState,
        reason: Option<&str>,
    ) -> Result<bool> {
        let reason = reason.map(str::to_owned);
        self.write(move |tx| {
            let moved = tx
                .prepare_cached("UPDATE previews SET state = ?3, reason = ?4 WHERE number = ?1 AND state = ?2")?
                .execute(params![number, from.as_str(), to.as_str(), reason])?;
            Ok(moved == 1)
        })
        .await
    }

    async fn changes(&self, number: u64) -> Result<Vec<ChangeCount>> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT change, cause, count(*) FROM preview_changes WHERE preview = ?1
                 GROUP BY change, cause ORDER BY 3 DESC, 1, 2",
            )?;
            let rows = statement.query_map([number], |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?)))?;
            let count = |row: rusqlite::Result<(String, String, u64)>| {
                let (name, cause, reports) = row?;
                let change =
                    Change::named(&name).ok_or_else(|| StoreError::Damaged(format!("unknown change {name}")))?;
                Ok(ChangeCount { change, cause, reports })
            };
            rows.map(count).collect()
        })
        .await
    }

    async fn changed(
        &self,
        number: u64,
        way: Option<(Change, &str)>,
        after: Option<&ReportId>,
        limit: u32,
    ) -> Result<Page<Summary, String>> {
        let way = way.map(|(change, cause)| (change.as_str(), cause.to_owned()));
        let (change, cause) = way.map_or((None, None), |(change, cause)| (Some(change), Some(cause)));
        let after = after.map(ToString::to_string).unwrap_or_default();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT summary FROM preview_reports JOIN reports ON reports.id = report
                 WHERE preview = ?1 AND report > ?4 AND conclusion IS NOT NULL
                 AND (?2 IS NULL OR EXISTS (SELECT 1 FROM preview_changes
                     WHERE preview_changes.preview = ?1 AND change = ?2 AND cause = ?3
                     AND preview_changes.report = preview_reports.report))
                 ORDER BY report LIMIT ?5",
            )?;
            let rows = statement.query_map(params![number, change, cause, after, u64::from(limit) + 1], |row| {
                row.get::<_, String>(0)
            })?;
            let summaries: Vec<Summary> = rows
                .map(|json| parse("summary", serde_json::from_str(&json?)))
                .collect::<Result<_>>()?;
            Ok(Page::of(summaries, limit, |last| last.id.clone()))
        })
        .await
    }

    async fn pair(&self, number: u64, report: &ReportId) -> Result<Option<Pair>> {
        let report = report.clone();
        self.read(move |connection| {
            let found = connection
                .prepare_cached(
                    "SELECT conclusion, is_true,
                            (SELECT body FROM diagnoses WHERE diagnoses.report = ?2 AND version = base),
                            (SELECT body FROM diagnoses WHERE diagnoses.report = ?2 ORDER BY version DESC LIMIT 1)
                     FROM preview_reports WHERE preview = ?1 AND report = ?2 AND conclusion IS NOT NULL",
                )?
                .query_row(params![number, report.as_str()], |row| {
                    let (based, last): (Option<String>, Option<String>) = (row.get(2)?, row.get(3)?);
                    // The version it was compared with may be forgotten by now.
                    Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?, based.or(last)))
                })
                .optional()?;
            let Some((json, is_true, other)) = found else {
                return Ok(None);
            };
            let (kept, other) = (Stored::read(&json)?.diagnosis, other.unwrap_or_default());
            let (before, after) = if is_true { (kept, other) } else { (other, kept) };
            Ok(Some(Pair { before, after }))
        })
        .await
    }

    async fn apply_preview(&self, number: u64, replaced: Option<&(String, String)>) -> Result<Option<u64>> {
        let replaced = replaced.map(serde_json::to_string).transpose();
        let replaced = parse("the file that is replaced", replaced)?;
        self.write(move |tx| {
            if !is_in(tx, number, PreviewState::Ready)? {
                return Ok(None);
            }
            tx.prepare_cached("UPDATE previews SET state = 'applied', replaced = ?2 WHERE number = ?1")?
                .execute(params![number, replaced])?;
            exchange(tx, number, false).map(Some)
        })
        .await
    }

    async fn undo_preview(&self, number: u64) -> Result<Option<u64>> {
        self.write(move |tx| {
            if !is_in(tx, number, PreviewState::Applied)? {
                return Ok(None);
            }
            tx.prepare_cached("UPDATE previews SET state = 'undone' WHERE number = ?1")?
                .execute([number])?;
            exchange(tx, number, true).map(Some)
        })
        .await
    }
}

fn find(connection: &Connection, number: u64) -> Result<Option<PreviewRecord>> {
    let found = connection
        .prepare_cached(&format!("{PREVIEW} WHERE number = ?1"))?
        .query_row([wanted(number)], |row| Ok(record(row)))
        .optional()?;
    found.transpose()
}

fn is_in(connection: &Connection, number: u64, state: PreviewState) -> Result<bool> {
    Ok(find(connection, number)?.is_some_and(|preview| preview.state == state))
}

fn record(row: &Row<'_>) -> Result<PreviewRecord> {
    let state: String = row.get(8)?;
    let replaced: Option<String> = row.get(14)?;
    let replaced = replaced.map(|json| parse("the file that was replaced", serde_json::from_str(&json)));
    Ok(PreviewRecord {
        number: row.get(0)?,
        of: NewPreview {
            name: row.get(1)?,
            version: row.get(2)?,
            sha256: row.get(3)?,
            extension: row.get(4)?,
            query: row.get(5)?,
            made_with: MadeWith {
                plugins: row.get(6)?,
                knowledge: row.get(7)?,
            },
        },
        state: PreviewState::named(&state)
            .ok_or_else(|| StoreError::Damaged(format!("unknown state of a preview {state}")))?,
        reason: row.get(9)?,
        created: timestamp(row.get(10)?)?,
        reports: row.get(11)?,
        looked_at: row.get(12)?,
        changed: row.get(13)?,
        replaced: replaced.transpose()?,
    })
}

fn note_one(tx: &Connection, number: u64, looked: &Looked) -> Result<()> {
    let conclusion = looked
        .proposal
        .as_ref()
        .map(|proposal| Stored::json(&proposal.conclusion));
    let noted = tx
        .prepare_cached(
            "UPDATE preview_reports SET base = ?3, conclusion = ?4 WHERE preview = ?1 AND report = ?2 AND base IS NULL",
        )?
        .execute(params![
            number,
            looked.report.as_str(),
            looked.base,
            conclusion.transpose()?
        ])?;
    // One that was deleted meanwhile is in the scope no more.
    tx.prepare_cached("UPDATE previews SET looked_at = looked_at + 1, changed = changed + ?2 WHERE number = ?1")?
        .execute(params![number, noted == 1 && looked.proposal.is_some()])?;
    let Some(Proposal { changes, .. }) = looked.proposal.as_ref().filter(|_| noted == 1) else {
        return Ok(());
    };
    let mut insert = tx.prepare_cached(
        "INSERT OR IGNORE INTO preview_changes (preview, change, cause, report) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for (change, cause) in changes {
        insert.execute(params![number, change.as_str(), cause, looked.report.as_str()])?;
    }
    Ok(())
}

/// Makes what the entries hold true, and has them hold what was, where the report's last diagnosis is still the one
/// that they know; how many. It is the same to and fro.
fn exchange(tx: &Connection, number: u64, is_true: bool) -> Result<u64> {
    let ids = tx
        .prepare_cached(
            "SELECT report FROM preview_reports WHERE preview = ?1 AND conclusion IS NOT NULL AND is_true = ?2
             AND base = (SELECT max(version) FROM diagnoses WHERE diagnoses.report = preview_reports.report)",
        )?
        .query_map(params![number, is_true], |row| row.get::<_, String>(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    for id in &ids {
        exchange_one(tx, number, &parse("report id", id.parse())?, is_true)?;
    }
    Ok(ids.len() as u64)
}

fn exchange_one(tx: &Connection, number: u64, report: &ReportId, is_true: bool) -> Result<()> {
    let json: String = tx
        .prepare_cached("SELECT conclusion FROM preview_reports WHERE preview = ?1 AND report = ?2")?
        .query_row(params![number, report.as_str()], |row| row.get(0))?;
    let before = Stored::json(&concluded(tx, report)?)?;
    let next = Stored::read(&json)?;
    let version = add_version(tx, report, &next.made_with, &next.diagnosis)?;
    put_shown(tx, report, &next.summary, &next.causes, &next.made_with)?;
    outbox::add(tx, report)?;
    tx.prepare_cached(
        "UPDATE preview_reports SET base = ?3, conclusion = ?4, is_true = ?5 WHERE preview = ?1 AND report = ?2",
    )?
    .execute(params![number, report.as_str(), version, before, !is_true])?;
    Ok(())
}

/// What is concluded of a report now.
fn concluded(tx: &Connection, report: &ReportId) -> Result<Conclusion> {
    let (diagnosis, plugins, knowledge, summary): (String, String, String, String) = tx
        .prepare_cached(
            "SELECT body, plugins, knowledge, summary FROM diagnoses JOIN reports ON reports.id = report
             WHERE report = ?1 ORDER BY version DESC LIMIT 1",
        )?
        .query_row([report.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
    let causes = tx
        .prepare_cached("SELECT cause FROM report_causes WHERE report = ?1 ORDER BY position")?
        .query_map([report.as_str()], |row| row.get(0))?
        .collect::<rusqlite::Result<Vec<String>>>()?;
    Ok(Conclusion {
        diagnosis,
        made_with: MadeWith { plugins, knowledge },
        summary: parse("summary", serde_json::from_str(&summary))?,
        causes,
    })
}
