//! Who holds the memory that was missing.
//!
//! The rules are asked in the order of how much they exclude: a limit, other holders of the device, holders of the
//! allocator's own memory, blocks that can not be used, and what remains is that the program needs more than there is.

use whycrash_plugin::{Citation, Diagnosis, Finding, Line, Report, cite};

use crate::request::{Blocks, Request, own_frame};
use crate::size::{GIB, size};
use crate::{growth, leak, scene};

/// Rows of a table of processes that are looked at.
const ROWS: u32 = 64;

/// The largest other holders that are named.
const NAMED: usize = 4;

type Rule = fn(&Report, &Request, &[Request]) -> Option<Finding>;

pub fn judge(report: &Report, request: &Request, all: &[Request]) -> Diagnosis {
    let rules: [Rule; 9] = [
        fraction,
        all_ranks_on_one,
        other_process,
        non_pytorch,
        side_stream,
        private_pools,
        split,
        somebody,
        fragmentation,
    ];
    let found = rules.iter().find_map(|rule| rule(report, request, all));
    if found.is_none() {
        let grown = || growth::judge(report, request).filter(|_| request.blocks.is_none());
        if let Some(diagnosis) = leak::judge(report, request).or_else(grown) {
            return diagnosis;
        }
    }
    let is_rule = found.is_some();
    let exhausted = || exhaustion(report, request).map(|found| scene::exact(report, request).unwrap_or(found));
    match found.or_else(exhausted) {
        Some(finding) => {
            let diagnosis = undecided_blocks(request, finding.cite_all(request.proof.iter().cloned()).into());
            let guess = scene::in_evaluation(report).filter(|_| !is_rule);
            guess.into_iter().fold(diagnosis, Diagnosis::with)
        }
        None => Diagnosis::from(unknown(request)).collect(
            "memory snapshot",
            SNAPSHOT,
            [
                "oom-exhaustion",
                "oom-fragmentation",
                "oom-other-process",
                "oom-non-pytorch-memory",
            ],
        ),
    }
}

const SNAPSHOT: &str = "torch.cuda.memory._record_memory_history() at the start, and torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") where the \
                        OutOfMemoryError is caught";

/// Who holds the memory is not known.
fn unknown(request: &Request) -> Finding {
    Finding::new("oom-gpu-memory", 0.55)
        .because(format!(
            "{} were asked for and could not be had. What the message tells does not say who holds the rest.",
            size(request.requested)
        ))
        .cite_all(request.proof.iter().cloned())
}

/// Only a snapshot knows why free blocks could not be used.
fn undecided_blocks(request: &Request, diagnosis: Diagnosis) -> Diagnosis {
    if request.blocks.is_some() || request.unallocated < request.requested {
        return diagnosis;
    }
    diagnosis.collect(
        "memory snapshot",
        SNAPSHOT,
        [
            "oom-fragmentation",
            "oom-stream-or-pool-split",
            "oom-side-stream-retention",
        ],
    )
}

/// The process may not use the whole device.
fn fraction(_: &Report, request: &Request, _: &[Request]) -> Option<Finding> {
    let allowed = request.allowed?;
    if request.reserved() + request.requested <= allowed || request.missing() > 0 {
        return None;
    }
    Some(Finding::new("oom-memory-fraction-limit", 0.93).because(format!(
        "{} were asked for and {} are free on the device, but this process may hold no more than {} and holds {}.",
        size(request.requested),
        size(request.free.unwrap_or(0)),
        size(allowed),
        size(request.reserved())
    )))
}

/// Processes of one job that all use the first device.
fn all_ranks_on_one(report: &Report, request: &Request, all: &[Request]) -> Option<Finding> {
    let strays = all
        .iter()
        .filter(|other| other.gpu == Some(0) && other.rank.is_some_and(|rank| rank > 0))
        .count();
    let crowd = request.others.len();
    let held: u64 = request.others.iter().map(|process| process.bytes).sum();
    if request.gpu == Some(0) && crowd == 0 {
        return crowd_in_a_table(report, request);
    }
    if request.gpu != Some(0) || crowd < 2 || held < request.missing() {
        return None;
    }
    let mut seen = on_other_devices(report, request);
    if strays == 0 && seen.len() < 2 {
        seen = launched(report, request);
        if seen.is_empty() {
            seen = alike(report, request);
        }
        if seen.is_empty() {
            return None;
        }
    }
    let rank = request.rank.unwrap_or(0);
    let finding = Finding::new("oom-all-ranks-on-gpu0", 0.94).because(format!(
        "Rank {rank} asked for {} on GPU 0, where {crowd} other processes hold {}: the ranks of the job did not each choose their own device.",
        size(request.requested),
        size(held)
    ));
    Some(finding.cite_all(seen))
}

