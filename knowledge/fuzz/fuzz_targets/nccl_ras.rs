//! Answers of NCCL's RAS in JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_evidence::readers::{Input, nccl_ras};
use whycrash_fuzz::{bounded, check, check_text, limits, with_artifact};

fuzz_target!(|bytes: &[u8]| {
    with_artifact("ras.json", bytes, |artifact| {
        let limits = limits();
        let input = Input::open(artifact, &limits).expect("a regular file opens");
        let reading = bounded((32 << 20) + 128 * bytes.len(), || nccl_ras::read(&input, &limits));
        check_text(&reading, artifact, &limits);
        check(reading, bytes.len(), &limits);
    });
});
