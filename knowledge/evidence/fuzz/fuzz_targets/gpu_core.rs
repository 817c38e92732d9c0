//! GPU core dumps.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_evidence::readers::gpu_core;
use whycrash_evidence_fuzz::{bounded, check, limits, with_artifact};

fuzz_target!(|bytes: &[u8]| {
    with_artifact("core.nvcudmp", bytes, |artifact| {
        let limits = limits();
        let open = || std::fs::File::open(&artifact.path).expect("the file is there");
        let allowed = (32 << 20) + 64 * bytes.len();
        let reading = bounded(allowed, || gpu_core::read_file(open(), &artifact.name, &limits));
        check(reading, bytes.len(), &limits);
        bounded(allowed, || gpu_core::images(open(), &limits));
    });
});
