//! From the files of a report to what they say.

use std::io;

use serde_json::{Map, Value};
use whycrash_evidence::readers::Lines;
use whycrash_evidence::{Artifact, ArtifactKind, Evidence, Limits, Problem, Reading};
use whycrash_symbols::{Sources, Symbols};

use crate::budget::{self, Budget, ReportLimits};
use crate::{ArtifactHead, Exit, Report, ReportHead, Text, id, sha256};

/// The artifacts of one report and what is known about them.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// What the crash left.
    pub artifacts: Vec<Artifact>,
    /// Metadata sent with it: host, rank, job, command (free form; part of the evidence's context).
    pub metadata: Map<String, Value>,
}

/// Reads and symbolicates. Cheap to share between threads; make one and keep it.
#[derive(Debug)]
pub struct Reader {
    symbols: Symbols,
    limits: Limits,
    report_limits: ReportLimits,
}

impl Reader {
    /// A reader that takes symbols from these sources and spends at most this on an artifact, and on a report.
    pub fn new(symbols: Sources, limits: Limits, report_limits: ReportLimits) -> Self {
        Self {
            symbols: Symbols::new(symbols),
            limits,
            report_limits,
        }
    }

    /// Reads every artifact of a report and merges what they say.
    pub fn read(&self, input: &Input) -> Report {
        let mut budget = Budget::new(&self.report_limits);
        let (mut artifacts, mut texts, mut evidences) = (Vec::new(), Vec::new(), Vec::new());
        let symbols = self.symbols.report();
        for artifact in &input.artifacts {
            let given = budget.limits(&self.limits);
            let read = || match budget.out_of_time() {
                Some(problem) => Reading::problem(problem),
                None => symbols.read(artifact, &given),
            };
            let (mut reading, sha256) = match &artifact.sha256 {
                Some(known) => (read(), Ok(known.clone())),
                None => read_and_hash(artifact, read),
            };
            let lines = lines(artifact, &reading, &given);
            budget.spend(&self.limits, &given, &mut reading, lines.as_ref());
            let (head, evidence) = head(artifact, reading, sha256);
            artifacts.push(head);
            texts.extend(lines.map(|lines| Text::new(&artifact.name, lines)));
            evidences.push(evidence);
        }
        let mut evidence = whycrash_evidence::merge(evidences, input.metadata.clone());
        evidence.collectives = whycrash_evidence::judge(&evidence.recorders, &evidence.communicators);
        let fit = budget::fit(&mut evidence, &self.report_limits);
        // Events have their numbers only now.
        evidence.fault_addresses = whycrash_evidence::locate(&evidence.timeline, &evidence.memory_maps);
        evidence.memory_maps.clear();
        for (name, problem) in fit {
            let losers = artifacts.iter_mut().filter(|artifact| artifact.name == name);
            losers.for_each(|artifact| artifact.problems.push(problem.clone()));
        }
        let mut head = ReportHead {
            id: id::report_id(&input.metadata, &artifacts),
            exit: exit(&evidence),
            artifacts,
            ..ReportHead::default()
        };
        head.know_by(&evidence);
        Report {
            head,
            evidence,
            texts,
            judged_with: Vec::new(),
            history: None,
        }
    }
}

/// Both go through the whole file: they share what is in memory, and cores wait for neither.
fn read_and_hash(artifact: &Artifact, read: impl FnOnce() -> Reading) -> (Reading, io::Result<String>) {
    let (reading, sha256) = std::thread::scope(|scope| {
        let hash = scope.spawn(|| sha256::of_file(&artifact.path));
        (read(), hash.join())
    });
    (reading, sha256.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

fn head(artifact: &Artifact, reading: Reading, sha256: io::Result<String>) -> (ArtifactHead, Evidence) {
    let mut problems = reading.problems;
    let sha256 = sha256.unwrap_or_else(|error| {
        problems.push(Problem::new("unreadable", format!("the file can not be read: {error}")));
        String::new()
    });
    let head = ArtifactHead {
        name: artifact.name.clone(),
        kind: reading.kind.unwrap_or(ArtifactKind::Unknown),
        bytes: reading.bytes,
        sha256,
        problems,
    };
    (head, reading.evidence)
}

/// The lines of an artifact that is text.
fn lines(artifact: &Artifact, reading: &Reading, limits: &Limits) -> Option<Lines> {
    let is_text = reading.kind.is_some_and(ArtifactKind::is_text);
    is_text.then(|| Lines::open(artifact, limits).ok()).flatten()
}

fn exit(evidence: &Evidence) -> Exit {
    evidence.crash.as_ref().map_or_else(Exit::default, |crash| Exit {
        signal: crash.signal.clone(),
        code: crash.exit_code,
    })
}
