//! Which libraries met in one process, and which driver is below them.

mod driver;
mod twice;

use whycrash_plugin::{Diagnosis, Info, Needs, Plugin, Report};

struct Libraries;

/// Every cause it can name.
const CAUSES: [&str; 6] = [
    "abi-cudnn-mismatch",
    "abi-import-order-segv",
    "abi-nvjitlink-shadowed",
    "abi-openmp-twice",
    "env-driver-too-old",
    "seg-libnccl",
];

impl Plugin for Libraries {
    fn about() -> Info {
        Info::new("libraries", env!("CARGO_PKG_VERSION"))
            .names(CAUSES)
            .needs(Needs::any_of(["crash", "event:cuda-error", "event:python-exception"]))
    }

    fn diagnose(report: &Report) -> Result<Diagnosis, String> {
        let found = twice::rule(report).or_else(|| driver::rule(report));
        Ok(found.map_or_else(Diagnosis::nothing, Diagnosis::from))
    }
}

whycrash_plugin::export!(Libraries);
