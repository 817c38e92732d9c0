//! What the watchdogs of several ranks say of one position: each names the collective that its rank waited in.

use std::collections::BTreeMap;

use whycrash_plugin::facts::Watchdog;
use whycrash_plugin::{Diagnosis, Finding, Report, Told, cite};

use crate::at_work::is_through;
use crate::divergence::elsewhere;
use crate::ranks;

/// What is called in pairs, or is several calls at once: two ranks that differ in these need not differ in anything.
const NO_COLLECTIVES: [&str; 5] = ["SEND", "RECV", "RECVANY", "COALESCED", "UNKNOWN"];

/// What every rank of a group calls with as many elements as the others.
const EVEN: [&str; 7] = [
    "ALLGATHER",
    "ALLREDUCE",
    "BROADCAST",
    "REDUCE",
    "REDUCE_SCATTER",
    "_ALLGATHER_BASE",
    "_REDUCE_SCATTER_BASE",
];

/// Ranks that timed out at the same number of the same group, and in another operation or in the same with another number
/// of elements, did not make the same call.
pub fn rule(report: &Report) -> Option<Diagnosis> {
    let timeouts: Vec<Told<Watchdog>> = report
        .told::<Watchdog>()
        .into_iter()
        .filter(|told| told.detail.family == "timeout" && !told.event.survived && operation(told).is_some())
        .collect();
    let (one, other) = timeouts.iter().enumerate().find_map(|(index, one)| {
        let other = timeouts.get(index + 1..)?.iter().find(|other| differ(one, other))?;
        Some((one, other))
    })?;
    let is_same_operation = operation(one) == operation(other);
    let mut by_call: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for told in timeouts.iter().filter(|told| is_of_one_place(told, one)) {
        let ranks = by_call.entry(call(told, is_same_operation)?).or_default();
        ranks.extend(told.event.rank.filter(|rank| !ranks.contains(rank)));
    }
    let calls: Vec<String> = by_call
        .iter()
        .map(|(call, list)| format!("{} called {call}", ranks(list)))
        .collect();
    let fewest = by_call.values().map(Vec::len).min()?;
    // Before torch 2.2 the line does not name the group, and each group counts for itself.
    let sure = if one.detail.group.is_some() { 0.9 } else { 0.8 };
    let sequence = one.detail.sequence?;
    let what = format!(
        "As the ranks' watchdogs say, at number {sequence} {}",
        calls.join(", and ")
    );
    // Where as many are here as there, a stack tells which of them went another way.
    let odd: Vec<Vec<u32>> = by_call.into_values().filter(|list| list.len() == fewest).collect();
    if let Some(finding) = through(report, &timeouts, one, &odd.concat(), &what) {
        return Some(
            finding
                .cite(report.cite(&one.event))
                .cite(report.cite(&other.event))
                .into(),
        );
    }
    let way = odd.iter().find_map(|list| Some((list, elsewhere(report, list)?)));
    // Each group counts for itself: two that are at one number of one operation may well have other sizes.
    if is_same_operation && way.is_none() && !are_of_one_group(report, one, other) {
        return None;
    }
    let finding = match way {
        Some((odd, way)) => Finding::new(way.cause, way.confidence)
            .because(format!(
                "{what}; {} was in `{}`, {}.",
                ranks(odd),
                way.function,
                way.why
            ))
            .cite(way.frame),
        None if is_same_operation => Finding::new("dist-shape-mismatch", sure).because(format!(
            "{what}: what they handed in is not of one size, and none of them went on. Either the tensors differ, or one of them is at \
             another place of the program."
        )),
        None => Finding::new("dist-op-mismatch", sure).because(format!(
            "{what}: they did not make the same call, and none of them went on."
        )),
    };
    Some(
        finding
            .cite(report.cite(&one.event))
            .cite(report.cite(&other.event))
            .into(),
    )
}

