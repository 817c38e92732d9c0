//! A rank that a signal stopped, as a table of processes shows it beside a time-out.

use whycrash_plugin::facts::{NcclWarning, Watchdog};
use whycrash_plugin::{Diagnosis, Event, Finding, Line, Report, cite};

use crate::counts;

/// Lines of an artifact that such a table may be in: long logs are not searched for it.
const LONGEST: u64 = 4096;

/// A pattern of a row of `ps`, of this machine or behind the name of one that pdsh asked, whose process is in one of these
/// states: its number, with the user or the parent's number before it in some forms, the state, and a command that is the
/// job's.
fn row(states: &str) -> String {
    format!(
        r"^\s*(?:[a-z][\w.-]*: +)?(?:[a-z_][\w-]*\s+)?\d+\s+(?:\S+\s+){{0,6}}?[{states}][sl<NL+]{{0,4}}\s+(?:.*\s)?\S*(?:python|torchrun|deepspeed)\S*(?:\s|$)"
    )
}

/// Stopped by a signal; and what runs, sleeps or waits for a device.
const STOPPED: &str = "T";
const ALIVE: &str = "RSD";

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
    let named = process_of(waited);
    let is_it = |row: &Line| named.is_none_or(|pid| row.text.split_whitespace().any(|word| word == pid));
    let row = tables(report)
        .iter()
        .find_map(|name| rows(report, name, STOPPED).into_iter().find(is_it))?;
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
    let (stopped, alive) = tables(report).iter().find_map(|name| {
        let first = |states| rows(report, name, states).into_iter().next();
        Some((first(STOPPED)?, first(ALIVE)?))
    })?;
    let finding = Finding::new("hang-stopped", 0.84)
        .because("A process of the job is stopped by a signal (state T in the table of processes), as after SIGSTOP or Ctrl-Z, while another one runs: the others wait for it.")
        .cite(cite::line(&stopped))
        .cite(cite::line(&alive));
    Some(finding.into())
}

/// Artifacts that such a table may be in.
fn tables(report: &Report) -> Vec<String> {
    let artifacts = report.artifacts().into_iter();
    artifacts
        .filter(|artifact| (1..=LONGEST).contains(&artifact.lines))
        .map(|artifact| artifact.name)
        .collect()
}

fn rows(report: &Report, artifact: &str, states: &str) -> Vec<Line> {
    report.search(Some(artifact), &row(states), ROWS).unwrap_or_default()
}

/// The process that NCCL's service misses: `process 4711 on 10.0.0.7 does not answer NCCL`.
fn process_of(event: &Event) -> Option<&str> {
    event.text.strip_prefix("process ")?.split(' ').next()
}
