//! Jupyter notebooks.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_evidence::readers::{Input, notebook};
use whycrash_fuzz::{bounded, check, check_text, limits, with_artifact};

fuzz_target!(|bytes: &[u8]| {
    with_artifact("train.ipynb", bytes, |artifact| {
        let limits = limits();
        let input = Input::open(artifact, &limits).expect("a regular file opens");
        let reading = bounded((32 << 20) + 128 * bytes.len(), || notebook::read(&input, &limits));
        check_text(&reading, artifact, &limits);
        check(reading, bytes.len(), &limits);
    });
});
