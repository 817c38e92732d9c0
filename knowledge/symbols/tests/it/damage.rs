//! Damaged cores: whatever the bytes, a reading comes back, soon, and nothing panics.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use whycrash_evidence::{Artifact, Limits};
use whycrash_symbols::{Sources, Symbols};

use crate::fixtures::{core, programs};

/// What matters of a core: headers, notes and the first pages of memory.
const HEAD: usize = 256 << 10;

fn head() -> &'static [u8] {
    static HEAD_BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    HEAD_BYTES.get_or_init(decode_head)
}

fn decode_head() -> Vec<u8> {
    let file = std::fs::File::open(core("cpp_null_worker").path).expect("the core");
    let mut bytes = zstd::decode_all(file).expect("zstd");
    bytes.truncate(HEAD);
    bytes
}

fn read(bytes: &[u8]) -> whycrash_evidence::Reading {
    static SYMBOLS: OnceLock<Symbols> = OnceLock::new();
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), bytes).expect("room for it");
    let sources = || Sources {
        folders: vec![programs().to_owned()],
        local_files: false,
        ..Sources::default()
    };
    SYMBOLS
        .get_or_init(|| Symbols::new(sources()))
        .read(&Artifact::new("core", file.path()), &Limits::default())
}

#[test]
fn a_cut_core_says_so_and_keeps_its_threads() {
    let reading = read(head());
    assert!(reading.problems.iter().any(|problem| problem.code == "truncated"));
    assert_eq!(reading.evidence.threads.len(), 5);
    assert_eq!(
        reading.evidence.threads[0].frames[0].function.as_deref(),
        Some("trainer::load_elem")
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bytes_are_survived(flips in prop::collection::vec((0..HEAD, any::<u8>()), 1..40), keep in 64..HEAD) {
        let mut bytes = head()[..keep].to_vec();
        for (at, value) in flips {
            // Most of what can go wrong is in the first pages.
            let at = if at % 2 == 0 { at % 8192 } else { at };
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        let start = Instant::now();
        let _ = read(&bytes);
        prop_assert!(start.elapsed() < Duration::from_secs(20));
    }
}
