//! From the files of a report to a case.

use whycrash_evidence::readers::Lines;
use whycrash_evidence::{Artifact, ArtifactKind, Evidence, Limits, Problem, Reading};
use whycrash_symbols::Symbols;

use crate::case::{Case, CaseArtifact};
use crate::{ArtifactHead, Exit, Input, ReportHead, head};

/// A report that was read.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) head: ReportHead,
    pub(crate) case: Case,
}

/// Reads every artifact of a report and merges what they say.
pub(crate) fn read(symbols: &Symbols, limits: &Limits, input: &Input) -> Read {
    let (mut artifacts, mut evidences) = (Vec::new(), Vec::new());
    for artifact in &input.artifacts {
        let reading = symbols.read(artifact, limits);
        let (read, evidence) = case_artifact(artifact, reading, limits);
        artifacts.push(read);
        evidences.push(evidence);
    }
    let evidence = whycrash_evidence::merge(evidences, input.metadata.clone());
    let heads: Vec<ArtifactHead> = artifacts.iter().map(|artifact| artifact.head.clone()).collect();
    let head = ReportHead {
        id: head::report_id(&input.metadata, &heads),
        title: whycrash_evidence::title(&evidence),
        signature: whycrash_evidence::signature(&evidence),
        exit: exit(&evidence),
        artifacts: heads,
    };
    Read {
        head,
        case: Case::new(artifacts, evidence),
    }
}

fn case_artifact(artifact: &Artifact, reading: Reading, limits: &Limits) -> (CaseArtifact, Evidence) {
    let mut problems = reading.problems;
    let sha256 = head::sha256(&artifact.path).unwrap_or_else(|error| {
        problems.push(Problem::new("unreadable", format!("the file can not be read: {error}")));
        String::new()
    });
    let kind = reading.kind.unwrap_or(ArtifactKind::Unknown);
    let head = ArtifactHead {
        name: artifact.name.clone(),
        kind,
        bytes: reading.bytes,
        sha256,
        problems,
    };
    let text = is_text(kind).then(|| Lines::open(artifact, limits).ok()).flatten();
    (
        CaseArtifact {
            head,
            path: artifact.path.clone(),
            text,
        },
        reading.evidence,
    )
}

/// Whether lines of such an artifact can be shown and cited.
fn is_text(kind: ArtifactKind) -> bool {
    matches!(
        kind,
        ArtifactKind::Log | ArtifactKind::ElasticError | ArtifactKind::Context
    )
}

fn exit(evidence: &Evidence) -> Exit {
    evidence.crash.as_ref().map_or_else(Exit::default, |crash| Exit {
        signal: crash.signal.clone(),
        code: crash.exit_code,
    })
}
