//! From the files of a report to a case.

use std::io;

use whycrash_evidence::readers::Lines;
use whycrash_evidence::{Artifact, ArtifactKind, Evidence, Limits, Problem, Reading};
use whycrash_symbols::Symbols;

use crate::budget::{self, Budget, ReportLimits};
use crate::case::{Case, CaseArtifact};
use crate::{ArtifactHead, Exit, Input, ReportHead, digest, head};

/// A report that was read.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) head: ReportHead,
    pub(crate) case: Case,
}

/// Reads every artifact of a report and merges what they say.
pub(crate) fn read(symbols: &Symbols, limits: &Limits, report: &ReportLimits, input: &Input) -> Read {
    let mut budget = Budget::new(report);
    let (mut artifacts, mut evidences): (Vec<CaseArtifact>, _) = (Vec::new(), Vec::new());
    let symbols = symbols.report();
    for artifact in &input.artifacts {
        let given = budget.limits(limits);
        // Both go through the whole file: they share what is in memory, and cores wait for neither.
        let (reading, sha256) = std::thread::scope(|scope| {
            let hash = scope.spawn(|| sha256(artifact));
            let reading = match budget.out_of_time() {
                Some(problem) => Reading::problem(problem),
                None => symbols.read(artifact, &given),
            };
            (reading, hash.join())
        });
        let sha256 = sha256.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let text = lines(artifact, &reading, &given);
        let mut reading = reading;
        budget.spend(limits, &given, &mut reading, text.as_ref());
        let (read, evidence) = case_artifact(artifact, reading, sha256, text);
        artifacts.push(read);
        evidences.push(evidence);
    }
    let mut evidence = whycrash_evidence::merge(evidences, input.metadata.clone());
    for (name, problem) in budget::fit(&mut evidence, report) {
        let losers = artifacts.iter_mut().filter(|artifact| artifact.head.name == name);
        losers.for_each(|artifact| artifact.head.problems.push(problem.clone()));
    }
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

fn sha256(artifact: &Artifact) -> io::Result<String> {
    let known = artifact.sha256.clone();
    known.map_or_else(|| digest::sha256(&artifact.path), Ok)
}

fn case_artifact(
    artifact: &Artifact,
    reading: Reading,
    sha256: io::Result<String>,
    text: Option<Lines>,
) -> (CaseArtifact, Evidence) {
    let mut problems = reading.problems;
    let sha256 = sha256.unwrap_or_else(|error| {
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
    (
        CaseArtifact {
            head,
            path: artifact.path.clone(),
            text,
        },
        reading.evidence,
    )
}

/// The lines of an artifact that is text.
fn lines(artifact: &Artifact, reading: &Reading, limits: &Limits) -> Option<Lines> {
    let is_text = reading.kind.is_some_and(is_text);
    is_text.then(|| Lines::open(artifact, limits).ok()).flatten()
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
