//! What the stacks of processes say that were looked at because nothing went on, where nothing else tells why.

use std::collections::BTreeMap;

use whycrash_plugin::{Citation, Diagnosis, Event, Finding, Frame, Report, Walk};

use crate::divergence::{OF_ONE_RANK, elsewhere};
use crate::{counts, ranks};

/// Frames from the innermost on that say what a thread waits in.
const INNERMOST: usize = 12;

/// A call in which a thread waits, and where that stands.
struct Wait {
    function: String,
    proof: Citation,
}

pub fn rule(report: &Report) -> Option<Diagnosis> {
    // The ranks that waited for it timed out.
    let ended = |event: &Event| counts(event) && event.kind != "watchdog";
    let is_alive = report.crash().is_none() && !report.events(None, 0, 64).iter().any(ended);
    if !is_alive {
        return None;
    }
    apart(report)
        .or_else(|| branched(report))
        .or_else(|| taken_down(report))
        .or_else(|| locked(report))
}

/// Ranks that wait in different collectives: none of these can end.
fn apart(report: &Report) -> Option<Diagnosis> {
    let mut by_call: BTreeMap<String, (Vec<u32>, Citation)> = BTreeMap::new();
    for walk in report.walks() {
        let (Some(rank), Some(wait)) = (walk.thread.rank, wait(&walk, is_collective)) else {
            continue;
        };
        let (list, _) = by_call.entry(wait.function).or_insert((Vec::new(), wait.proof));
        if !list.contains(&rank) {
            list.push(rank);
        }
    }
    let (odd, _) = by_call.values().min_by_key(|(list, _)| list.len())?;
    if by_call.len() < 2 {
        return None;
    }
    let calls: Vec<String> = by_call
        .iter()
        .map(|(function, (list, _))| format!("{} in `{function}`", ranks(list)))
        .collect();
    let what = format!(
        "The stacks show the ranks in different collectives: {}",
        calls.join(", ")
    );
    let finding = match elsewhere(report, odd) {
        Some(way) => Finding::new(way.cause, 0.78)
            .because(format!(
                "{what}; {} came there by `{}`, {}.",
                ranks(odd),
                way.function,
                way.why
            ))
            .cite(way.frame),
        None => Finding::new("dist-op-mismatch", 0.6).because(format!(
            "{what}. If that is so in a second look as well, they do not make the same calls."
        )),
    };
    Some(finding.cite_all(by_call.into_values().map(|(_, proof)| proof)).into())
}

/// Processes whose ranks nobody told: a few wait in a collective that they came to by what people let one rank alone
/// do, and the others are elsewhere.
fn branched(report: &Report) -> Option<Diagnosis> {
    let mains: Vec<Walk> = report.walks().filter(is_main).take(PROCESSES).collect();
    let (waiting, elsewhere): (Vec<&Walk>, Vec<&Walk>) =
        mains.iter().partition(|walk| wait(walk, is_collective).is_some());
    if waiting.is_empty() || elsewhere.len() <= waiting.len() {
        return None;
    }
    let is_known = |function: &str| {
        let mut frames = elsewhere.iter().flat_map(|walk| walk.frames());
        frames.any(|(_, frame)| frame.function.as_deref() == Some(function))
    };
    let walk = waiting.first()?;
    let wait = wait(walk, is_collective)?;
    let (index, frame) = walk.frames().find(|(_, frame)| {
        let function = frame.function.as_deref().unwrap_or_default();
        frame.kind == "python" && OF_ONE_RANK.iter().any(|word| function.contains(word)) && !is_known(function)
    })?;
    let other = elsewhere.first().and_then(|walk| {
        let (index, frame) = walk.frames().next()?;
        Some(walk.cite(index, &frame))
    });
    let finding = Finding::new("dist-rank-branch", 0.76)
        .because(format!(
            "{} of {} processes came by `{}` to `{}`, in which they wait for the others. None of those was on that way.",
            waiting.len(),
            mains.len(),
            frame.function.as_deref().unwrap_or_default(),
            wait.function
        ))
        .cite(walk.cite(index, &frame))
        .cite(wait.proof)
        .cite_all(other);
    Some(finding.into())
}

