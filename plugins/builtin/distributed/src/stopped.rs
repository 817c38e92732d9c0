//! A rank that a signal stopped, as a table of processes shows it beside a time-out.

use whycrash_plugin::facts::{NcclWarning, Watchdog};
use whycrash_plugin::{Diagnosis, Event, Finding, Line, Report, cite};

use crate::counts;

/// Lines of an artifact that such a table may be in: long logs are not searched for it.
const LONGEST: u64 = 4096;

/// A row of `ps`, of this machine or behind the name of one that pdsh asked, whose process is in state T: its number, with
/// the user or the parent's number before it in some forms, the state, and a command that is the job's.
const ROW: &str = r"^\s*(?:[a-z][\w.-]*: +)?(?:[a-z_][\w-]*\s+)?\d+\s+(?:\S+\s+){0,6}?T[sl<NL+]{0,4}\s+(?:.*\s)?\S*(?:python|torchrun|deepspeed)\S*(?:\s|$)";

/// The same of a process that runs or sleeps.
const RUNNING: &str = r"^\s*(?:[a-z][\w.-]*: +)?(?:[a-z_][\w-]*\s+)?\d+\s+(?:\S+\s+){0,6}?[RSD][sl<NL+]{0,4}\s+(?:.*\s)?\S*(?:python|torchrun|deepspeed)\S*(?:\s|$)";

/// Rows of such a table that are looked at.
const ROWS: u32 = 64;

pub fn rule(report: &Report) -> Option<Diagnosis> {
    let timeouts = report.told::<Watchdog>();
    let unanswered = report.told::<NcclWarning>();
    // NCCL's own service (RAS) tells of a process that does not answer long before a time-out would.
    let late = timeouts.iter().map(|told| &told.event).find(|event| !event.survived);
    let mute = || {
        unanswered
            .iter()
            .map(|told| &told.event)
            .find(|event| event.text.contains("does not answer"))
    };
    let Some(waited) = late.or_else(mute) else {
        return looked_at(report);
    };
    let artifacts = report.artifacts();
    let mut short = artifacts
        .iter()
        .filter(|artifact| (1..=LONGEST).contains(&artifact.lines));
    let named = process_of(waited);
    let is_it = |row: &Line| named.is_none_or(|pid| row.text.split_whitespace().any(|word| word == pid));
    let row = short.find_map(|artifact| {
        let rows = report.search(Some(&artifact.name), ROW, ROWS).ok()?;
        rows.into_iter().find(is_it)
    })?;
    let finding = Finding::new("hang-stopped", 0.86)
        .because("A process of the job is stopped by a signal (state T in the table of processes), as after SIGSTOP or Ctrl-Z: it can not answer the others, which wait for it until their time-out.")
        .cite(cite::line(&row))
        .cite(report.cite(waited));
    Some(finding.into())
}

/// Nothing failed, and somebody looked at the processes: one of the job's is stopped, and its peers are not.
fn looked_at(report: &Report) -> Option<Diagnosis> {
    if report.crash().is_some() || report.events(None, 0, 64).iter().any(counts) {
        return None;
    }
    let artifacts = report.artifacts();
    let mut short = artifacts
        .iter()
        .filter(|artifact| (1..=LONGEST).contains(&artifact.lines));
    let (stopped, running) = short.find_map(|artifact| {
        let find = |pattern| report.search(Some(&artifact.name), pattern, ROWS).ok();
        let stopped = find(ROW)?.into_iter().next()?;
        Some((stopped, find(RUNNING)?.into_iter().next()?))
    })?;
    let finding = Finding::new("hang-stopped", 0.84)
        .because("A process of the job is stopped by a signal (state T in the table of processes), as after SIGSTOP or Ctrl-Z, while another one runs: the others wait for it.")
        .cite(cite::line(&stopped))
        .cite(cite::line(&running));
    Some(finding.into())
}

/// The process that NCCL's service misses: `process 4711 on 10.0.0.7 does not answer NCCL`.
fn process_of(event: &Event) -> Option<&str> {
    event.text.strip_prefix("process ")?.split(' ').next()
}
