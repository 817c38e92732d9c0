//! py-spy's JSON dumps.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_evidence::readers::{Input, py_spy};
use whycrash_fuzz::{bounded, check, limits, with_artifact};

fuzz_target!(|bytes: &[u8]| {
    with_artifact("py_spy.json", bytes, |artifact| {
        let limits = limits();
        let input = Input::open(artifact, &limits).expect("a regular file opens");
        let reading = bounded((32 << 20) + 64 * bytes.len(), || py_spy::read(&input, &limits));
        check(reading, bytes.len(), &limits);
    });
});
