//! What the logs say of a rank that the others waited for in vain: that it was still at work, or had none left.

use whycrash_plugin::facts::{CollectiveMismatch, PythonException, Watchdog};
use whycrash_plugin::{Diagnosis, Event, Finding, Line, Report, Told, cite};

use crate::counts;

/// Lines before the time-out, and with those behind it, that are looked at: a long log is not searched for this.
const BEFORE: u64 = 512;
const LINES: u32 = 1024;

/// Logs of other ranks, and lines at their ends, that are looked at.
const OTHERS: usize = 64;
const TAIL: u32 = 64;
/// And where a rank says that it is through it says little more.
const THROUGH: u32 = 6;

/// What runs out, and in which words.
const INPUTS: [&str; 6] = ["dataloader", "data loader", "iterator", "loader", "dataset", "shard"];
const OUT: [&str; 3] = ["exhausted", "depleted", "ran out"];

/// Work that is no training step, of which a rank tells how far it is: `Running tokenizer on dataset:  8%|`.
const WORK: [&str; 12] = [
    "tokeniz",
    "preprocess",
    "pre-process",
    "map (",
    "filter",
    "generating ",
    "packing",
    "grouping",
    "download",
    "eval",
    "validat",
    "saving",
];

/// A rank says that it has no more input.
fn is_out_of_input(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let input = INPUTS.iter().filter_map(|word| text.find(word)).min();
    let out = OUT.iter().filter_map(|word| text.find(word)).max();
    input
        .zip(out)
        .is_some_and(|(input, out)| input < out && out - input < 80)
}

/// A rank tells how much of some work is done.
fn is_at_work(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let work = WORK.iter().filter_map(|word| text.find(word)).min();
    let percent = text
        .find('%')
        .filter(|at| text[..*at].ends_with(|digit: char| digit.is_ascii_digit()));
    work.zip(percent)
        .is_some_and(|(work, percent)| work < percent && percent - work < 80)
}

/// A rank tells that it is through, with its training or with a part of that.
pub fn is_through(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let part = ["training", "epoch", "train loop", "all batches", "all steps"]
        .iter()
        .filter_map(|word| text.find(word))
        .min();
    let end = ["finished", "done", "complete", "ended"]
        .iter()
        .filter_map(|word| text.rfind(word))
        .max();
    let is_failure = ["fail", "error", "abort"].iter().any(|word| text.contains(word));
    !is_failure && part.zip(end).is_some_and(|(part, end)| part < end && end - part < 60)
}

pub fn rule(report: &Report) -> Option<Diagnosis> {
    let timeouts = report.told::<Watchdog>();
    // What the watchdog finds out about the ranks comes first, and the time-out is an echo of that.
    let has_desync = report
        .told::<CollectiveMismatch>()
        .iter()
        .any(|told| counts(&told.event));
    let is_first = |event: &Event| counts(event) || has_desync && !event.survived;
    let timeout = timeouts
        .iter()
        .find(|told| is_first(&told.event) && told.detail.family == "timeout")?;
    let told = report.cite(&timeout.event);
    let (until, _) = timeout.event.lines?;
    let lines = report.lines(&timeout.event.artifact, until.saturating_sub(BEFORE).max(1), LINES);
    let mut before = lines.iter().filter(|line| line.number < until);
    if let Some(line) = before.find(|line| is_out_of_input(&line.text)) {
        let finding = Finding::new("dist-uneven-inputs", 0.84).because(format!(
            "A rank had no input left while the others went on: \"{}\". They waited in the next collective until their time-out.",
            line.text.trim()
        ));
        return Some(finding.cite(cite::line(line)).cite(told).into());
    }
    let is_through = |text: &str| is_through(text) || is_out_of_input(text);
    if let Some(line) = at_the_end_of_another(report, &timeouts, THROUGH, is_through) {
        let finding = Finding::new("dist-uneven-inputs", 0.8).because(format!(
            "A rank was through while the others went on, and waited in the next collective until their time-out: its log ends with \"{}\".",
            line.text.trim()
        ));
        return Some(finding.cite(cite::line(&line)).cite(told).into());
    }
    let mut after = lines.iter().filter(|line| line.number >= until);
    let waited = timeouts.iter().filter_map(|told| told.detail.timeout_ms).min();
    let long_before = || {
        let waited = waited? / 1000;
        let last = lines
            .iter()
            .rfind(|line| line.number < until && is_at_work(&line.text))?;
        // It was begun with the wait, or before, and was not done when that was over.
        (!last.text.contains("100%") && seconds(&last.text) * 5 >= waited * 4).then(|| last.clone())
    };
    let line = match after.find(|line| is_at_work(&line.text)) {
        Some(line) => line.clone(),
        None => long_before().or_else(|| of_another(report, &timeouts))?,
    };
    let finding = Finding::new("dist-slow-rank-not-hang", 0.82).because(
        "A rank was still at work when the others had waited for it until their time-out: it came late, and did not hang.",
    );
    Some(finding.cite(cite::line(&line)).cite(told).into())
}

