//! Memory snapshots.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whycrash_evidence::readers::memory_snapshot;
use whycrash_fuzz::{bounded, check, limits};

fuzz_target!(|bytes: &[u8]| {
    let limits = limits();
    let allowed = (16 << 20) + 128 * limits.pickle_values + 64 * bytes.len();
    let reading = bounded(allowed, || memory_snapshot::read(bytes, "snapshot.pickle", &limits));
    for snapshot in &reading.evidence.memory_snapshots {
        assert!(snapshot.peak_allocated >= snapshot.allocated);
    }
    check(reading, bytes.len(), &limits);
});