/// Where one of those who called something else had said before that it was through, its input had ended first.
fn through(
    report: &Report,
    timeouts: &[Told<Watchdog>],
    one: &Told<Watchdog>,
    odd: &[u32],
    what: &str,
) -> Option<Finding> {
    /// Lines before the time-out that are looked at.
    const BEFORE: u64 = 16;
    timeouts
        .iter()
        .filter(|told| is_of_one_place(told, one))
        .find_map(|told| {
            let rank = told.event.rank.filter(|rank| odd.contains(rank))?;
            let (until, _) = told.event.lines?;
            let before = |until: u64| {
                let from = until.saturating_sub(BEFORE).max(1);
                let count = u32::try_from(until.saturating_sub(from)).unwrap_or(0);
                report.lines(&told.event.artifact, from, count).into_iter().rev()
            };
            // Where all ranks write to one file, the others' time-outs may stand between.
            let in_file = timeouts
                .iter()
                .filter(|other| other.event.artifact == told.event.artifact);
            let first = in_file
                .filter_map(|other| other.event.lines)
                .map(|(first, _)| first)
                .min()?;
            let line = before(until)
                .find(|line| is_through(&line.text))
                .or_else(|| before(first).find(|line| names(&line.text, rank) && is_through(&line.text)))?;
            let finding = Finding::new("dist-uneven-inputs", 0.84).because(format!(
                "{what}; rank {rank} was through by then: \"{}\".",
                line.text.trim()
            ));
            Some(finding.cite(cite::line(&line)))
        })
}

/// Whether a line says of itself that this rank wrote it: `rank 2: …`, `[rank2]`.
fn names(text: &str, rank: u32) -> bool {
    let text = text.to_ascii_lowercase();
    text.match_indices("rank").any(|(at, word)| {
        let behind = text[at + word.len()..].trim_start_matches([' ', '=', ':', '_']);
        let digits = behind.find(|next: char| !next.is_ascii_digit()).unwrap_or(behind.len());
        behind[..digits].parse() == Ok(rank)
    })
}

/// Whether two ranks tell the group of this collective, in this line or in another one, and it is one.
fn are_of_one_group(report: &Report, one: &Told<Watchdog>, other: &Told<Watchdog>) -> bool {
    let all = report.told::<Watchdog>();
    let group = |told: &Told<Watchdog>| {
        let is_its = |said: &&Told<Watchdog>| {
            said.event.rank == told.event.rank
                && said.detail.sequence == told.detail.sequence
                && said.detail.group.is_some()
        };
        all.iter().find(is_its).and_then(|said| said.detail.group.clone())
    };
    group(one).is_some_and(|of_one| Some(of_one) == group(other))
}

fn operation(told: &Told<Watchdog>) -> Option<&str> {
    let operation = told.detail.operation.as_deref()?;
    (!NO_COLLECTIVES.contains(&operation)).then_some(operation)
}

fn is_of_one_place(one: &Told<Watchdog>, other: &Told<Watchdog>) -> bool {
    one.detail.sequence.is_some()
        && one.detail.sequence == other.detail.sequence
        && one.detail.group == other.detail.group
        && one.detail.description == other.detail.description
}

fn differ(one: &Told<Watchdog>, other: &Told<Watchdog>) -> bool {
    let are_two = one
        .event
        .rank
        .zip(other.event.rank)
        .is_some_and(|(one, other)| one != other);
    let is_uneven = || {
        let elements = one.detail.elements_in.zip(other.detail.elements_in);
        let is_even = operation(one).is_some_and(|operation| EVEN.contains(&operation));
        is_even && elements.is_some_and(|(one, other)| one != other)
    };
    are_two && is_of_one_place(one, other) && (operation(one) != operation(other) || is_uneven())
}

/// What a rank called, with its size where that is what tells two calls apart.
fn call(told: &Told<Watchdog>, with_size: bool) -> Option<String> {
    let operation = operation(told)?;
    Some(match told.detail.elements_in.filter(|_| with_size) {
        Some(elements) => format!("{operation} with {elements} elements"),
        None => operation.to_owned(),
    })
}
