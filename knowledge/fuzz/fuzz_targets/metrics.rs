//! Rows of numbers: CSV and lines of JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_evidence::readers::Input;
use whycrash_evidence::readers::series::table;
use whycrash_fuzz::{bounded, check, limits, with_artifact};

fuzz_target!(|bytes: &[u8]| {
    with_artifact("metrics.csv", bytes, |artifact| {
        let limits = limits();
        let input = Input::open(artifact, &limits).expect("a regular file opens");
        let reading = bounded((32 << 20) + 128 * bytes.len(), || table::read(&input, &limits));
        check(reading, bytes.len(), &limits);
    });
});
