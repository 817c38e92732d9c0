//! Reports of one incident, and how they learn of each other.

use rusqlite::{Connection, params};
use whycrash_reading::OTHERS;

use super::jobs::{add_job, has_job};
use super::parse;
use crate::store::{KIN, KIN_SPAN, Kin, Kinsman, Outcome, ReportId, Result, Work};

/// Reports that are kin of this one, in the order in which they came.
pub fn of(connection: &Connection, report: &ReportId, kin: &Kin) -> Result<Vec<Kinsman>> {
    let wanted: Vec<&String> = kin.wanted().collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT reports.id, evidence.key, report_kin.job FROM json_each(?2) AS wanted
         JOIN report_kin ON report_kin.key = wanted.value
         JOIN reports ON reports.id = report_kin.report JOIN evidence ON evidence.report = reports.id
         WHERE reports.id <> ?1 AND (report_kin.job IS NULL OR ?3 IS NULL OR report_kin.job = ?3)
           AND abs(reports.received - (SELECT received FROM reports WHERE id = ?1)) <= ?4
         ORDER BY reports.received, reports.id LIMIT ?5",
    )?;
    let wanted = parse("keys", serde_json::to_string(&wanted))?;
    let rows = statement.query_map(
        params![report.as_str(), wanted, kin.job, KIN_SPAN.as_millis() as i64, KIN],
        |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?)),
    )?;
    let kinsmen = rows.map(|row| {
        let (id, evidence, job) = row?;
        Ok(Kinsman {
            report: parse("report id", id.parse())?,
            evidence,
            job,
        })
    });
    kinsmen.collect()
}

/// Has all that may have been judged with a report diagnosed without it: it is about to be removed.
pub fn remove(tx: &Connection, report: &ReportId) -> Result<()> {
    let others = tx
        .prepare_cached(
            "SELECT DISTINCT other.report FROM report_kin AS own
             JOIN report_kin AS other ON other.key = own.key AND other.report <> own.report
             WHERE own.report = ?1 AND (other.job IS NULL OR own.job IS NULL OR other.job = own.job)",
        )?
        .query_map([report.as_str()], |row| row.get::<_, String>(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    for other in others {
        diagnose_again(tx, &parse("report id", other.parse())?)?;
    }
    Ok(())
}

/// Notes by what the report is found. Where its evidence is new, or it is found by something new, its kin are to be
/// diagnosed with it; and it is to be diagnosed again itself where kin came while it was.
pub fn commit(tx: &Connection, report: &ReportId, outcome: &Outcome) -> Result<()> {
    let known = &outcome.kin;
    let is_found_anew = note(tx, report, known)?;
    let kin = reports(of(tx, report, known)?);
    if kin != known.looked_at {
        diagnose_again(tx, report)?;
    }
    let outdated = match outcome.evidence.is_some() || is_found_anew {
        false => Vec::new(),
        true if known.is_told && is_told_of(tx, report, known)? => kin,
        true => reports(of(tx, report, &known.judged())?),
    };
    outdated.iter().try_for_each(|report| diagnose_again(tx, report))
}

/// Notes by what the report is found; whether there is something among it that was not noted before.
fn note(tx: &Connection, report: &ReportId, known: &Kin) -> Result<bool> {
    let own = parse("keys", serde_json::to_string(&known.own().collect::<Vec<_>>()))?;
    tx.prepare_cached("DELETE FROM report_kin WHERE report = ?1 AND key NOT IN (SELECT value FROM json_each(?2))")?
        .execute(params![report.as_str(), own])?;
    tx.prepare_cached("UPDATE report_kin SET job = ?2 WHERE report = ?1")?
        .execute(params![report.as_str(), known.job])?;
    let mut insert = tx.prepare_cached("INSERT OR IGNORE INTO report_kin (key, report, job) VALUES (?1, ?2, ?3)")?;
    let mut added = 0;
    for key in known.own() {
        added += insert.execute(params![key, report.as_str(), known.job])?;
    }
    Ok(added > 0)
}

/// Whether the others of the same attempt are told of this report: of very many they know those that came first.
fn is_told_of(tx: &Connection, report: &ReportId, known: &Kin) -> Result<bool> {
    let mut statement = tx.prepare_cached(
        "SELECT count(*) FROM report_kin JOIN reports ON reports.id = report_kin.report
         WHERE key = ?2 AND (received, id) < (SELECT received, id FROM reports WHERE id = ?1)",
    )?;
    let earlier: usize = statement.query_row(params![report.as_str(), known.attempt], |row| row.get(0))?;
    Ok(earlier <= OTHERS)
}

fn reports(kin: Vec<Kinsman>) -> Vec<ReportId> {
    kin.into_iter().map(|other| other.report).collect()
}

fn diagnose_again(tx: &Connection, report: &ReportId) -> Result<()> {
    if !has_job(tx, report, Work::Diagnose)? {
        add_job(tx, report, Work::Diagnose)?;
    }
    Ok(())
}
