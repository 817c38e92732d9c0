//! What the artifacts of one report may cost together.
//!
//! Each artifact is read under limits of its own; many artifacts that each stay within theirs are bounded here. What an
//! artifact uses is taken off what those after it may. It is counted, not timed: the same artifacts always give the
//! same evidence. Only where a machine is so slow that the counts do not end in any time, a clock does.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use whycrash_evidence::model::MemoryDetail;
use whycrash_evidence::readers::Lines;
use whycrash_evidence::{ArtifactKind, Evidence, Limits, Problem, Reading, trim};

/// Upper bounds on what all artifacts of one report may cost. A cap that is hit becomes a problem of the artifact that
/// was cut.
#[derive(Clone, Debug)]
pub struct ReportLimits {
    /// Bytes of text, decompressed, that are read.
    pub text_bytes: u64,
    /// Bytes of compressed texts that are unpacked to disk, to look up their lines.
    pub spilled_bytes: u64,
    /// Files that archives hold together.
    pub members: usize,
    /// Bytes that those take on disk.
    pub unpacked_bytes: u64,
    /// Bytes of cores among them, with the zeros that take no room: what costs time, not space.
    pub core_bytes: u64,
    /// Entries of flight recorders.
    pub recorder_entries: usize,
    /// Ranks that the process groups of flight recorders list, and bytes of the recorders' distinct texts.
    pub recorder_ranks: usize,
    /// The same for bytes of their distinct texts.
    pub recorder_text_bytes: usize,
    /// Ranks that verdicts about collectives name.
    pub verdict_ranks: usize,
    /// What unwinding and naming stacks may cost, in the units of [`Limits::symbol_work`]; every dump counts with all
    /// that it may use.
    pub symbol_work: u64,
    /// Bytes, as JSON, of the events and stacks of all artifacts before they are merged.
    pub evidence_bytes: usize,
    /// Bytes, as JSON, of the evidence that becomes part of the document.
    pub document_bytes: usize,
    /// Time after which no other artifact is begun: far more than the counts above take on any machine that has nothing
    /// else to do.
    pub time: Duration,
}

impl Default for ReportLimits {
    fn default() -> Self {
        Self {
            text_bytes: 64 << 30,
            spilled_bytes: 64 << 30,
            members: 4096,
            unpacked_bytes: 64 << 30,
            core_bytes: 128 << 30,
            recorder_entries: 2_000_000,
            recorder_ranks: 4 << 20,
            recorder_text_bytes: 128 << 20,
            verdict_ranks: 1 << 18,
            symbol_work: 1 << 40,
            evidence_bytes: 128 << 20,
            document_bytes: 16 << 20,
            time: Duration::from_secs(3600),
        }
    }
}

/// What is left of a report's limits.
#[derive(Debug)]
pub(crate) struct Budget {
    left: ReportLimits,
    started: Instant,
}

impl Budget {
    pub(crate) fn new(limits: &ReportLimits) -> Self {
        Self {
            left: limits.clone(),
            started: Instant::now(),
        }
    }

    /// Why no other artifact is read, if the time is over.
    pub(crate) fn out_of_time(&self) -> Option<Problem> {
        let seconds = self.left.time.as_secs();
        let message =
            format!("not read: the artifacts before it took more than the {seconds} seconds that a report may");
        (self.started.elapsed() > self.left.time).then(|| Problem::new("limit-report-time", message))
    }

    /// The limits of the next artifact: its own, as far as the report has that much left.
    pub(crate) fn limits(&self, own: &Limits) -> Limits {
        let left = &self.left;
        Limits {
            text_bytes: own.text_bytes.min(left.text_bytes),
            spilled_bytes: own.spilled_bytes.min(left.spilled_bytes),
            events: own.events.min(left.recorder_entries),
            recorder_ranks: own.recorder_ranks.min(left.recorder_ranks),
            recorder_text_bytes: own.recorder_text_bytes.min(left.recorder_text_bytes),
            symbol_work: own.symbol_work.min(left.symbol_work),
            ..own.clone()
        }
    }

    /// Takes off what an artifact used, cuts what it may not use, and says in which way the report was what cut it.
    pub(crate) fn spend(&mut self, own: &Limits, given: &Limits, reading: &mut Reading, text: Option<&Lines>) {
        let left = &mut self.left;
        if let Some(text) = text {
            left.text_bytes = left.text_bytes.saturating_sub(text.bytes());
            left.spilled_bytes = left.spilled_bytes.saturating_sub(text.unpacked_bytes());
            // Looking lines up takes room of its own, which reading them did not.
            let known: Vec<&str> = reading.problems.iter().map(|problem| problem.code.as_str()).collect();
            let others = text
                .problems()
                .iter()
                .filter(|problem| !known.contains(&problem.code.as_str()));
            let others: Vec<Problem> = others.cloned().collect();
            reading.problems.extend(others);
        }
        for recorder in &reading.evidence.recorders {
            let ranks = recorder.groups.values().map(|group| group.ranks.len()).sum();
            left.recorder_entries = left.recorder_entries.saturating_sub(recorder.entries.len());
            left.recorder_ranks = left.recorder_ranks.saturating_sub(ranks);
            left.recorder_text_bytes = left.recorder_text_bytes.saturating_sub(recorder.text_bytes);
        }
        let dumps = [ArtifactKind::ElfCore, ArtifactKind::GpuCore, ArtifactKind::Minidump];
        if reading.kind.is_some_and(|kind| dumps.contains(&kind)) {
            left.symbol_work = left.symbol_work.saturating_sub(given.symbol_work);
        }
        let cut = trim(&mut reading.evidence, left.evidence_bytes);
        left.evidence_bytes = left.evidence_bytes.saturating_sub(trimmed_bytes(&reading.evidence));
        reading.problems.extend(cut.problem().map(of_report));
        let lowered = [
            (given.text_bytes < own.text_bytes, "limit-text-bytes"),
            (given.spilled_bytes < own.spilled_bytes, "limit-spilled-bytes"),
            (given.events < own.events, "limit-events"),
            (given.recorder_ranks < own.recorder_ranks, "limit-recorder"),
            (given.recorder_text_bytes < own.recorder_text_bytes, "limit-recorder"),
            (given.symbol_work < own.symbol_work, "limit-symbol-work"),
        ];
        for problem in &mut reading.problems {
            if lowered
                .iter()
                .any(|(is_lower, code)| *is_lower && problem.code == *code)
            {
                *problem = of_report(problem.clone());
            }
        }
    }
}

