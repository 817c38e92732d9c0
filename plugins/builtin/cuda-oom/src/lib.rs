//! Why memory ran out: on the GPU, from the allocator's message and from the memory snapshot, each alone or both
//! together; and on the host, where the allocator of CPU tensors says so.

mod growth;
mod leak;
mod messages;
mod request;
mod rules;
mod scene;
mod size;

use whycrash_plugin::{Diagnosis, Info, Needs, Plugin, Report};

struct CudaOom;

/// Every cause it can name.
const CAUSES: [&str; 22] = [
    "leak-create-graph-cycle",
    "leak-loss-history",
    "leak-module-buffer",
    "leak-tensor-container",
    "oom-all-ranks-on-gpu0",
    "oom-eval-no-nograd",
    "oom-exhaustion",
    "oom-fragmentation",
    "oom-fragmentation-hint-wrong",
    "oom-gpu-memory",
    "oom-host-allocator",
    "oom-logits-spike",
    "oom-memory-fraction-limit",
    "oom-non-pytorch-memory",
    "oom-optimizer-state-step1",
    "oom-other-process",
    "oom-private-pools",
    "oom-raw-cudamalloc",
    "oom-side-stream-retention",
    "oom-size-overflow",
    "oom-stream-or-pool-split",
    "oom-va-exhausted",
];

impl Plugin for CudaOom {
    fn about() -> Info {
        Info::new("cuda-oom", env!("CARGO_PKG_VERSION"))
            .names(CAUSES)
            .needs(Needs::any_of([
                "memory-snapshots",
                "event:cuda-oom",
                "event:cuda-error",
                "event:host-oom",
                "event:python-exception",
            ]))
    }

    fn diagnose(report: &Report) -> Result<Diagnosis, String> {
        let requests = request::Request::all(report);
        if let Some(finding) = messages::rule(report, &requests) {
            return Ok(finding.into());
        }
        let Some(request) = requests.first() else {
            return Ok(Diagnosis::nothing());
        };
        Ok(rules::judge(report, request, &requests))
    }
}

whycrash_plugin::export!(CudaOom);
