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
        let finding = Finding::new(cause, 0.94).because(format!(
            "The ranks did not make the same call at position {} of {}: {}.",
            verdict.sequence,
            group(verdict),
            verdict.detail
        ));
        return Some(finding.cite_all(proof(report, index)).into());
    }
    let (index, verdict) = verdicts
        .iter()
        .enumerate()
        .find(|(_, verdict)| verdict.kind == "missing-rank")?;
    (!somebody_failed(report)).then(|| missing(report, index, verdict))
}

/// A rank that is alive, as its recorder shows, and did not come. Why is for its Python stack to say.
fn missing(report: &Report, index: usize, verdict: &Verdict) -> Diagnosis {
    let alive = report.get::<Vec<u32>>("collectives.ranks").unwrap_or_default();
    if verdict.ranks.is_empty() || !verdict.ranks.iter().all(|rank| alive.contains(rank)) {
        return Diagnosis::nothing().collect(
            "the flight recorder and log of every rank",
            "set TORCH_FR_BUFFER_SIZE=2000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1 on all nodes; keep each rank's log (torchrun --log-dir … --tee 3)",
            ["dist-dead-peer", "dist-rank-branch"],
        );
    }
    let finding = Finding::new("dist-rank-branch", 0.72).because(format!(
        "At position {} of {} the others called {} and {} never did, although alive: the call stands in a branch that not all ranks take, \
         or they run out of data at different times.",
        verdict.sequence,
        group(verdict),
        verdict.operation,
        ranks(&verdict.ranks)
    ));
    Diagnosis::from(finding.cite_all(proof(report, index))).collect(
        "the Python stack of the missing rank while it hangs",
        "py-spy dump --pid PID of that rank, or faulthandler.dump_traceback_later",
        ["dist-rank-branch", "dist-uneven-inputs", "dist-slow-rank-not-hang"],
    )
}

fn somebody_failed(report: &Report) -> bool {
    OWN_FAILURES
        .iter()
        .any(|kind| report.events(Some(kind), 0, 64).iter().any(counts))
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
