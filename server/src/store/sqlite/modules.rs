//! The binaries of reports, and the symbols that came for them.

use async_trait::async_trait;
use rusqlite::{OptionalExtension, Row, params};

use super::{Sqlite, parse};
use crate::store::{Arrival, Modules, ReportId, Result};

#[async_trait]
impl Modules for Sqlite {
    async fn add_arrival(&self, module: &str, replaces: bool) -> Result<Arrival> {
        let module = module.to_ascii_lowercase();
        self.write(move |tx| {
            Ok(tx
                .prepare_cached(
                    "INSERT INTO arrivals (module, replaces, ready) VALUES (?1, ?2, 0) RETURNING number, module, replaces",
                )?
                .query_row(params![module, replaces], arrival)?)
        })
        .await
    }

    async fn arrived(&self, arrival: &Arrival) -> Result<()> {
        let number = arrival.number;
        self.write(move |tx| {
            tx.prepare_cached("UPDATE arrivals SET ready = 1 WHERE number = ?1")?
                .execute([number])?;
            Ok(())
        })
        .await
    }

    async fn take_up_arrivals(&self) -> Result<()> {
        self.write(|tx| {
            tx.execute("UPDATE arrivals SET ready = 1", [])?;
            Ok(())
        })
        .await
    }

    async fn next_arrival(&self) -> Result<Option<Arrival>> {
        self.read(|connection| {
            Ok(connection
                .prepare_cached("SELECT number, module, replaces FROM arrivals WHERE ready ORDER BY number LIMIT 1")?
                .query_row([], arrival)
                .optional()?)
        })
        .await
    }

    async fn end_arrival(&self, arrival: &Arrival) -> Result<()> {
        let number = arrival.number;
        self.write(move |tx| {
            tx.prepare_cached("DELETE FROM arrivals WHERE number = ?1")?
                .execute([number])?;
            Ok(())
        })
        .await
    }

    async fn count_reports_of(&self, arrival: &Arrival) -> Result<u64> {
        let arrival = arrival.clone();
        self.read(move |connection| {
            Ok(connection
                .prepare_cached("SELECT count(*) FROM report_modules WHERE module = ?1 AND (lacks_symbols OR ?2)")?
                .query_row(params![arrival.module, arrival.replaces], |row| row.get(0))?)
        })
        .await
    }

    async fn reports_of(&self, arrival: &Arrival, after: Option<&ReportId>, limit: u32) -> Result<Vec<ReportId>> {
        let (arrival, after) = (arrival.clone(), after.map(ToString::to_string).unwrap_or_default());
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT report FROM report_modules WHERE module = ?1 AND report > ?2 AND (lacks_symbols OR ?3)
                 ORDER BY report LIMIT ?4",
            )?;
            let ids = statement
                .query_map(params![arrival.module, after, arrival.replaces, limit], |row| {
                    row.get::<_, String>(0)
                })?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            ids.into_iter().map(|id| parse("report id", id.parse())).collect()
        })
        .await
    }
}

fn arrival(row: &Row<'_>) -> rusqlite::Result<Arrival> {
    Ok(Arrival {
        number: row.get(0)?,
        module: row.get(1)?,
        replaces: row.get(2)?,
    })
}
