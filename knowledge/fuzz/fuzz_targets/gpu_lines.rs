//! GPU core dumps with the line tables of their cubins.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_fuzz::symbolicate;

fuzz_target!(|bytes: &[u8]| symbolicate(bytes, &[]));
