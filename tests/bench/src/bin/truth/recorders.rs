//! Flight recorder verdicts beside the analyzer's that comes with PyTorch (`torchfrtrace*.txt`), the one of NVIDIA's
//! resiliency extension (`*_reference.txt`), and what was done to the job.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use whycrash_bench::artifacts;
use whycrash_evidence::model::{Collectives, Recorder};
use whycrash_evidence::{Artifact, Limits, match_ranks};

use crate::Context;
use crate::table::{Score, Table};

const REAL: &str = "third_party/NVIDIA_nvidia-resiliency-ext/tests/attribution/unit";

/// A job whose recorders are compared.
struct Job {
    name: String,
    dumps: Vec<PathBuf>,
    /// What PyTorch's analyzer printed about it.
    analyzer: PathBuf,
    /// What NVIDIA's printed.
    reference: Option<PathBuf>,
    /// The ranks that something was done to.
    culprits: BTreeSet<u32>,
}

/// A collective that did not match: group, sequence number and kind.
type Verdict = (String, u64, &'static str);

pub fn compare(context: &Context) -> Result<Table> {
    let equal = Some(100.0);
    let mut table = Table::new(
        "flight recorders, verdicts: torchfrtrace, NVIDIA's analyzer, the injected fault",
        &[
            ("verdicts", equal),
            ("missing ranks", equal),
            ("NVIDIA's", equal),
            ("culprits", equal),
        ],
    );
    for job in jobs(&context.artifacts.path(""))? {
        if !context.wants(&job.name) {
            continue;
        }
        let recorders = read(&job.dumps);
        let found = match_ranks(&recorders);
        let mut reports: Vec<Report> = reports(&std::fs::read_to_string(&job.analyzer)?).collect();
        let all = reports.len();
        reports.retain(|report| !report.is_point_to_point);
        if reports.len() < all {
            let ours = found.verdicts.iter().filter(|verdict| verdict.point_to_point).count();
            table.note(format!(
                "on purpose: {}: {} reports about sends and receives are left out, and {ours} of ours: torchfrtrace asks all \
                 ranks of the group for what two do, and takes a number for theirs that each rank counts for itself",
                job.name,
                all - reports.len()
            ));
        }
        reports.retain(|report| {
            let disproved = report.is_disproved_by(&recorders);
            if disproved {
                table.note(format!(
                    "on purpose: {}: torchfrtrace misses ranks {:?} in {} of group {}, whose own recorders say that they completed it",
                    job.name,
                    report.missing.iter().flatten().collect::<Vec<_>>(),
                    report.sequence,
                    report.group
                ));
            }
            !disproved
        });
        let expected = verdicts_of_analyzer(reports);
        let ours = verdicts(&found);
        if context.explains() {
            println!(
                "  {}: expected {expected:?}, found {ours:?}, culprits {:?}",
                job.name, found.culprits
            );
        }
        let nvidia = job
            .reference
            .as_deref()
            .map_or(Ok(Score::default()), |path| with_reference(path, &found))?;
        table.row(
            &job.name,
            [
                same_verdicts(&expected, &ours),
                same_missing(&expected, &ours),
                nvidia,
                Score::of(found.culprits.iter().copied().collect::<BTreeSet<_>>() == job.culprits),
            ],
        );
    }
    table.note(
        "of each group the first verdict of each kind is compared: what follows it is its consequence, and not told",
    );
    table.note("on purpose: torchfrtrace calls the ranks culprits that differ from the first rank it met; we call those so that differ from most");
    Ok(table)
}

fn jobs(root: &Path) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    // Made with three ranks, of which the last does something else in its fourth collective.
    for (case, culprits) in [
        ("ok", &[][..]),
        ("missing", &[2]),
        ("size", &[2]),
        ("op", &[2]),
        ("dtype", &[2]),
    ] {
        let folder = root.join("fr").join(format!("frgloo_{case}"));
        // The analyzer can only read dumps whose default group has been given a name; we read them as they were
        // written.
        jobs.push(Job {
            name: format!("frgloo_{case}"),
            dumps: with_prefix(&folder, "trace_")?,
            analyzer: folder.join("torchfrtrace_normalized.txt"),
            reference: None,
            culprits: culprits.iter().copied().collect(),
        });
    }
    for case in ["gpu_error_1st", "lock_gil_1st"] {
        let folder = root.join(REAL).join("fr_traces").join(case);
        let injected = std::fs::read_to_string(folder.join("fault_injection.log"))
            .with_context(|| format!("{} does not say which ranks were harmed", folder.display()))?;
        jobs.push(Job {
            name: case.to_owned(),
            dumps: with_prefix(&folder, "_dump_")?,
            analyzer: root.join(format!("fr/nccl_ref_{case}/torchfrtrace.txt")),
            reference: Some(root.join(REAL).join(format!("reference_outputs/{case}_reference.txt"))),
            culprits: numbers(
                injected
                    .lines()
                    .find_map(|line| line.strip_prefix("Fault ranks:"))
                    .unwrap_or_default(),
            ),
        });
    }
    Ok(jobs)
}

fn with_prefix(folder: &Path, prefix: &str) -> Result<Vec<PathBuf>> {
    let is_dump = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(prefix))
    };
    Ok(artifacts::files(folder)?.into_iter().filter(is_dump).collect())
}

fn read(dumps: &[PathBuf]) -> Vec<Recorder> {
    let parts = dumps.iter().flat_map(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let reading = whycrash_evidence::read(&Artifact::new(name, path), &Limits::default());
        reading.evidence.recorders
    });
    parts.collect()
}

