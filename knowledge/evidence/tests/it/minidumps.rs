//! Minidumps of the same small programs that the cores are of.

use std::path::PathBuf;

use proptest::prelude::*;
use whycrash_evidence::model::{Crash, ThreadId};
use whycrash_evidence::readers::minidump::read as read_minidump;
use whycrash_evidence::{Artifact, ArtifactKind, Evidence, Hex, Limits, read};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/minidumps")).join(name)
}

fn evidence(name: &str) -> Evidence {
    let reading = read(&Artifact::new(name, fixture(name)), &Limits::default());
    assert_eq!((reading.kind, reading.problems), (Some(ArtifactKind::Minidump), vec![]));
    reading.evidence
}

#[test]
fn the_crash_is_told() {
    for (name, signal, code, address, kind, process, pc) in [
        (
            "cpp_null_worker.dmp",
            "SIGSEGV",
            "SEGV_MAPERR",
            Some(0),
            Some("null"),
            "n_plain_O2",
            0x55ca_e9be_e648,
        ),
        (
            "cpp_wild.dmp",
            "SIGSEGV",
            "SEGV_MAPERR",
            Some(0x7dea_d000_0000),
            Some("unmapped"),
            "n_plain_O2",
            0x5632_9bb2_1648,
        ),
        (
            "cpp_abort.dmp",
            "SIGABRT",
            "SI_TKILL",
            None,
            None,
            "n_plain_O2",
            0x7fa6_1d4a_8eec,
        ),
        (
            "rust_panic.dmp",
            "SIGABRT",
            "SI_TKILL",
            None,
            None,
            "n_rust_abort",
            0x7f37_22c5_ceec,
        ),
        (
            "py_ctypes_null.dmp",
            "SIGSEGV",
            "SEGV_MAPERR",
            Some(0),
            Some("null"),
            "python3.12",
            0x7fbf_4338_5ad8,
        ),
    ] {
        let evidence = evidence(name);
        let crash = evidence.crash.unwrap();
        let expected = Crash {
            signal: Some(signal.to_owned()),
            code: Some(code.to_owned()),
            address: address.map(Hex),
            address_kind: kind.map(str::to_owned),
            process: Some(process.to_owned()),
            artifact: name.to_owned(),
            thread: crash.thread.clone(),
            pid: crash.pid,
            ..Crash::default()
        };
        assert_eq!(crash, expected);
        let thread = &evidence.threads[0];
        assert!(thread.crashed && Some(&thread.id) == crash.thread.as_ref(), "{name}");
        assert_eq!(thread.frames[0].address, Some(Hex(pc)), "{name}");
    }
}

#[test]
fn threads_and_modules_are_listed() {
    let evidence = evidence("cpp_null_worker.dmp");
    let names: Vec<_> = evidence
        .threads
        .iter()
        .map(|thread| thread.name.as_deref().unwrap_or(""))
        .collect();
    assert!(names[0].starts_with("worker-"), "{names:?}");
    assert!(
        names.contains(&"pin-memory") && names.contains(&"autograd-0"),
        "{names:?}"
    );
    assert_eq!(evidence.threads.iter().filter(|thread| thread.crashed).count(), 1);
    assert!(
        evidence
            .threads
            .iter()
            .all(|thread| matches!(thread.id, ThreadId::Os(_)) && thread.frames.len() == 1)
    );

    let frame = &evidence.threads[0].frames[0];
    assert_eq!(frame.offset, Some(Hex(0x3648)));
    let program = &evidence.modules[0];
    assert!(program.path.ends_with("n_plain_O2"));
    assert_eq!(
        program.build_id.as_deref(),
        Some("b25a865a64265ebc2a9fb3019e57ab3574972ff1")
    );
    assert_eq!(frame.build_id, program.build_id);
    assert_eq!(program.debug_id.as_deref(), Some("5A865AB22664BC5E2A9FB3019E57AB350"));
}

#[test]
fn cut_dumps_are_named() {
    let bytes = std::fs::read(fixture("cpp_abort.dmp")).unwrap();
    for length in [0, 4, 20, 31, 40, 200, bytes.len() / 4] {
        let problems = read_minidump(&bytes[..length], "cut", &Limits::default()).problems;
        assert!(!problems.is_empty(), "{length}");
    }
    let limits = Limits {
        resident_bytes: 1000,
        ..Limits::default()
    };
    let problems = read_minidump(bytes.as_slice(), "long", &limits).problems;
    assert_eq!(problems[0].code, "limit-resident-bytes");
    let limits = Limits {
        threads: 2,
        ..Limits::default()
    };
    let reading = read(&Artifact::new("many", fixture("cpp_null_worker.dmp")), &limits);
    assert_eq!(reading.problems[0].code, "limit-threads");
    assert_eq!(reading.evidence.threads.len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn damage_is_survived(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..60), head in any::<bool>()) {
        let mut bytes = std::fs::read(fixture("rust_panic.dmp")).unwrap();
        let reach = if head { 400 } else { bytes.len() };
        for (at, byte) in damage {
            let place = at.index(reach);
            bytes[place] = byte;
        }
        read_minidump(bytes.as_slice(), "damaged", &Limits::default());
    }
}