/// The message does not tell who holds the device, and nvidia-smi's table shows processes on it that have a device of
/// their own as well.
fn crowd_in_a_table(report: &Report, request: &Request) -> Option<Finding> {
    let rank = request.rank.unwrap_or(0);
    crowd_on_the_first(
        report,
        &format!("Rank {rank} asked for {} on GPU 0.", size(request.requested)),
    )
}

/// Processes of one job on the first device, as nvidia-smi's table shows them; `what` is what failed.
pub fn crowd_on_the_first(report: &Report, what: &str) -> Option<Finding> {
    let rows = rows(report);
    let on_first = |row: &&Line| row.text.split_whitespace().nth(1) == Some("0");
    let pids: Vec<u32> = rows.iter().filter(|row| !on_first(row)).filter_map(pid).collect();
    let strays: Vec<&Line> = rows
        .iter()
        .filter(on_first)
        .filter(|row| pid(row).is_some_and(|pid| pids.contains(&pid)))
        .collect();
    // A table that is cut short shows one of them on its own device, and all on the first.
    let crowd: Vec<&Line> = rows
        .iter()
        .filter(on_first)
        .filter(|row| strays.iter().any(|stray| command(row) == command(stray)))
        .collect();
    if strays.len() < 2 && crowd.len() < 3 {
        return None;
    }
    let finding = Finding::new("oom-all-ranks-on-gpu0", 0.92).because(format!(
        "{what} As nvidia-smi shows, processes of the job hold memory of GPU 0 ({}), also such as have a device of their own ({}).",
        crowd.len(),
        strays.len()
    ));
    Some(finding.cite_all(crowd.into_iter().take(NAMED).map(cite::line)))
}

/// Rows of nvidia-smi's table of processes.
fn rows(report: &Report) -> Vec<Line> {
    const PROCESS: &str = r"^\|\s+\d+\s+(?:N/A\s+N/A\s+)?\d+\s+[CG+]+\s";
    /// Lines of an artifact that such a table may be in: long logs are not searched for it.
    const LONGEST: u64 = 4096;
    let artifacts = report.artifacts();
    let short = artifacts.iter().filter(|artifact| artifact.lines <= LONGEST);
    short
        .flat_map(|artifact| report.search(Some(&artifact.name), PROCESS, ROWS).unwrap_or_default())
        .collect()
}

/// The command of a row: what stands before its memory.
fn command(row: &Line) -> Option<&str> {
    row.text.split_whitespace().rev().nth(2)
}

/// The process of a row: the first number behind the device's.
fn pid(row: &Line) -> Option<u32> {
    row.text
        .split_whitespace()
        .skip(2)
        .find_map(|word| word.parse::<u32>().ok())
}

/// Lines of nvidia-smi's table in which processes that hold memory of the first device are on another one too: ranks
/// that have a device of their own.
fn on_other_devices(report: &Report, request: &Request) -> Vec<Citation> {
    let is_of_others = |row: &&Line| {
        let is_elsewhere = row.text.split_whitespace().nth(1) != Some("0");
        is_elsewhere && pid(row).is_some_and(|pid| request.others.iter().any(|other| other.pid == pid))
    };
    rows(report)
        .iter()
        .filter(is_of_others)
        .take(NAMED)
        .map(cite::line)
        .collect()
}

/// Lines in which the launcher names a process that holds memory of the device as one of its workers.
fn launched(report: &Report, request: &Request) -> Vec<Citation> {
    const WORKER: &str = r"\bSending process \d+ closing signal |\bfailed \(exitcode: \S+\) local_rank: \d+ \(pid: \d+\)|\bKilling subprocess \d+";
    let is_of_others = |line: &&Line| {
        let numbers = line.text.split(|letter: char| !letter.is_ascii_digit());
        let mut numbers = numbers.filter_map(|number| number.parse::<u32>().ok());
        numbers.any(|number| request.others.iter().any(|other| other.pid == number))
    };
    let lines = report.search(None, WORKER, ROWS).unwrap_or_default();
    lines.iter().filter(is_of_others).take(NAMED).map(cite::line).collect()
}

/// Lines that name a job of several processes, where those that hold memory of the device hold the same, and little more
/// than a context takes: the ranks that each made one there.
fn alike(report: &Report, request: &Request) -> Vec<Citation> {
    const JOB: &str =
        r"\b(?:mpirun|mpiexec|torchrun|horovodrun|srun|deepspeed)\b|\blocal_rank\b|\[rank ?\d|\bworld.?size\b";
    /// The largest context, with what libraries of kernels load into it.
    const CONTEXT: u64 = 2 * GIB;
    let held = || request.others.iter().map(|process| process.bytes);
    let (Some(least), Some(most)) = (held().min(), held().max()) else {
        return Vec::new();
    };
    if request.others.len() < 3 || most > CONTEXT || most - least > most / 20 {
        return Vec::new();
    }
    let lines = report.search(None, JOB, 1).unwrap_or_default();
    lines.iter().map(cite::line).collect()
}