/// Processes that are looked at.
const PROCESSES: usize = 256;

/// The thread of a process that runs its program: its outermost frame is the program's own file.
fn is_main(walk: &Walk) -> bool {
    let last = walk.frames().last();
    last.is_some_and(|(_, frame)| frame.kind == "python" && is(&frame, &["<module>", "_run_module_as_main", "_start"]))
}

/// A thread that takes communicators down, and does not come back from it.
fn taken_down(report: &Report) -> Option<Diagnosis> {
    let wait = report.walks().find_map(|walk| wait(&walk, takes_down))?;
    let finding = Finding::new("dist-comm-abort-hang", 0.66)
        .because(format!(
            "The process was looked at while it took its communicators down, in `{}`.",
            wait.function
        ))
        .cite(wait.proof);
    Some(finding.into())
}

/// A worker of a `DataLoader` that waits for a lock at once: it inherited it locked when it was forked.
fn locked(report: &Report) -> Option<Diagnosis> {
    let wait = report
        .walks()
        .filter(|walk| walk.frames().any(|(_, frame)| is(&frame, &["_worker_loop"])))
        .find_map(|walk| wait(&walk, |frame| is(frame, &LOCKS)).or_else(|| of_python(&walk)))?;
    let finding = Finding::new("dl-fork-lock-deadlock", 0.7)
        .because(format!(
            "A worker of the data loader waits in `{}` for a lock. A process that is forked while another thread holds a lock inherits it \
             locked, and nobody is there to open it.",
            wait.function
        ))
        .cite(wait.proof);
    Some(finding.into())
}

/// A lock of Python's own, in the innermost frame: `acquire` of logging and threading.
fn of_python(walk: &Walk) -> Option<Wait> {
    let (index, frame) = walk.frames().next()?;
    let file = frame.file.as_deref().unwrap_or_default();
    let is_lock = is(&frame, &["acquire", "__enter__", "_acquireLock"])
        && ["logging/__init__.py", "threading.py", "multiprocessing/synchronize.py"]
            .iter()
            .any(|name| file.ends_with(name));
    is_lock.then(|| Wait {
        function: frame.function.clone().unwrap_or_default(),
        proof: walk.cite(index, &frame),
    })
}

const LOCKS: [&str; 5] = [
    "__lll_lock_wait",
    "lll_lock_wait",
    "__GI___lll_lock_wait",
    "pthread_mutex_lock",
    "___pthread_mutex_lock",
];

fn wait(walk: &Walk, is_it: impl Fn(&Frame) -> bool) -> Option<Wait> {
    let (index, frame) = walk.frames().take(INNERMOST).find(|(_, frame)| is_it(frame))?;
    Some(Wait {
        function: frame.function.clone()?,
        proof: walk.cite(index, &frame),
    })
}

fn is(frame: &Frame, names: &[&str]) -> bool {
    frame
        .function
        .as_deref()
        .is_some_and(|function| names.contains(&function))
}

/// One of torch's own functions in which all ranks of a group have to come together.
fn is_collective(frame: &Frame) -> bool {
    const CALLS: [&str; 13] = [
        "all_reduce",
        "all_gather",
        "all_gather_into_tensor",
        "all_gather_object",
        "all_to_all",
        "all_to_all_single",
        "barrier",
        "broadcast",
        "broadcast_object_list",
        "gather",
        "reduce",
        "reduce_scatter",
        "reduce_scatter_tensor",
    ];
    is(frame, &CALLS)
        && frame
            .file
            .as_deref()
            .is_some_and(|file| file.contains("torch/distributed/"))
}

fn takes_down(frame: &Frame) -> bool {
    const CALLS: [&str; 5] = [
        "ncclCommAbort",
        "ncclCommDestroy",
        "ncclCommFinalize",
        "destroy_process_group",
        "_abort_process_group",
    ];
    is(frame, &CALLS)
}
