//! GPU core dumps.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_evidence::readers::{Input, gpu_core};
use whycrash_fuzz::{bounded, check, limits, with_artifact};

fuzz_target!(|bytes: &[u8]| {
    with_artifact("core.nvcudmp", bytes, |artifact| {
        let limits = limits();
        let input = Input::open(artifact, &limits).expect("a regular file opens");
        let allowed = (32 << 20) + 64 * bytes.len();
        let (reading, _) = bounded(allowed, || gpu_core::read_with_images(&input, &limits));
        check(reading, bytes.len(), &limits);
    });
});