/// What the report's limits cut is told apart from what an artifact's own did.
fn of_report(problem: Problem) -> Problem {
    let code = problem.code.replacen("limit-", "limit-report-", 1);
    let message = format!(
        "{} (the artifacts of the report together are over what one may cost)",
        problem.message
    );
    Problem {
        code,
        message,
        ..problem
    }
}

fn json_bytes(value: &impl serde::Serialize) -> usize {
    serde_json::to_vec(value).map_or(0, |json| json.len())
}

fn trimmed_bytes(evidence: &Evidence) -> usize {
    json_bytes(&evidence.timeline) + json_bytes(&evidence.threads)
}

/// A problem of an artifact, with the artifact's name.
type Loss = (String, Problem);

/// Cuts merged evidence to what a document has room for; what artifacts lost by that.
pub(crate) fn fit(evidence: &mut Evidence, limits: &ReportLimits) -> Vec<Loss> {
    let mut losses = name_fewer_ranks(evidence, limits.verdict_ranks);
    losses.extend(tell_less_of_memory(evidence, limits.document_bytes / 4));
    losses.extend(trim_to(evidence, limits.document_bytes));
    losses
}

/// Cuts the lists of ranks in verdicts to so many in all.
fn name_fewer_ranks(evidence: &mut Evidence, most: usize) -> Vec<Loss> {
    let Some(collectives) = &mut evidence.collectives else {
        return Vec::new();
    };
    let of_verdicts = collectives
        .verdicts
        .iter_mut()
        .flat_map(|verdict| [&mut verdict.ranks, &mut verdict.entered]);
    let lists = of_verdicts.chain([
        &mut collectives.culprits,
        &mut collectives.circle,
        &mut collectives.ranks_without_recorder,
    ]);
    let (mut left, mut cut) = (most, 0);
    for list in lists {
        cut += list.len().saturating_sub(left);
        list.truncate(left);
        left -= list.len();
    }
    let message = format!("what the recorders tell names {cut} more ranks than a document has room for");
    let problem = Problem::new("limit-report-ranks", message);
    let recorders = evidence.recorders.iter().filter(|_| cut > 0);
    recorders
        .map(|recorder| (recorder.artifact.clone(), problem.clone()))
        .collect()
}

/// Leaves out the blocks and trace entries of the snapshots that there is no room for; their sums stay.
fn tell_less_of_memory(evidence: &mut Evidence, most: usize) -> Vec<Loss> {
    let (mut left, mut losses) = (most, Vec::new());
    for detail in &mut evidence.memory_details {
        if let Some(rest) = left.checked_sub(json_bytes(detail)) {
            left = rest;
            continue;
        }
        let message = format!(
            "{} blocks and {} trace entries of device {} were left out: the report has no room for them one by one",
            detail.blocks.len(),
            detail.trace.len(),
            detail.device
        );
        losses.push((detail.artifact.clone(), Problem::new("limit-report-memory", message)));
        *detail = MemoryDetail {
            artifact: std::mem::take(&mut detail.artifact),
            device: detail.device,
            ..MemoryDetail::default()
        };
    }
    losses
}

/// Leaves out events and stacks.
fn trim_to(evidence: &mut Evidence, document_bytes: usize) -> Vec<Loss> {
    let whole = json_bytes(evidence);
    if whole <= document_bytes {
        return Vec::new();
    }
    let before = counts(evidence);
    let others = whole.saturating_sub(trimmed_bytes(evidence));
    // What has no parts that can be left out is bounded by the readers' own caps.
    let room = document_bytes.saturating_sub(others).max(document_bytes / 4);
    let Some(problem) = trim(evidence, room).problem().map(of_report) else {
        return Vec::new();
    };
    let after = counts(evidence);
    let lost = before
        .into_iter()
        .filter(|(artifact, count)| after.get(artifact) != Some(count));
    lost.map(|(artifact, _)| (artifact, problem.clone())).collect()
}

/// Events, stacks and frames of each artifact.
fn counts(evidence: &Evidence) -> BTreeMap<String, [usize; 3]> {
    let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    for event in &evidence.timeline {
        counts.entry(event.artifact.clone()).or_default()[0] += 1;
    }
    for thread in &evidence.threads {
        let of_artifact = counts.entry(thread.artifact.clone()).or_default();
        of_artifact[1] += 1;
        of_artifact[2] += thread.frames.len();
    }
    counts
}
