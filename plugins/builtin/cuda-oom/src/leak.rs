//! Memory that grew from step to step until nothing was left.

use whycrash_plugin::facts::AllocationCluster;
use whycrash_plugin::{Diagnosis, Finding, Report};

use crate::request::{Request, own_frame};
use crate::size::size;

/// One stack's memory that grew from step to step until nothing was left. That something is kept is sure then; what it
/// is only the stacks that grow can tell: a loss that is kept keeps blocks of its own beside those of the layers before
/// it.
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
    let largest = growing.first()?.1;
    if held < request.allocated / 4 {
        return None;
    }
    let Some((index, loss)) = growing.iter().copied().find(|(_, cluster)| is_of_loss(cluster)) else {
        return Some(who_keeps_it(largest));
    };
    let line = own_frame(&loss.frames);
    let place = line.map_or_else(String::new, |(_, frame)| format!(" at {frame}"));
    let fact = |member: &str| {
        report.cite_fact(&format!(
            "memory_snapshots.{}.clusters.{index}.{member}",
            blocks.position
        ))
    };
    Some(
        Finding::new("leak-loss-history", 0.7)
            .because(format!(
                "{} that were alive grew all the time that was recorded, and what grew was made for the loss{place}: something keeps the loss of \
                 each step and its graph, as adding up losses without detaching them does.",
                size(held)
            ))
            .cite_all(line.and_then(|(index, _)| fact(&format!("frames.{index}"))))
            .cite_all(fact("growth"))
            .cite_all(request.proof.iter().cloned())
            .into(),
    )
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
