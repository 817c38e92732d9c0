//! From the files of a report to what they say.

use std::io;

use serde_json::{Map, Value};
use whycrash_evidence::readers::Lines;
use whycrash_evidence::{Artifact, ArtifactKind, Evidence, Limits, Problem, Reading};
use whycrash_symbols::{ReportSymbols, Sources, Symbols};

use crate::budget::{self, Budget, ReportLimits};
use crate::unpack::{self, Room};
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
        let mut session = Session {
            reader: self,
            symbols: self.symbols.report(),
            budget: Budget::new(&self.report_limits),
            artifacts: Vec::new(),
            texts: Vec::new(),
            evidences: Vec::new(),
        };
        let mut room = Room::new(&self.report_limits);
        for artifact in &input.artifacts {
            session.take(artifact, &mut room);
        }
        let Session {
            mut artifacts,
            texts,
            evidences,
            ..
        } = session;
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

/// The artifacts of a report while they are read, one after the other.
struct Session<'a> {
    reader: &'a Reader,
    symbols: ReportSymbols<'a>,
    budget: Budget,
    artifacts: Vec<ArtifactHead>,
    texts: Vec<Text>,
    evidences: Vec<Evidence>,
}

impl Session<'_> {
    /// Reads an artifact that was given, and what is packed in it.
    fn take(&mut self, artifact: &Artifact, room: &mut Room) {
        let lines = self.read(artifact, None);
        let head = self.artifacts.last();
        room.begin(head.map_or(0, |head| head.bytes), &self.reader.limits);
        self.texts.extend(lines.map(|lines| Text::new(&artifact.name, lines)));
        self.unpack(artifact, 0, room);
    }

    /// Reads a member of an archive that is packed so deep in others.
    fn take_member(&mut self, member: &Artifact, archive: &str, depth: usize, room: &mut Room) {
        let lines = self.read(member, Some(archive)).map(|lines| room.shelve(lines));
        self.texts.extend(lines.map(|lines| Text::new(&member.name, lines)));
        self.unpack(member, depth, room);
    }

    /// Reads the files in an artifact that was just read, if it is an archive.
    fn unpack(&mut self, artifact: &Artifact, depth: usize, room: &mut Room) {
        let Some(last) = self.artifacts.len().checked_sub(1) else {
            return;
        };
        if self
            .artifacts
            .get(last)
            .is_none_or(|head| head.kind != ArtifactKind::Archive)
        {
            return;
        }
        let problems = if depth < unpack::DEPTH {
            let reader = self.reader;
            unpack::walk(artifact, &reader.limits, room, &mut |member, room| {
                self.take_member(member, &artifact.name, depth + 1, room);
            })
        } else {
            let message = "an archive within archives is left as it is: unpack it, and give its files";
            vec![Problem::new("not-unpacked", message)]
        };
        let head = self.artifacts.get_mut(last);
        head.into_iter()
            .for_each(|head| head.problems.extend(problems.iter().cloned()));
    }

    /// Reads one file; its lines where it is text.
    fn read(&mut self, artifact: &Artifact, archive: Option<&str>) -> Option<Lines> {
        let given = self.budget.limits(&self.reader.limits);
        let read = || match self.budget.out_of_time() {
            Some(problem) => Reading::problem(problem),
            None => self.symbols.read(artifact, &given),
        };
        let (mut reading, sha256) = match &artifact.sha256 {
            Some(known) => (read(), Ok(known.clone())),
            None => read_and_hash(artifact, read),
        };
        let lines = lines(artifact, &reading, &given);
        self.budget
            .spend(&self.reader.limits, &given, &mut reading, lines.as_ref());
        let (mut head, evidence) = head(artifact, reading, sha256);
        head.archive = archive.map(str::to_owned);
        self.artifacts.push(head);
        self.evidences.push(evidence);
        lines
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
    let mut problems = artifact.problems.clone();
    problems.extend(reading.problems);
    let sha256 = sha256.unwrap_or_else(|error| {
        problems.push(Problem::new("unreadable", format!("the file can not be read: {error}")));
        String::new()
    });
    let head = ArtifactHead {
        name: artifact.name.clone(),
        kind: reading.kind.unwrap_or(ArtifactKind::Unknown),
        bytes: reading.bytes,
        sha256,
        archive: None,
        problems,
        sections: reading.sections,
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
