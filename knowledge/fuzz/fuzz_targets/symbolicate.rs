//! A whole crash, both halves damaged: a binary, and the core that maps it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_fuzz::{split, symbolicate};

fuzz_target!(|bytes: &[u8]| {
    if let Some((program, core)) = split(bytes) {
        symbolicate(core, &[("trainer", program)]);
    }
});