/// Ours, with the ranks that are missing.
fn verdicts(found: &Collectives) -> BTreeMap<Verdict, BTreeSet<u32>> {
    let kind = |name: &str| {
        KINDS
            .iter()
            .map(|(_, kind)| *kind)
            .chain([MISSING])
            .find(|kind| *kind == name)
    };
    let collectives = found.verdicts.iter().filter(|verdict| !verdict.point_to_point);
    let verdicts = collectives.filter_map(|verdict| {
        let key = (verdict.group.clone(), verdict.sequence, kind(&verdict.kind)?);
        Some((key, verdict.ranks.iter().copied().collect()))
    });
    verdicts.collect()
}

const MISSING: &str = "missing-rank";
/// The analyzer's words and ours.
const KINDS: [(&str, &str); 3] = [
    ("COLLECTIVE_TYPE_MISMATCH", "op-mismatch"),
    ("SIZE_OR_SYNTAX_MISMATCH", "shape-mismatch"),
    ("COLLECTIVE_DTYPE_MISMATCH", "dtype-mismatch"),
];

/// The first verdict of each kind in each group of what PyTorch's analyzer printed; with the missing ranks.
fn verdicts_of_analyzer(mut reports: Vec<Report>) -> BTreeMap<Verdict, BTreeSet<u32>> {
    let mut found: BTreeMap<Verdict, BTreeSet<u32>> = BTreeMap::new();
    let mut seen: BTreeSet<(String, &str)> = BTreeSet::new();
    let mut add = |group: &str, sequence, kind, ranks| {
        if seen.insert((group.to_owned(), kind)) {
            found.insert((group.to_owned(), sequence, kind), ranks);
        }
    };
    reports.sort_by_key(|report| report.sequence);
    for report in &reports {
        if let Some(ranks) = &report.missing {
            add(&report.group, report.sequence, MISSING, ranks.clone());
        }
        for (words, kind) in KINDS {
            if report.errors.contains(words) {
                add(&report.group, report.sequence, kind, BTreeSet::new());
            }
        }
    }
    found
}

/// One collective that PyTorch's analyzer complains about.
#[derive(Default)]
struct Report {
    group: String,
    sequence: u64,
    is_point_to_point: bool,
    missing: Option<BTreeSet<u32>>,
    errors: String,
}

impl Report {
    /// True when each rank it misses has written itself that it completed the collective: a recorder may list only what
    /// is still active, which the analyzer takes for all there was.
    fn is_disproved_by(&self, recorders: &[Recorder]) -> bool {
        let has_completed = |rank: &u32| {
            let recorder = recorders.iter().find(|recorder| recorder.rank == Some(*rank));
            let completed = recorder.and_then(|recorder| {
                let entry = recorder.entries.iter().find(|entry| *entry.group == *self.group)?;
                recorder.progress.get(&entry.group_number)?.completed
            });
            completed.is_some_and(|completed| completed >= self.sequence)
        };
        self.missing
            .as_ref()
            .is_some_and(|ranks| ranks.iter().all(has_completed))
    }
}

fn reports(text: &str) -> impl Iterator<Item = Report> {
    text.split("\n \n").filter_map(|block| {
        let mut report = Report::default();
        let mut is_report = false;
        for line in block.lines() {
            if let Some(sequence) = line.strip_prefix("Not all ranks joining collective, sequence number: ") {
                report.sequence = sequence.trim().parse().ok()?;
                is_report = true;
            } else if let Some(sequence) = line.strip_prefix("Collective sequence number: ") {
                report.sequence = sequence.split(' ').next()?.parse().ok()?;
                is_report = true;
            } else if let Some(group) = line.strip_prefix("group info: ") {
                report.group = group.split(':').next()?.to_owned();
            } else if let Some(operation) = line.strip_prefix("collective: ") {
                report.is_point_to_point = operation.contains(":send ") || operation.contains(":recv ");
            } else if let Some(ranks) = line.strip_prefix("missing ranks: ") {
                report.missing = Some(numbers(ranks));
            } else if let Some(errors) = line.strip_prefix("error msg: ") {
                report.errors = errors.to_owned();
            }
        }
        is_report.then_some(report)
    })
}

fn same_verdicts(expected: &BTreeMap<Verdict, BTreeSet<u32>>, found: &BTreeMap<Verdict, BTreeSet<u32>>) -> Score {
    let all: BTreeSet<&Verdict> = expected.keys().chain(found.keys()).collect();
    Score {
        agree: all
            .iter()
            .filter(|verdict| expected.contains_key(**verdict) && found.contains_key(**verdict))
            .count(),
        expected: all.len(),
    }
}

fn same_missing(expected: &BTreeMap<Verdict, BTreeSet<u32>>, found: &BTreeMap<Verdict, BTreeSet<u32>>) -> Score {
    let mut score = Score::default();
    for (verdict, ranks) in expected.iter().filter(|((_, _, kind), _)| *kind == MISSING) {
        score.add(Score::of(found.get(verdict) == Some(ranks)));
    }
    score
}

/// NVIDIA's analyzer names one group and the ranks that are missing in it: `72 | NAME | … | 9,14`.
fn with_reference(path: &Path, found: &Collectives) -> Result<Score> {
    let text = std::fs::read_to_string(path)?;
    let mut score = Score::default();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let (Some(group), Some(ranks)) = (cells.first(), cells.last()) else {
            continue;
        };
        let ranks = numbers(ranks);
        let agrees = found.verdicts.iter().any(|verdict| {
            verdict.group == *group
                && verdict.kind == MISSING
                && verdict.ranks.iter().copied().collect::<BTreeSet<_>>() == ranks
        });
        score.add(Score::of(agrees));
    }
    Ok(score)
}

fn numbers(text: &str) -> BTreeSet<u32> {
    text.split(|character: char| !character.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}
