//! What has grown old, or is referred to by nothing.

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, Params, params};

use super::{Sqlite, millis, parse};
use crate::store::{Digest, Expired, ReportId, Result, Upkeep};

/// Free pages given back to the file system at a time (4 KiB each).
const PAGES: u32 = 4096;

impl Sqlite {
    async fn ids(&self, sql: &'static str, params: impl Params + Send + 'static) -> Result<Vec<ReportId>> {
        self.read(move |connection| {
            let ids = connection
                .prepare_cached(sql)?
                .query_map(params, |row| row.get::<_, String>(0))?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            ids.into_iter().map(|id| parse("report id", id.parse())).collect()
        })
        .await
    }
}

#[async_trait]
impl Upkeep for Sqlite {
    async fn reports_before(&self, time: Timestamp, limit: u32) -> Result<Vec<ReportId>> {
        let sql = "SELECT id FROM reports WHERE received < ?1 AND state != 'uploading' ORDER BY received LIMIT ?2";
        self.ids(sql, (millis(time), limit)).await
    }

    async fn unfinished_since(&self, time: Timestamp, limit: u32) -> Result<Vec<ReportId>> {
        let sql = "SELECT id FROM reports WHERE state = 'uploading' AND touched < ?1 ORDER BY id LIMIT ?2";
        self.ids(sql, (millis(time), limit)).await
    }

    async fn expire_artifacts(&self, kind: &str, before: Timestamp, limit: u32) -> Result<Vec<Expired>> {
        let kind = kind.to_owned();
        self.write(move |tx| {
            let mut statement = tx.prepare_cached(
                "UPDATE artifacts SET stored = 0, expired = 1 WHERE (report, name) IN (
                     SELECT report, name FROM artifacts JOIN reports ON id = report
                     WHERE kind = ?1 AND stored = 1 AND received < ?2 AND state IN ('done', 'failed') LIMIT ?3)
                 RETURNING report, name, bytes",
            )?;
            let rows = statement
                .query_map(params![kind, millis(before), limit], |row| {
                    Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?))
                })?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            forget_texts(tx, &rows)?;
            let expired = rows.into_iter().map(|(report, name, bytes)| {
                let report = parse("report id", report.parse())?;
                Ok(Expired { report, name, bytes })
            });
            expired.collect()
        })
        .await
    }

    async fn unreferenced(&self, digests: &[Digest]) -> Result<Vec<Digest>> {
        let digests = digests.to_vec();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM artifacts WHERE digest = ?1 AND expired = 0)
                         OR EXISTS (SELECT 1 FROM evidence_parts WHERE digest = ?1)",
            )?;
            let mut unreferenced = Vec::new();
            for digest in digests {
                if !statement.query_row([digest.as_str()], |row| row.get::<_, bool>(0))? {
                    unreferenced.push(digest);
                }
            }
            Ok(unreferenced)
        })
        .await
    }

    async fn compact(&self) -> Result<()> {
        self.outside_transactions(|connection| {
            // The pragma returns a row per page; all of them must be fetched.
            let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
            let mut rows = statement.query([])?;
            while rows.next()?.is_some() {}
            Ok(())
        })
        .await
    }
}

/// The text of an artifact goes with it.
fn forget_texts(tx: &Connection, artifacts: &[(String, String, u64)]) -> Result<()> {
    // Members of an archive are called by its name, a slash, and theirs.
    let mut delete = tx.prepare_cached(
        "DELETE FROM evidence_parts WHERE report = ?1
             AND (artifact = ?2 OR substr(artifact, 1, length(?2) + 1) = ?2 || '/')",
    )?;
    for (report, name, _) in artifacts {
        delete.execute([report, name])?;
    }
    Ok(())
}
