//! Archives, whatever is in them: unpacking one costs what its limits allow, and every member has a name of its own.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use whycrash_fuzz::{bounded, limits, with_artifact};
use whycrash_reading::{Input, Reader, ReportLimits};
use whycrash_symbols::Sources;

/// Bytes that the window of a decompressor takes at most.
const WINDOW: usize = 132 << 20;

fuzz_target!(|bytes: &[u8]| {
    with_artifact("a", bytes, |artifact| {
        let report_limits = ReportLimits {
            members: 16,
            unpacked_bytes: 1 << 20,
            core_bytes: 4 << 20,
            ..ReportLimits::default()
        };
        let reader = Reader::new(Sources::default(), limits(), report_limits);
        let input = Input {
            artifacts: vec![artifact.clone().with_sha256("0")],
            ..Input::default()
        };
        let report = bounded(WINDOW + (128 << 20), || reader.read(&input));
        let heads = &report.head.artifacts;
        assert!(heads.len() <= 17, "no more members than are allowed");
        let names: HashSet<&str> = heads.iter().map(|head| head.name.as_str()).collect();
        assert_eq!(names.len(), heads.len(), "names are distinct");
        for head in heads.iter().skip(1) {
            let archive = head.archive.as_deref().expect("a member is one of an archive");
            let path = head.name.strip_prefix(archive).and_then(|rest| rest.strip_prefix('/'));
            let path = path.expect("its name begins with the archive's");
            assert!(path.split('/').all(|part| !matches!(part, "" | "." | "..")), "{path:?}");
            assert!(!path.chars().any(char::is_control), "{path:?}");
        }
    });
});
