//! What ranks did together, as their flight recorders and NCCL's own counts tell: the first collective that does not
//! match, or the rank that is gone or did not move.

use whycrash_plugin::facts::CollectiveVerdict;
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
        let finding = Finding::new(cause, 0.94).because(if verdict.operation.is_empty() {
            format!(
                "In {} the ranks did not start the same operations, and none of them went on: {}.",
                group(verdict),
                verdict.detail
            )
        } else if verdict.point_to_point {
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
    let of_kind = |kind: &str| verdicts.iter().enumerate().find(|(_, verdict)| verdict.kind == kind);
    if somebody_failed(report) {
        return None;
    }
    if let Some((index, verdict)) = of_kind("dead-rank") {
        return Some(dead(report, index, verdict));
    }
    if let Some((index, verdict)) = of_kind("missing-rank").or_else(|| of_kind("behind-rank")) {
        return Some(missing(report, &verdicts, index, verdict));
    }
    if let Some((index, verdict)) = of_kind("unresponsive-rank") {
        return Some(silent(report, index, verdict));
    }
    if let Some(next) = once_behind(report) {
        return Some(next);
    }
    // All are there and it never ended: nothing is wrong with who called what.
    let timed_out = report.events(Some("watchdog"), 0, 64).iter().any(counts);
    let (index, verdict) = of_kind("not-completed").filter(|_| timed_out)?;
    Some(unfinished(report, index, verdict))
}

/// A process that NCCL itself gave up.
fn dead(report: &Report, index: usize, verdict: &CollectiveVerdict) -> Diagnosis {
    let finding = Finding::new("dist-dead-peer", 0.86)
        .titled(format!("{} died", capital(&ranks(&verdict.ranks))))
        .because(format!(
            "{}. NCCL says so after it could not reach the process for a minute. The others only wait for it: why it died, its own \
             log, its core and the kernel's log of its host tell.",
            verdict.detail
        ))
        .cite_all(proof(report, index));
    Diagnosis::from(finding).collect(
        &format!("what {} left on its host", ranks(&verdict.ranks)),
        "its log, its core, and dmesg of that host around the time",
        ["host-oom-killer", "hw-fell-off-bus", "seg-fault"],
    )
}

/// A process that does not answer and is not given up: stopped, stuck in the kernel, or not to be reached.
fn silent(report: &Report, index: usize, verdict: &CollectiveVerdict) -> Diagnosis {
    let finding = Finding::new("dist-rank-missing", 0.6)
        .titled(format!("{} does not answer", capital(&ranks(&verdict.ranks))))
        .because(format!(
            "{}. It is stopped, stuck, dead since less than a minute, or its host can not be reached: the others wait for it.",
            verdict.detail
        ))
        .cite_all(proof(report, index));
    Diagnosis::from(finding).collect(
        "a second answer of NCCL's RAS, and the process itself",
        "`ncclras -v` a minute later says whether it is dead; `cat /proc/PID/status /proc/PID/stack` on its host whether it is stopped",
        ["dist-dead-peer", "dist-gil-hang", "hang-no-progress"],
    )
}

/// Counts that differ at one moment prove nothing, and a second moment does.
fn once_behind(report: &Report) -> Option<Diagnosis> {
    let behind: Vec<u32> = report.get("collectives.behind_once")?;
    let next = Diagnosis::nothing().collect(
        "a second answer of NCCL's RAS",
        "`ncclras -f json` twice, ten seconds apart: whoever is behind in both with the same counts holds the others up",
        ["dist-op-mismatch", "dist-rank-missing", "dist-slow-rank-not-hang"],
    );
    (!behind.is_empty()).then_some(next)
}

/// Every rank is in the collective, and it does not end.
fn unfinished(report: &Report, index: usize, verdict: &CollectiveVerdict) -> Diagnosis {
    let finding = Finding::new("dist-rank-missing", 0.5)
        .because(format!(
            "{} {} was started and did not end before its time-out: {}. No recorder shows a rank that went another way: the network \
             between the ranks, or a GPU that is stuck, is more likely than the program.",
            place(verdict),
            verdict.operation,
            verdict.detail
        ))
        .cite_all(proof(report, index));
    Diagnosis::from(finding).collect(
        "NCCL's own log of every rank",
        "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,COLL, and the kernel's log of every node",
        [
            "nccl-p2p-acs-iommu",
            "nccl-ib-retry-exceeded",
            "nccl-socket-refused",
            "hw-nvlink",
        ],
    )
}

/// A rank did not come. Recorders can not tell one that went another way from one that is stuck or slow, so it takes
/// that rank's Python stack to name a cause; without it, the rank is certain and the reason is not.
fn missing(report: &Report, verdicts: &[CollectiveVerdict], index: usize, verdict: &CollectiveVerdict) -> Diagnosis {
    if let Some(finding) = crossed(report, verdicts) {
        return finding.into();
    }
    let Some(way) = elsewhere(report, &verdict.ranks) else {
        let finding = Finding::new("dist-rank-missing", 0.62)
            .titled(format!("{} did not join a collective", capital(&ranks(&verdict.ranks))))
            .because(format!(
                "{} the others called {}, and {} did not: {}. That is certain. Whether it went another way, is slow, stuck or dead, only its \
                 own stack and log can tell.",
                place(verdict),
                verdict.operation,
                ranks(&verdict.ranks),
                verdict.detail
            ))
            .cite_all(proof(report, index));
        return Diagnosis::from(finding).collect(
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
    Finding::new(way.cause, way.confidence)
        .because(format!(
            "{} the others called {}, while {} was in `{}`, {}.",
            place(verdict),
            verdict.operation,
            ranks(&verdict.ranks),
            way.function,
            way.why
        ))
        .cite(way.frame)
        .cite_all(proof(report, index))
        .into()
}

/// Words of functions that people let one rank alone call.
pub const OF_ONE_RANK: [&str; 6] = ["checkpoint", "eval", "log_metrics", "save", "state_dict", "validat"];

/// Words of a function on the stack of a missing rank, the cause that they stand for, how sure that is, and why.
const WAYS: [(&[&str], &str, f64, &str); 3] = [
    (
        &OF_ONE_RANK,
        "dist-rank-branch",
        0.85,
        "which the others do not call or have left",
    ),
    (
        &[
            "destroy_process_group",
            "_exit_function",
            "_shutdown",
            "wait_for_thread_shutdown",
        ],
        "dist-uneven-inputs",
        0.72,
        "as at the end of the program: it had fewer batches than the others, or left its loop earlier",
    ),
    (
        &["_next_data", "_try_get_data", "_get_data", "download", "compile"],
        "dist-slow-rank-not-hang",
        0.62,
        "which takes as long as it takes: the others waited for it",
    ),
];

/// Where a missing rank was, and what that says.
pub struct Way {
    pub function: String,
    pub frame: Citation,
    pub cause: &'static str,
    pub confidence: f64,
    pub why: &'static str,
}

/// Where these ranks were instead, as one of their stacks tells.
pub fn elsewhere(report: &Report, missing: &[u32]) -> Option<Way> {
    let is_missing = |rank: Option<u32>| rank.is_some_and(|rank| missing.contains(&rank));
    WAYS.iter().find_map(|(words, cause, confidence, why)| {
        let mut walks = report.walks().filter(|walk| is_missing(walk.thread.rank));
        walks.find_map(|walk| {
            let (index, frame) = walk.frames().find(|(_, frame)| {
                let function = frame.function.as_deref().unwrap_or_default();
                frame.kind == "python" && words.iter().any(|word| function.contains(word))
            })?;
            Some(Way {
                function: frame.function.clone()?,
                frame: walk.cite(index, &frame),
                cause,
                confidence: *confidence,
                why,
            })
        })
    })
}

/// Two groups in which the ranks wait for each other: each rank that is missing in one is waited for by one that is
/// missing in the other.
fn crossed(report: &Report, verdicts: &[CollectiveVerdict]) -> Option<Finding> {
    let missing = || {
        verdicts
            .iter()
            .enumerate()
            .filter(|(_, verdict)| verdict.kind == "missing-rank")
    };
    let (first, second) = missing().find_map(|(index, one)| {
        let other = missing().find(|(later, other)| {
            *later > index
                && other.group != one.group
                && !one.ranks.is_empty()
                && !other.ranks.is_empty()
                && one.ranks.iter().all(|rank| !other.ranks.contains(rank))
        })?;
        Some((index, other.0))
    })?;
    let (one, other) = (verdicts.get(first)?, verdicts.get(second)?);
    Some(
        Finding::new("dist-multi-pg-order", 0.78)
            .because(format!(
                "{} is missing in {}, while {} is missing in {}: each waits in the group that the other has not come to, so they use the \
                 groups in another order.",
                ranks(&one.ranks),
                group(one),
                ranks(&other.ranks),
                group(other)
            ))
            .cite_all(proof(report, first))
            .cite_all(proof(report, second)),
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn somebody_failed(report: &Report) -> bool {
    OWN_FAILURES
        .iter()
        .any(|kind| report.events(Some(kind), 0, 64).iter().any(counts))
}

/// Where in the job a verdict is about, to begin a sentence with.
fn place(verdict: &CollectiveVerdict) -> String {
    if verdict.point_to_point {
        format!("In {}", group(verdict))
    } else {
        format!("At position {} of {}", verdict.sequence, group(verdict))
    }
}

fn group(verdict: &CollectiveVerdict) -> String {
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
