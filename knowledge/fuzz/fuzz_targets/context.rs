//! The collector's context.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_evidence::readers::{Input, context};
use whycrash_fuzz::{bounded, check, limits, with_artifact};

fuzz_target!(|bytes: &[u8]| {
    with_artifact("context.json", bytes, |artifact| {
        let limits = limits();
        let input = Input::open(artifact, &limits).expect("a regular file opens");
        let reading = bounded((32 << 20) + 64 * bytes.len(), || context::read(&input, &limits));
        check(reading, bytes.len(), &limits);
    });
});
