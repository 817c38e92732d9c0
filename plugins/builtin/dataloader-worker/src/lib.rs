//! Why a `DataLoader` worker died, or why the loader could not work with its workers.
//!
//! A worker that raised an ordinary Python exception is none of this: its traceback says all there is to say.

mod death;
mod trouble;

use whycrash_plugin::{Diagnosis, Event, Info, Needs, Plugin, Report};

struct DataloaderWorker;

/// Every cause it can name.
const CAUSES: [&str; 9] = [
    "dl-fd-exhausted",
    "dl-fork-after-cuda",
    "dl-pin-thread-died",
    "dl-shm-bus-error",
    "dl-worker-abort",
    "dl-worker-exitcode",
    "dl-worker-oom-killed",
    "dl-worker-segfault",
    "fpe-integer-division",
];

impl Plugin for DataloaderWorker {
    fn about() -> Info {
        Info::new("dataloader-worker", env!("CARGO_PKG_VERSION"))
            .names(CAUSES)
            .needs(Needs::any_of([
                "event:dataloader-worker",
                "event:shared-memory",
                "event:python-exception",
                "event:cuda-error",
            ]))
    }

    fn diagnose(report: &Report) -> Result<Diagnosis, String> {
        // What the loader says about itself comes first: a worker that dies afterwards is a consequence.
        Ok(trouble::rule(report)
            .or_else(|| death::rule(report))
            .unwrap_or_else(Diagnosis::nothing))
    }
}

/// Whether the process went on after an event.
fn ended(event: &Event) -> bool {
    !event.survived
}

whycrash_plugin::export!(DataloaderWorker);