/// Processes of others hold what is missing.
fn other_process(_: &Report, request: &Request, _: &[Request]) -> Option<Finding> {
    let held: u64 = request.others.iter().map(|process| process.bytes).sum();
    let capacity = request.capacity?;
    if held < request.missing().max(capacity / 10) {
        return None;
    }
    let mut others = request.others.clone();
    others.sort_by_key(|process| std::cmp::Reverse(process.bytes));
    let named: Vec<String> = others
        .iter()
        .take(NAMED)
        .map(|process| format!("process {} holds {}", process.pid, size(process.bytes)))
        .collect();
    let first = others.first().map(|process| process.pid)?;
    Some(
        Finding::new("oom-other-process", 0.93)
            .because(format!(
                "{} were asked for and {} are free of {}. On the same device {}; this process holds {}.",
                size(request.requested),
                size(request.free.unwrap_or(0)),
                size(capacity),
                named.join(", "),
                size(request.this_process.unwrap_or(request.reserved()))
            ))
            .first_step(format!(
                "Find out what process {first} is (ps -fp {first} on the host) and whether it should be there"
            )),
    )
}

/// This process holds memory on the device that the allocator knows nothing of.
fn non_pytorch(_: &Report, request: &Request, _: &[Request]) -> Option<Finding> {
    let beside = request.this_process?.saturating_sub(request.reserved());
    let capacity = request.capacity?;
    if beside < (2 * GIB).max(capacity / 20) || beside < request.missing() {
        return None;
    }
    // What the allocator itself holds in pieces would have been enough as well, and is more.
    if request.unallocated >= request.requested.max(beside) {
        return None;
    }
    Some(Finding::new("oom-non-pytorch-memory", 0.9).because(format!(
        "This process holds {} on the device, of which PyTorch's allocator accounts for {}: {} are held by something else in the process, \
         such as a context, NCCL's buffers or another framework.",
        size(request.this_process.unwrap_or(0)),
        size(request.reserved()),
        size(beside)
    )))
}

/// Blocks that the program freed and another stream may still use.
fn side_stream(report: &Report, request: &Request, _: &[Request]) -> Option<Finding> {
    let blocks = request.blocks.as_ref()?;
    if blocks.pending_free < request.requested || blocks.pending_free < blocks.snapshot.reserved / 10 {
        return None;
    }
    Some(
        Finding::new("oom-side-stream-retention", 0.92)
            .because(format!(
                "{} were asked for while {} that the program had freed could not be used again, because another stream had recorded a use of \
                 them and had not finished.",
                size(request.requested),
                size(blocks.pending_free)
            ))
            .cite_all(fact(report, blocks, "pending_free")),
    )
}

/// Memory in pools of CUDA graphs, which nothing else may use.
fn private_pools(report: &Report, request: &Request, _: &[Request]) -> Option<Finding> {
    let held = request.private_pools;
    if held < request.requested || held < request.reserved() / 4 {
        return None;
    }
    Some(
        Finding::new("oom-private-pools", 0.9)
            .because(format!(
                "{} of the {} that the allocator holds are in private pools, as each captured CUDA graph keeps one: nothing else may use them, \
                 and {} were asked for.",
                size(held),
                size(request.reserved()),
                size(request.requested)
            ))
            .cite_all(request.blocks.as_ref().and_then(|blocks| fact(report, blocks, "private_pools"))),
    )
}

/// Free blocks enough, but of another stream, pool or size class.
fn split(report: &Report, request: &Request, _: &[Request]) -> Option<Finding> {
    let blocks = request.blocks.as_ref()?;
    let enough = blocks.inactive >= request.requested && blocks.inactive >= blocks.snapshot.reserved / 20;
    if !enough || blocks.usable >= request.requested {
        return None;
    }
    Some(
        Finding::new("oom-stream-or-pool-split", 0.88)
            .because(format!(
                "{} were asked for while {} in free blocks were held, of which this request could use {}: the rest belongs to other streams, \
                 pools or size classes.",
                size(request.requested),
                size(blocks.inactive),
                size(blocks.usable)
            ))
            .cite_all(fact(report, blocks, "inactive")),
    )
}

/// Confidence of what a message's totals suggest and only a snapshot could prove.
const LOG_ALONE: f64 = 0.6;

