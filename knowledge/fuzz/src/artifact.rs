//! An input as the readers see it: a file.

use std::cell::RefCell;
use std::io::{Seek, Write};

use tempfile::NamedTempFile;
use whycrash_evidence::{Artifact, Limits};

/// Limits that small inputs reach, so that what happens at a limit is fuzzed too.
pub fn limits() -> Limits {
    Limits {
        decompressed_bytes: 8 << 20,
        resident_bytes: 1 << 20,
        spilled_bytes: 1 << 20,
        expansion_ratio: 100,
        pickle_values: 50_000,
        threads: 40,
        frames: 100,
        events: 200,
        events_of_kind: 100,
        evidence_bytes: 64 << 10,
        line_bytes: 2048,
        text_bytes: 2 << 20,
        json_bytes: 1 << 20,
        recorder_ranks: 4096,
        recorder_text_bytes: 256 << 10,
        symbol_work: 1 << 28,
    }
}

thread_local! {
    static FILE: RefCell<NamedTempFile> = RefCell::new(NamedTempFile::new().expect("a temporary file"));
}

/// Calls `read` with an artifact of these bytes. One file serves all inputs of a run.
pub fn with_artifact(name: &str, bytes: &[u8], read: impl FnOnce(&Artifact)) {
    FILE.with_borrow_mut(|file| {
        file.as_file().set_len(0).expect("emptied");
        file.rewind().expect("rewound");
        file.write_all(bytes).expect("written");
        read(&Artifact::new(name, file.path()));
    });
}
