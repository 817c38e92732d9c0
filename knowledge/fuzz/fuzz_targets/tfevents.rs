//! Event files of `TensorBoard`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_evidence::readers::Input;
use whycrash_evidence::readers::series::tfevents;
use whycrash_fuzz::{bounded, check, limits, with_artifact};

fuzz_target!(|bytes: &[u8]| {
    with_artifact("events.out.tfevents.1.a", bytes, |artifact| {
        let limits = limits();
        let input = Input::open(artifact, &limits).expect("a regular file opens");
        let reading = bounded((32 << 20) + 128 * bytes.len(), || tfevents::read(&input, &limits));
        check(reading, bytes.len(), &limits);
    });
});
