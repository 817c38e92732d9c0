//! Any artifact, whatever its kind: detection, decompression, and whichever reader that leads to.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_fuzz::{bounded, check, limits, with_artifact};

fuzz_target!(|bytes: &[u8]| {
    with_artifact("artifact_0", bytes, |artifact| {
        let limits = limits();
        let reading = bounded(128 << 20, || whycrash_evidence::read(artifact, &limits));
        assert!(reading.kind.is_some());
        assert_eq!(reading.bytes, bytes.len() as u64);
        check(reading, bytes.len(), &limits);
    });
});