/// Most of the device is held, and the message, as those before torch 2.1, does not say by whom.
fn somebody(_: &Report, request: &Request, _: &[Request]) -> Option<Finding> {
    let (capacity, free) = request.capacity.zip(request.free)?;
    let is_told = request.this_process.is_some() || !request.others.is_empty() || request.blocks.is_some();
    let elsewhere = capacity.saturating_sub(free).saturating_sub(request.reserved());
    if is_told || !request.tells_own || elsewhere < capacity / 3 || elsewhere < request.missing() {
        return None;
    }
    Some(
        Finding::new("oom-other-process", 0.7)
            .because(format!(
                "{} were asked for and {} are free of {}. PyTorch's allocator holds only {}: {} are held by another process, or by something \
                 in this one that PyTorch knows nothing of. The message does not say which.",
                size(request.requested),
                size(free),
                size(capacity),
                size(request.reserved()),
                size(elsewhere)
            ))
            .first_step("List what is on the device: nvidia-smi --query-compute-apps=pid,used_memory --format=csv"),
    )
}

/// Free memory enough, but in pieces.
fn fragmentation(report: &Report, request: &Request, _: &[Request]) -> Option<Finding> {
    let (free, certain) = match &request.blocks {
        Some(blocks) => (blocks.usable, blocks.largest_usable < request.requested),
        None => (request.unallocated, false),
    };
    // What rounding and caching leave free anyway would not have helped.
    let substantial = free >= request.reserved() / 20;
    if free < request.requested || !substantial {
        return None;
    }
    let largest = request.blocks.as_ref().map_or_else(String::new, |blocks| {
        format!(", the largest piece of which has {}", size(blocks.largest_usable))
    });
    let numbers = format!(
        "{} were asked for while the allocator held {} that were not allocated{largest}; {} were allocated.",
        size(request.requested),
        size(free),
        size(request.allocated)
    );
    if request.expandable {
        return Some(
            Finding::new("oom-fragmentation-hint-wrong", 0.85)
                .because(format!(
                    "{numbers} The message advises expandable segments, and they are already on: the reason must be another one, such as blocks \
                     that belong to other streams or pools."
                ))
                .cite_all(request.setting.clone()),
        );
    }
    let (confidence, doubt) = match &request.blocks {
        Some(_) if certain => (0.95, ""),
        Some(_) => (0.8, ""),
        None => (
            LOG_ALONE,
            " A log can not say why these could not be used: blocks that wait for another stream, and free blocks of another stream or \
             pool, count as unallocated too.",
        ),
    };
    let finding = Finding::new("oom-fragmentation", confidence).because(numbers + doubt);
    Some(
        finding.cite_all(
            request
                .blocks
                .as_ref()
                .and_then(|blocks| fact(report, blocks, "largest_inactive")),
        ),
    )
}

/// The program needs more than there is.
fn exhaustion(report: &Report, request: &Request) -> Option<Finding> {
    let available = request
        .capacity
        .unwrap_or_else(|| request.reserved() + request.free.unwrap_or(0));
    let share = request.allocated as f64 / available.max(1) as f64;
    let confidence = match share {
        0.85.. => 0.92,
        0.7..0.85 => 0.78,
        _ if is_alone(request, available) && request.allocated + request.requested > available => 0.86,
        _ => return None,
    };
    let holders = request.blocks.as_ref().map_or_else(String::new, holders);
    let finding = Finding::new("oom-exhaustion", confidence).because(format!(
        "{} were asked for and {} are free. {} of {} are allocated by the program itself ({:.0} %), and only {} are held without being \
         allocated.{holders}",
        size(request.requested),
        size(request.free.unwrap_or(0)),
        size(request.allocated),
        size(available),
        share * 100.0,
        size(request.unallocated)
    ));
    Some(
        finding.cite_all(
            request
                .blocks
                .as_ref()
                .and_then(|blocks| fact(report, blocks, "clusters.0.bytes")),
        ),
    )
}

/// Whether nobody else holds memory of the device worth speaking of: what is free and what the process holds is all of it.
fn is_alone(request: &Request, available: u64) -> bool {
    let known = request.this_process.zip(request.free);
    known.is_some_and(|(own, free)| own + free >= available - available / 20) && request.others.is_empty()
}

/// Who allocated most of what is alive.
fn holders(blocks: &Blocks) -> String {
    let largest: Vec<String> = blocks
        .snapshot
        .clusters
        .iter()
        .filter_map(|cluster| Some(format!("{} by {}", size(cluster.bytes), own_frame(&cluster.frames)?.1)))
        .take(3)
        .collect();
    if largest.is_empty() {
        String::new()
    } else {
        format!(" Most of it: {}.", largest.join(", "))
    }
}

fn fact(report: &Report, blocks: &Blocks, member: &str) -> Option<whycrash_plugin::Citation> {
    report.cite_fact(&format!("memory_snapshots.{}.{member}", blocks.position))
}
