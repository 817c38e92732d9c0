//! What the artifacts say, without a diagnosis.

use indicatif::HumanBytes;
use whycrash_evidence::Evidence;
use whycrash_evidence::model::{Communicator, MemorySnapshot, Place, Series, Thread};
use whycrash_plugin_host::ReportHead;

use super::document::{artifacts, describe, head};
use super::frames;
use super::page::{Page, cut, style};
use crate::output::Clean;
use crate::scrub::Changed;

/// Frames shown of the crashed thread, and of each other one.
const FRAMES: (usize, usize) = (32, 6);
/// Threads, events and modules shown; all of them are in the JSON.
const ROWS: usize = 24;

/// The evidence on a page of `width` columns, with what scrubbing changes about the texts where that was asked for.
pub fn evidence(report: &ReportHead, scrubbed: Option<&[Changed]>, evidence: &Evidence, width: usize) -> Clean {
    let mut page = Page::new(width);
    head(&mut page, report, evidence);
    if let Some(scrubbed) = scrubbed {
        changes(&mut page, scrubbed);
    }
    if let Some(crash) = &evidence.crash {
        page.section("Signal");
        page.paragraph(0, &describe(crash));
    }
    threads(&mut page, &evidence.threads);
    memory(&mut page, &evidence.memory_snapshots);
    collectives(&mut page, evidence);
    gpu_cores(&mut page, evidence);
    series(&mut page, &evidence.series);
    timeline(&mut page, evidence);
    context(&mut page, evidence);
    artifacts(&mut page, &report.artifacts);
    page.finish()
}

/// All lines that are different: whoever looks wants to know what is left.
fn changes(page: &mut Page, scrubbed: &[Changed]) {
    page.section("Scrubbed");
    if scrubbed.is_empty() {
        page.line(0, "nothing: all of it would be sent as it is");
    }
    for changed in scrubbed {
        page.line(
            0,
            format!("{}: {} lines would be sent otherwise", changed.artifact, changed.lines),
        );
        for line in &changed.shown {
            page.line(
                2,
                cut(&format!("{}: {}", line.line, line.text), page.room().saturating_sub(2)),
            );
        }
    }
}

fn threads(page: &mut Page, threads: &[Thread]) {
    for thread in threads.iter().take(ROWS) {
        page.section(if thread.crashed { "Crashed" } else { "Thread" });
        let name = thread
            .name
            .as_ref()
            .map(|name| format!(" \"{name}\""))
            .unwrap_or_default();
        let rank = thread.rank.map(|rank| format!(", rank {rank}")).unwrap_or_default();
        let lock = if thread.holds_gil { ", holds the GIL" } else { "" };
        page.line(
            0,
            format!("thread {}{name}{rank}{lock} in {}", thread.id, thread.artifact),
        );
        frames::stack(page, 2, thread, if thread.crashed { FRAMES.0 } else { FRAMES.1 });
    }
    more(page, threads.len(), "thread");
}

fn memory(page: &mut Page, snapshots: &[MemorySnapshot]) {
    for snapshot in snapshots {
        page.section("Memory");
        page.line(0, format!("device {} in {}", snapshot.device, snapshot.artifact));
        let rows = [
            ("reserved", snapshot.reserved),
            ("allocated", snapshot.allocated),
            ("peak allocated", snapshot.peak_allocated),
            ("active", snapshot.active),
            ("requested", snapshot.requested),
            ("free but held", snapshot.inactive),
            ("largest free", snapshot.largest_inactive),
        ];
        for (name, bytes) in rows {
            page.line(2, format!("{name:<15} {:>12}", HumanBytes(bytes).to_string()));
        }
        let (segments, blocks, events) = (snapshot.segments, snapshot.blocks, snapshot.events);
        page.line(2, format!("{segments} segments, {blocks} blocks, {events} events"));
        if let Some(oom) = &snapshot.oom {
            let (requested, largest) = (HumanBytes(oom.requested), HumanBytes(oom.largest_usable));
            page.line(
                2,
                format!("refused {requested}; largest block it could have used: {largest}"),
            );
        }
    }
}

fn collectives(page: &mut Page, evidence: &Evidence) {
    let Some(collectives) = &evidence.collectives else {
        return;
    };
    page.section("Ranks");
    if !collectives.ranks.is_empty() {
        page.paragraph(0, &format!("flight recorders of ranks {:?}", collectives.ranks));
    }
    for verdict in collectives.verdicts.iter().take(ROWS) {
        let (group, sequence, kind, ranks) = (&verdict.group, verdict.sequence, &verdict.kind, &verdict.ranks);
        page.item(
            0,
            "-",
            format!("{group} #{sequence}: {kind}, ranks {ranks:?} {}", verdict.detail).trim_end(),
        );
    }
    more(page, collectives.verdicts.len(), "verdict");
    if !collectives.behind_once.is_empty() {
        let ranks = &collectives.behind_once;
        let note = "which proves nothing unless a second look finds them there again";
        page.paragraph(0, &format!("ranks {ranks:?} were behind others, {note}"));
    }
    for communicator in evidence.communicators.iter().take(ROWS) {
        page.item(0, "-", &state(communicator));
    }
    more(page, evidence.communicators.len(), "state of a communicator");
}

