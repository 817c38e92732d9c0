//! What the flight recorders of the ranks say when they are laid side by side: the first collective that does not match.

use whycrash_plugin::facts::Verdict;
use whycrash_plugin::{Citation, Diagnosis, Finding, Report};

use crate::{counts, ranks};

/// Failures that a process can only have by itself: whoever is missing after one of them is dead.
const OWN_FAILURES: [&str; 12] = [
    "cuda-error",
    "cuda-oom",
    "dataloader-worker",
    "device-assert",
    "fatal-python-error",
    "gpu-exception",
    "host-oom",
    "kernel",
    "native-abort",
    "python-exception",
    "shared-memory",
    "xid",
];

pub fn rule(report: &Report) -> Option<Diagnosis> {
    let verdicts = report.verdicts();
    let mismatch = verdicts.iter().enumerate().find_map(|(index, verdict)| {
        let cause = match verdict.kind.as_str() {
            "op-mismatch" => "dist-op-mismatch",
            "shape-mismatch" => "dist-shape-mismatch",
            "dtype-mismatch" => "dist-dtype-mismatch",
            _ => return None,
        };
        Some((index, verdict, cause))
    });
    if let Some((index, verdict, cause)) = mismatch {
        let finding = Finding::new(cause, 0.94).because(if verdict.point_to_point {
            format!(
                "In {}, what one rank sent is not what the other asked for: {}.",
                group(verdict),
                verdict.detail
            )
        } else {
            format!(
                "The ranks did not make the same call at position {} of {}: {}.",
                verdict.sequence,
                group(verdict),
                verdict.detail
            )
        });
        return Some(finding.cite_all(proof(report, index)).into());
    }
    let (index, verdict) = verdicts
        .iter()
        .enumerate()
        .find(|(_, verdict)| verdict.kind == "missing-rank")?;
    (!somebody_failed(report)).then(|| missing(report, index, verdict))
}

/// A rank did not come. Recorders can not tell one that went another way from one that is stuck or slow, so it takes that
/// rank's Python stack to name a cause.
fn missing(report: &Report, index: usize, verdict: &Verdict) -> Diagnosis {
    let Some((function, frame)) = elsewhere(report, &verdict.ranks) else {
        return Diagnosis::nothing().collect(
            &format!("the Python stack of {} while the job hangs", ranks(&verdict.ranks)),
            "py-spy dump --pid PID on that rank's host, or faulthandler.dump_traceback_later(600) in every rank; and the log of every rank",
            [
                "dist-dead-peer",
                "dist-gil-hang",
                "dist-rank-branch",
                "dist-slow-rank-not-hang",
                "dist-uneven-inputs",
            ],
        );
    };
    Finding::new("dist-rank-branch", 0.85)
        .because(format!(
            "{} the others called {}, while {} was in `{function}`, which the others do not call or have left.",
            place(verdict),
            verdict.operation,
            ranks(&verdict.ranks)
        ))
        .cite(frame)
        .cite_all(proof(report, index))
        .into()
}

/// Words of functions that people let one rank alone call.
const ONE_RANK: [&str; 6] = ["checkpoint", "evaluate", "log_metrics", "save", "state_dict", "validat"];

/// What a missing rank was doing that usually only some ranks do.
fn elsewhere(report: &Report, missing: &[u32]) -> Option<(String, Citation)> {
    let is_missing = |rank: Option<u32>| rank.is_some_and(|rank| missing.contains(&rank));
    report
        .walks()
        .filter(|walk| is_missing(walk.thread.rank))
        .find_map(|walk| {
            let (index, frame) = walk.frames().find(|(_, frame)| {
                let function = frame.function.as_deref().unwrap_or_default();
                frame.kind == "python" && ONE_RANK.iter().any(|word| function.contains(word))
            })?;
            Some((frame.function.clone()?, walk.cite(index, &frame)))
        })
}

fn somebody_failed(report: &Report) -> bool {
    OWN_FAILURES
        .iter()
        .any(|kind| report.events(Some(kind), 0, 64).iter().any(counts))
}

/// Where in the job a verdict is about, to begin a sentence with.
fn place(verdict: &Verdict) -> String {
    if verdict.point_to_point {
        format!("In {}", group(verdict))
    } else {
        format!("At position {} of {}", verdict.sequence, group(verdict))
    }
}

fn group(verdict: &Verdict) -> String {
    if verdict.group_description.is_empty() {
        format!("group {}", verdict.group)
    } else {
        format!("group {} ({})", verdict.group, verdict.group_description)
    }
}

fn proof(report: &Report, index: usize) -> Vec<Citation> {
    ["kind", "detail", "sequence"]
        .into_iter()
        .filter_map(|member| report.cite_fact(&format!("collectives.verdicts.{index}.{member}")))
        .collect()
}
