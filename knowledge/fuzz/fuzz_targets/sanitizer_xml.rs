//! compute-sanitizer's XML.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_evidence::readers::{Input, sanitizer_xml};
use whycrash_fuzz::{bounded, check, check_text, limits, with_artifact};

fuzz_target!(|bytes: &[u8]| {
    with_artifact("memcheck.xml", bytes, |artifact| {
        let limits = limits();
        let input = Input::open(artifact, &limits).expect("a regular file opens");
        let reading = bounded((32 << 20) + 128 * bytes.len(), || sanitizer_xml::read(&input, &limits));
        check_text(&reading, artifact, &limits);
        check(reading, bytes.len(), &limits);
    });
});
