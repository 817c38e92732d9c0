//! A Breakpad symbol file, and the minidump that its module is in.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_fuzz::{split, symbolicate};

fuzz_target!(|bytes: &[u8]| {
    if let Some((symbols, dump)) = split(bytes) {
        symbolicate(dump, &[("trainer.sym", symbols)]);
    }
});
