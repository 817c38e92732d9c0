//! What the index has still to take over.

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::{Sqlite, millis, parse, timestamp};
use crate::store::{Backlog, Outbox, ReportId, Result, Waiting};

/// Makes a report wait to be indexed; the number of the change.
pub(super) fn add(connection: &Connection, id: &ReportId) -> Result<i64> {
    Ok(connection
        .prepare_cached(
            "INSERT INTO outbox (report, change, since)
             VALUES (?1, (SELECT coalesce(max(change), 0) + 1 FROM outbox), ?2)
             ON CONFLICT (report) DO UPDATE SET change = excluded.change RETURNING change",
        )?
        .query_row(params![id.as_str(), millis(Timestamp::now())], |row| row.get(0))?)
}

#[async_trait]
impl Outbox for Sqlite {
    async fn waiting(&self, limit: u32) -> Result<Vec<Waiting>> {
        self.read(move |connection| {
            let mut statement =
                connection.prepare_cached("SELECT report, change FROM outbox ORDER BY change LIMIT ?1")?;
            let rows = statement
                .query_map([limit], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            let waiting = rows.into_iter().map(|(report, change)| {
                let report = parse("report id", report.parse())?;
                Ok(Waiting { report, change })
            });
            waiting.collect()
        })
        .await
    }

    async fn indexed(&self, done: &[Waiting]) -> Result<()> {
        let done = done.to_vec();
        self.write(move |tx| {
            let mut delete = tx.prepare_cached("DELETE FROM outbox WHERE report = ?1 AND change = ?2")?;
            for waiting in &done {
                delete.execute(params![waiting.report.as_str(), waiting.change])?;
            }
            Ok(())
        })
        .await
    }

    async fn index_again(&self, ids: &[ReportId]) -> Result<()> {
        let ids = ids.to_vec();
        self.write(move |tx| ids.iter().try_for_each(|id| add(tx, id).map(drop)))
            .await
    }

    async fn index_all(&self) -> Result<(i64, u64)> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO outbox (report, change, since)
                 SELECT report, (SELECT coalesce(max(change), 0) FROM outbox) + row_number() OVER (ORDER BY report), ?1
                 FROM evidence WHERE true
                 ON CONFLICT (report) DO UPDATE SET change = excluded.change",
                [millis(Timestamp::now())],
            )?;
            let last_and_count = "SELECT coalesce(max(change), 0), count(*) FROM outbox";
            Ok(tx.query_row(last_and_count, [], |row| Ok((row.get(0)?, row.get(1)?)))?)
        })
        .await
    }

    async fn documented(&self, after: Option<&ReportId>, limit: u32) -> Result<Vec<ReportId>> {
        let after = after.map(ToString::to_string).unwrap_or_default();
        self.read(move |connection| {
            let mut statement =
                connection.prepare_cached("SELECT report FROM evidence WHERE report > ?1 ORDER BY report LIMIT ?2")?;
            let ids = statement
                .query_map(params![after, limit], |row| row.get::<_, String>(0))?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            ids.into_iter().map(|id| parse("report id", id.parse())).collect()
        })
        .await
    }

    async fn undocumented(&self, ids: &[ReportId]) -> Result<Vec<ReportId>> {
        let ids = ids.to_vec();
        self.read(move |connection| {
            let mut known = connection.prepare_cached("SELECT 1 FROM evidence WHERE report = ?1")?;
            let mut unknown = Vec::new();
            for id in ids {
                if !known.exists([id.as_str()])? {
                    unknown.push(id);
                }
            }
            Ok(unknown)
        })
        .await
    }

    async fn backlog(&self) -> Result<Backlog> {
        self.read(|connection| {
            let (waiting, oldest): (u64, Option<i64>) = connection
                .prepare_cached("SELECT count(*), min(since) FROM outbox")?
                .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(Backlog {
                waiting,
                oldest: oldest.map(timestamp).transpose()?,
            })
        })
        .await
    }
}