/// What ranks call to wait for each other.
const BARRIERS: [&str; 4] = [
    "barrier",
    "main_process_first",
    "wait_for_everyone",
    "_store_based_barrier",
];

/// A rank waited in a barrier, or for what another puts into the store, until a time-out of that; behind it another is
/// still at work.
pub fn beyond_barrier(report: &Report) -> Option<Diagnosis> {
    let timeout = of_barrier(report)?;
    let (_, until) = timeout.lines?;
    let lines = report.lines(&timeout.artifact, until.saturating_add(1), LINES);
    let line = lines.iter().find(|line| is_at_work(&line.text))?;
    let finding = Finding::new("dist-slow-rank-not-hang", 0.9)
        .because("A rank was still at work when another had waited for it in a barrier until its time-out.");
    Some(finding.cite(cite::line(line)).cite(report.cite(&timeout)).into())
}

fn of_barrier(report: &Report) -> Option<Event> {
    let raised = report.told::<PythonException>().into_iter().find(|told| {
        let message = told.detail.message.to_ascii_lowercase();
        counts(&told.event) && (message.contains("timeout") || message.contains("timed out"))
    })?;
    let mut walks = report.walks().take_while(|walk| walk.thread.crashed);
    let waits = walks.any(|walk| {
        let mut functions = walk.frames().filter_map(|(_, frame)| frame.function);
        functions.any(|function| BARRIERS.contains(&function.as_str()))
    });
    waits.then_some(raised.event)
}

/// In the log of a rank that did not time out: work at its end that is not done, or that took longer than the others
/// wait.
fn of_another(report: &Report, timeouts: &[Told<Watchdog>]) -> Option<Line> {
    let waited = timeouts.iter().filter_map(|told| told.detail.timeout_ms).min()? / 1000;
    let is_late = |text: &str| is_at_work(text) && (!text.contains("100%") || seconds(text) >= waited);
    at_the_end_of_another(report, timeouts, TAIL, is_late)
}

/// The last such line at the end of the log of a rank that did not time out.
fn at_the_end_of_another(
    report: &Report,
    timeouts: &[Told<Watchdog>],
    tail: u32,
    is_it: impl Fn(&str) -> bool,
) -> Option<Line> {
    let timed_out = |name: &str| timeouts.iter().any(|told| told.event.artifact == name);
    let artifacts = report.artifacts();
    let others = artifacts
        .iter()
        .filter(|artifact| artifact.lines > 0 && !timed_out(&artifact.name));
    others.take(OTHERS).find_map(|artifact| {
        let first = artifact.lines.saturating_sub(u64::from(tail)) + 1;
        let lines = report.lines(&artifact.name, first, tail);
        lines.into_iter().rev().find(|line| is_it(&line.text))
    })
}

/// The time that a progress bar says has passed, `[1:02:03<00:10, …]`, in seconds.
fn seconds(bar: &str) -> u64 {
    let passed = bar
        .split_once('<')
        .and_then(|(before, _)| Some(before.rsplit_once('[')?.1));
    passed.map_or(0, |clock| {
        clock
            .split(':')
            .filter_map(|part| part.parse::<u64>().ok())
            .fold(0, |sum, part| sum.saturating_mul(60).saturating_add(part))
    })
}
