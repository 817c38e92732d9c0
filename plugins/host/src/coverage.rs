//! What was looked for in a report, and whether it was there.

use serde_json::Value;
use whycrash_evidence::ArtifactKind;
use whycrash_reading::{ArtifactHead, Report};

use crate::diagnosis::{Coverage, Presence};

/// The kinds of artifacts that tell something, the most direct witness first, and what a collector calls each when it
/// says why there is none.
const LOOKED_FOR: [(ArtifactKind, &[&str]); 8] = [
    (ArtifactKind::ElfCore, &["core dump", "core"]),
    (ArtifactKind::Minidump, &["minidump"]),
    (ArtifactKind::GpuCore, &["GPU core dump"]),
    (ArtifactKind::MemorySnapshot, &["memory snapshot"]),
    (ArtifactKind::FlightRecorder, &["flight recorder"]),
    (ArtifactKind::ElasticError, &["error file"]),
    (ArtifactKind::Log, &["output", "kernel log"]),
    (ArtifactKind::Context, &["context"]),
];
/// What tells something where somebody made it, and is missed by nobody.
const ALSO_TOLD: [ArtifactKind; 11] = [
    ArtifactKind::NcclRas,
    ArtifactKind::NcclInspector,
    ArtifactKind::TorchcommsLog,
    ArtifactKind::BugReport,
    ArtifactKind::Diagnostic,
    ArtifactKind::Sanitizer,
    ArtifactKind::Notebook,
    ArtifactKind::LogExport,
    ArtifactKind::Metrics,
    ArtifactKind::Tfevents,
    ArtifactKind::WandbRun,
];
/// What tells of ranks, and is judged together with what other reports of the incident tell of others.
const JUDGED_TOGETHER: [ArtifactKind; 4] = [
    ArtifactKind::FlightRecorder,
    ArtifactKind::NcclRas,
    ArtifactKind::NcclInspector,
    ArtifactKind::TorchcommsLog,
];
/// Beginnings of the codes of problems that mean loss: the rest says what was left out on purpose, or what the format
/// does not tell.
const DAMAGE: [&str; 8] = [
    "truncated",
    "damaged",
    "pickle-",
    "bad-",
    "unreadable",
    "empty",
    "not-a-",
    "no-threads",
];

/// What was looked for in this report.
pub(crate) fn coverage(report: &Report) -> Vec<Coverage> {
    let of_kind = |kind: ArtifactKind, names: &[&str]| {
        let artifacts: Vec<&ArtifactHead> = report.head.artifacts.iter().filter(|head| head.kind == kind).collect();
        let problems = artifacts.iter().flat_map(|artifact| &artifact.problems);
        let damaged = problems.clone().any(|problem| is_damage(&problem.code));
        let why = match artifacts.is_empty() {
            true => unavailable(report, names),
            false => problems.map(|problem| problem.message.clone()).collect(),
        };
        Coverage {
            kind,
            state: match (artifacts.is_empty(), damaged) {
                (true, _) => Presence::Absent,
                (false, true) => Presence::Damaged,
                (false, false) => Presence::Found,
            },
            artifacts: artifacts.iter().map(|artifact| artifact.name.clone()).collect(),
            why,
            reports: match JUDGED_TOGETHER.contains(&kind) && !artifacts.is_empty() {
                true => report.judged_with.clone(),
                false => Vec::new(),
            },
        }
    };
    let looked_for = LOOKED_FOR.iter().map(|(kind, names)| of_kind(*kind, names));
    let also = ALSO_TOLD.iter().map(|kind| of_kind(*kind, &[]));
    looked_for
        .chain(also.filter(|told| told.state != Presence::Absent))
        .collect()
}

/// Whether a problem with this code means loss.
pub(crate) fn is_damage(code: &str) -> bool {
    DAMAGE.iter().any(|start| code.starts_with(start))
}

/// What the collector says of why there is none of these.
fn unavailable(report: &Report, names: &[&str]) -> Vec<String> {
    let said = report.evidence.context.get("unavailable").and_then(Value::as_array);
    let text = |entry: &Value, member: &str| entry.get(member).and_then(Value::as_str).map(str::to_owned);
    said.into_iter()
        .flatten()
        .filter(|entry| text(entry, "what").is_some_and(|what| names.contains(&what.as_str())))
        .filter_map(|entry| text(entry, "why"))
        .collect()
}
