//! Minidumps.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_evidence::readers::minidump;
use whycrash_fuzz::{bounded, check, limits};

fuzz_target!(|bytes: &[u8]| {
    let limits = limits();
    let allowed = (32 << 20) + 64 * bytes.len();
    let reading = bounded(allowed, || minidump::read(bytes, "minidump.dmp", &limits));
    check(reading, bytes.len(), &limits);
});
