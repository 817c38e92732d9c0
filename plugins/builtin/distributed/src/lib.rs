//! Why the ranks of a job did not get together: they called different things, one was missing, or the network failed.
//!
//! What a rank says about its peers is an echo where any rank failed by itself; then the failure is another plugin's.

mod at_work;
mod divergence;
mod network;
mod refusal;
mod stacks;
mod stopped;
mod watchdogs;

use whycrash_plugin::{Diagnosis, Event, Info, Needs, Plugin, Report};

struct Distributed;

/// Every cause it can name.
const CAUSES: [&str; 27] = [
    "ddp-param-shape",
    "ddp-ready-twice",
    "ddp-unused-params",
    "dist-comm-abort-hang",
    "dist-dead-peer",
    "dist-dtype-mismatch",
    "dist-gil-hang",
    "dist-monitored-barrier",
    "dist-multi-pg-order",
    "dist-op-mismatch",
    "dist-port-in-use",
    "dist-rank-branch",
    "dist-rank-missing",
    "dist-rendezvous-timeout",
    "dist-shape-mismatch",
    "dist-slow-rank-not-hang",
    "dist-store-lost",
    "dist-uneven-inputs",
    "dl-fork-lock-deadlock",
    "hang-stopped",
    "nccl-dup-gpu",
    "nccl-ib-modify-qp",
    "nccl-ib-retry-exceeded",
    "nccl-memlock",
    "nccl-shm-too-small",
    "nccl-socket-refused",
    "nccl-version-mismatch",
];

impl Plugin for Distributed {
    fn about() -> Info {
        Info::new("distributed", env!("CARGO_PKG_VERSION"))
            .names(CAUSES)
            .needs(Needs::any_of([
                "collectives",
                "event:autograd",
                "event:collective-mismatch",
                "event:nccl-error",
                "event:nccl-warning",
                "event:python-exception",
                "event:rendezvous",
                "event:watchdog",
                "threads",
            ]))
    }

    fn diagnose(report: &Report) -> Result<Diagnosis, String> {
        // A check that says what differs is better than recordings laid side by side, and both are better than how a
        // connection ended.
        Ok(refusal::rule(report)
            .or_else(|| stopped::rule(report))
            .or_else(|| divergence::rule(report))
            .or_else(|| at_work::beyond_barrier(report))
            .or_else(|| network::rule(report))
            .or_else(|| at_work::rule(report))
            .or_else(|| network::lost(report))
            .or_else(|| watchdogs::rule(report))
            .or_else(|| stacks::rule(report))
            .unwrap_or_else(Diagnosis::nothing))
    }
}

/// Whether an event stands at the beginning of what went wrong, and ended the process.
fn counts(event: &Event) -> bool {
    event.primary && !event.survived
}

/// `rank 3`, `ranks 0, 3`.
fn ranks(ranks: &[u32]) -> String {
    let list = ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{noun} {list}")
}

whycrash_plugin::export!(Distributed);
