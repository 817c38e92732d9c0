//! Which finding comes first, and what becomes of one that several plugins made.

use whycrash_evidence::ArtifactKind;

use crate::case::Case;
use crate::diagnosis::{Claim, CollectNext};

/// Claims best first, one for each cause.
pub(crate) fn rank(case: &Case, mut findings: Vec<Claim>) -> Vec<Claim> {
    findings.sort_by(|a, b| {
        b.confidence
            .total_cmp(&a.confidence)
            .then_with(|| directness(case, b).cmp(&directness(case, a)))
            .then_with(|| a.cause.cmp(&b.cause))
            .then_with(|| a.plugin.cmp(&b.plugin))
    });
    let mut ranked: Vec<Claim> = Vec::new();
    for finding in findings {
        match ranked.iter_mut().find(|better| better.cause == finding.cause) {
            Some(better) => absorb(better, finding),
            None => ranked.push(finding),
        }
    }
    ranked
}

/// What to collect next, each thing once.
pub(crate) fn unique(next: Vec<CollectNext>) -> Vec<CollectNext> {
    let mut kept: Vec<CollectNext> = Vec::new();
    for entry in next {
        if !kept.contains(&entry) {
            kept.push(entry);
        }
    }
    kept
}

/// Adds to a finding what another plugin cites for the same cause.
fn absorb(better: &mut Claim, other: Claim) {
    for citation in other.citations {
        if !better.citations.contains(&citation) {
            better.citations.push(citation);
        }
    }
    for contradiction in other.contradictions {
        if !better.contradictions.contains(&contradiction) {
            better.contradictions.push(contradiction);
        }
    }
}

/// How near to the failure itself the best of a finding's citations is: the state of the machine, then what was printed
/// about it, then circumstances.
fn directness(case: &Case, finding: &Claim) -> u8 {
    let kind = |name: &str| case.report.artifact(name).map(|artifact| artifact.kind);
    let direct = |kind| match kind {
        Some(
            ArtifactKind::ElfCore
            | ArtifactKind::GpuCore
            | ArtifactKind::Minidump
            | ArtifactKind::MemorySnapshot
            | ArtifactKind::FlightRecorder,
        ) => 3,
        Some(ArtifactKind::Context) => 1,
        Some(kind) if kind.is_text() => 2,
        _ => 0,
    };
    finding
        .citations
        .iter()
        .map(|citation| direct(kind(&citation.artifact)))
        .max()
        .unwrap_or(0)
}
