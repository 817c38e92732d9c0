//! Kind detection and decompression alone: every way to the bytes gives the same bytes.
#![no_main]

use std::io::Read;

use libfuzzer_sys::fuzz_target;
use whycrash_evidence::readers::{Input, detect};
use whycrash_fuzz::{bounded, limits, with_artifact};

fuzz_target!(|bytes: &[u8]| {
    with_artifact("artifact", bytes, |artifact| {
        let limits = limits();
        let input = Input::open(artifact, &limits).expect("a regular file opens");
        detect(input.head());
        detect(bytes);
        let mut all = Vec::new();
        let torn = bounded(200 << 20, || {
            input.stream().map(|mut stream| stream.read_to_end(&mut all)).is_err()
        });
        assert!(all.len() as u64 <= limits.decompressed_bytes);
        if input.plain_file().is_some() {
            assert!(!torn && (all == bytes || bytes.len() as u64 > limits.decompressed_bytes));
        }
        assert!(all.starts_with(input.head()), "the head is the beginning");
        assert_eq!(input.head().len(), all.len().min(64 << 10), "the head is all it can be");
    });
});
