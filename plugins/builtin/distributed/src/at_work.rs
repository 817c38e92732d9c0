//! What the logs say of a rank that the others waited for in vain: that it was still at work, or had none left.

use whycrash_plugin::facts::{CollectiveMismatch, Watchdog};
use whycrash_plugin::{Diagnosis, Event, Finding, Line, Report, cite};

use crate::counts;

/// A rank says that it has no more input.
const OUT_OF_INPUT: &str = r"(?i)\b(?:data ?loader|iterator|loader|dataset|sampler|shard)\b.{0,40}\b(?:exhausted|depleted|ran out)\b|\bran out of (?:data|batches|samples)\b";

/// A rank tells how far it is with something that is no training step, such as `Running tokenizer on dataset:  8%|`.
const AT_WORK: &str = r"(?i)\b(?:tokeniz\w*|pre-?process\w*|map|filter|generating \w+ split|packing|grouping|download\w*|eval\w*|validat\w*|saving|convert\w*)\b.{0,60}?\b\d{1,3}%";

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
    let until = timeout.event.lines.map_or(u32::MAX.into(), |(first, _)| first);
    let is_here = |line: &&Line| line.artifact == timeout.event.artifact;
    let before = report.find(OUT_OF_INPUT).unwrap_or_default();
    if let Some(line) = before.iter().filter(is_here).find(|line| line.number < until) {
        let finding = Finding::new("dist-uneven-inputs", 0.84).because(format!(
            "A rank had no input left while the others went on: \"{}\". They waited in the next collective until their time-out.",
            line.text.trim()
        ));
        return Some(finding.cite(cite::line(line)).cite(told).into());
    }
    let after = report.find(AT_WORK).unwrap_or_default();
    let line = after.iter().filter(is_here).find(|line| line.number >= until)?;
    let finding = Finding::new("dist-slow-rank-not-hang", 0.82).because(
        "A rank was still at work when the others had waited for it until their time-out: it came late, and did not hang.",
    );
    Some(finding.cite(cite::line(line)).cite(told).into())
}