/// What NCCL said of a communicator, in a line.
fn state(communicator: &Communicator) -> String {
    let time = communicator
        .time
        .as_ref()
        .map(|time| format!(" at {time}"))
        .unwrap_or_default();
    let told = communicator.ranks.len();
    let of = communicator.size.map(|size| format!(" of {size}")).unwrap_or_default();
    let missing: Vec<u32> = communicator.missing.iter().map(|rank| rank.rank).collect();
    let missing = match missing.as_slice() {
        [] => String::new(),
        ranks => format!(", nothing from ranks {ranks:?}"),
    };
    let (source, hash) = (&communicator.source, &communicator.hash);
    format!("NCCL {source}{time}: communicator {hash}, {told} ranks{of} told of themselves{missing}")
}

fn gpu_cores(page: &mut Page, evidence: &Evidence) {
    for core in &evidence.gpu_cores {
        page.section("GPU");
        let unknown = || "unknown".to_owned();
        let exception = core.exception.clone().unwrap_or_else(unknown);
        let kernel = core.kernel.clone().unwrap_or_else(unknown);
        page.paragraph(0, &format!("device {}: {exception} in kernel {kernel}", core.device));
    }
}

/// A line for each series; those that were lost or grow come first.
fn series(page: &mut Page, all: &[Series]) {
    let (odd, others): (Vec<&Series>, Vec<&Series>) = all.iter().partition(|series| is_odd(series));
    lines_of_series(page, &odd.into_iter().chain(others).collect::<Vec<_>>());
}

/// A line for each series that was lost or grows to its end.
pub fn odd_series(page: &mut Page, all: &[Series]) {
    lines_of_series(page, &all.iter().filter(|series| is_odd(series)).collect::<Vec<_>>());
}

fn is_odd(series: &Series) -> bool {
    series.growth.is_some() || series.non_finite.as_ref().is_some_and(|lost| lost.to_the_end > 0)
}

fn lines_of_series(page: &mut Page, series: &[&Series]) {
    if series.is_empty() {
        return;
    }
    page.section("Series");
    for one in series.iter().take(ROWS) {
        page.line(0, cut(&of_series(one), page.room()));
    }
    more(page, series.len(), "series");
}

/// `train/loss  100 values, steps 0 to 990, 2 → 0.03, nan from step 700 on`.
fn of_series(series: &Series) -> String {
    let mut said = vec![format!("{} values", series.count)];
    if let Some((first, last)) = series.first_step.zip(series.last_step) {
        said.push(format!("steps {first} to {last}"));
    }
    if let Some((first, last)) = series.first.zip(series.last) {
        said.push(format!("{} → {}", short(first), short(last)));
    }
    if let Some(growth) = series.growth {
        said.push(format!("grows by {} a step to its end", short(growth)));
    }
    if let Some(lost) = &series.non_finite {
        let step = |step: Option<u64>| step.map_or_else(String::new, |step| format!(" from step {step} on"));
        said.push(match lost.to_the_end {
            0 => format!("{} times {}", lost.count, lost.value),
            _ => format!("{}{}", lost.value, step(lost.from_step)),
        });
    }
    format!("{}  {}", series.name, said.join(", "))
}

/// A number in a few digits.
fn short(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-3..1e9).contains(&size) {
        return format!("{number:.2e}");
    }
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn timeline(page: &mut Page, evidence: &Evidence) {
    if evidence.timeline.is_empty() {
        return;
    }
    page.section("Events");
    for event in evidence.timeline.iter().take(ROWS) {
        let kind = event.payload.kind();
        let room = page.room().saturating_sub(26);
        page.line(0, format!("{:>4} {kind:<20} {}", event.event, cut(&event.text, room)));
        if event.count > 1 {
            let last = match &event.last_at {
                Some(Place::Line([line, _])) => format!(", the last time at line {line}"),
                _ => String::new(),
            };
            page.line(26, format!("told {} times{last}", event.count));
        }
    }
    more(page, evidence.timeline.len(), "event");
}

fn context(page: &mut Page, evidence: &Evidence) {
    if evidence.context.is_empty() {
        return;
    }
    page.section("Context");
    for (name, value) in &evidence.context {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        page.line(0, format!("{name:<14} {}", cut(&text, page.room().saturating_sub(15))));
    }
}

fn more(page: &mut Page, total: usize, thing: &str) {
    if let Some(left) = total.checked_sub(ROWS).filter(|left| *left > 0) {
        let plural = if thing.ends_with('s') { "" } else { "s" };
        page.line(
            0,
            style::faint(&format!("… {left} more {thing}{plural}: see --format json")),
        );
    }
}
