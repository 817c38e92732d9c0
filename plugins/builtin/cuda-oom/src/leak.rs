//! Memory that grew from step to step until nothing was left.

use whycrash_plugin::facts::AllocationCluster;
use whycrash_plugin::{Diagnosis, Finding, Report};

use crate::request::{Request, own_frame};
use crate::size::size;

/// Memory that grew from step to step until nothing was left. That something is kept is sure then; by what, the stacks
/// that grow together tell: a graph keeps blocks of many lines, a container those of one.
pub fn judge(report: &Report, request: &Request) -> Option<Diagnosis> {
    let blocks = request.blocks.as_ref()?;
    let growing: Vec<(usize, &AllocationCluster)> = blocks
        .snapshot
        .clusters
        .iter()
        .enumerate()
        .filter(|(_, cluster)| grows_steadily(&cluster.growth))
        .collect();
    let held: u64 = growing.iter().map(|(_, cluster)| cluster.bytes).sum();
    let (_, largest) = growing.first()?;
    if held < request.allocated / 4 {
        return None;
    }
    let holder = Holder::of(&growing)?;
    let line = own_frame(&holder.cluster.frames);
    let place = line.map_or_else(String::new, |(_, frame)| format!(" at {frame}"));
    let fact = |member: &str| {
        let (position, index) = (blocks.position, holder.index);
        report.cite_fact(&format!("memory_snapshots.{position}.clusters.{index}.{member}"))
    };
    let finding = Finding::new(holder.cause, holder.confidence)
        .because(format!(
            "{} that were alive grew all the time that was recorded, in {} blocks{place} among others: {}.",
            size(held),
            holder.cluster.count,
            holder.why
        ))
        .cite_all(line.and_then(|(index, _)| fact(&format!("frames.{index}"))))
        .cite_all(fact("growth"))
        .cite_all(request.proof.iter().cloned());
    Some(if holder.certain {
        finding.into()
    } else {
        who_keeps_it(largest).with(finding)
    })
}

/// What keeps memory that grows.
struct Holder<'a> {
    cause: &'static str,
    confidence: f64,
    why: &'static str,
    /// The stack that tells, and its place among the snapshot's.
    index: usize,
    cluster: &'a AllocationCluster,
    /// Nothing else does so.
    certain: bool,
}

/// Lines whose blocks grow together when a graph is kept: it saves something of every layer.
const LINES_OF_A_GRAPH: usize = 3;

impl<'a> Holder<'a> {
    fn of(growing: &[(usize, &'a AllocationCluster)]) -> Option<Self> {
        let find =
            |is_here: fn(&AllocationCluster) -> bool| growing.iter().copied().find(|(_, cluster)| is_here(cluster));
        let first = growing.first().copied();
        let of = |cause, confidence, why, certain, (index, cluster)| Self {
            cause,
            confidence,
            why,
            index,
            cluster,
            certain,
        };
        if let Some(loss) = find(is_of_loss) {
            let why = "what grew was made for the loss, so something keeps the loss of each step and its graph, as adding up losses without \
                       detaching them does";
            return Some(of("leak-loss-history", 0.7, why, true, loss));
        }
        if let Some(gradient) = find(is_of_backward) {
            let why = "what grew was made in the backward pass, so the gradients of earlier steps live on, as they do when they have a graph of \
                       their own (create_graph) or are stored";
            return Some(of("leak-create-graph-cycle", 0.6, why, false, gradient));
        }
        if let Some(made) = find(is_of_constructor) {
            let why =
                "what grew was made where modules are made, so each of them has a tensor of its own, and none goes";
            return Some(of("leak-module-buffer", 0.6, why, false, made));
        }
        if lines(growing) >= LINES_OF_A_GRAPH {
            let why = "blocks of several lines grew together, as they do when the graph of each step is kept by something that was computed \
                       from it";
            return Some(of("leak-loss-history", 0.6, why, false, first?));
        }
        let why = "nothing grew beside it, so there is no graph, and a list, a dict, a queue or a hook keeps the result of that line in every \
                   step";
        Some(of("leak-tensor-container", 0.6, why, false, first?))
    }
}

/// How many lines of the program allocated what grows.
fn lines(growing: &[(usize, &AllocationCluster)]) -> usize {
    let mut lines: Vec<&str> = growing
        .iter()
        .filter_map(|(_, cluster)| own_frame(&cluster.frames).map(|(_, frame)| frame))
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines.len()
}

/// Made while gradients were computed, by `PyTorch`'s own function for that.
fn is_of_backward(cluster: &AllocationCluster) -> bool {
    cluster
        .frames
        .iter()
        .any(|frame| frame.contains("_engine_run_backward") || frame.contains("torch/autograd/"))
}

/// Made in a constructor.
fn is_of_constructor(cluster: &AllocationCluster) -> bool {
    own_frame(&cluster.frames)
        .is_some_and(|(_, frame)| frame.starts_with("__init__ ") || frame.starts_with("register_buffer "))
}

/// Whether the innermost lines that allocated are those of a loss. Further out every training step has one.
fn is_of_loss(cluster: &AllocationCluster) -> bool {
    const WORDS: [&str; 4] = ["loss", "cross_entropy", "criterion", "nll"];
    cluster.frames.iter().take(2).any(|frame| {
        let frame = frame.to_ascii_lowercase();
        WORDS.iter().any(|word| frame.contains(word))
    })
}

/// What would tell who keeps memory that grows.
fn who_keeps_it(cluster: &AllocationCluster) -> Diagnosis {
    let place = own_frame(&cluster.frames).map_or("an unknown place", |(_, frame)| frame);
    Diagnosis::nothing().collect(
        "what holds the memory that grows",
        &format!(
            "{} in {} blocks of {place} were kept, more with every step: look at where the result of that line is stored, compare \
             torch.cuda.memory_allocated() before and after gc.collect(), and find a block's owner with gc.get_referrers",
            size(cluster.bytes),
            cluster.count
        ),
        [
            "leak-loss-history",
            "leak-tensor-container",
            "leak-create-graph-cycle",
            "leak-gc-cycle",
        ],
    )
}

/// Whether every part of the trace added about as much as the others.
fn grows_steadily(growth: &[u64]) -> bool {
    const PARTS: usize = 6;
    let added: Vec<u64> = growth.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    let total: u64 = added.iter().sum();
    let started = growth.first().copied().unwrap_or(0);
    added.len() >= PARTS && total > 4 * started && added.iter().all(|part| *part >= total / (added.len() as u64 * 3))
}
