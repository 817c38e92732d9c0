//! What an artifact is, told from its content.

use whycrash_evidence::ArtifactKind::{self, *};
use whycrash_evidence::{Limits, read};

use crate::support::{artifact, compressed};

fn elf(e_type: u8, machine: u8) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(64, 0);
    bytes[16] = e_type;
    bytes[18] = machine;
    bytes
}

fn check(bytes: &[u8], expected: ArtifactKind) {
    let (plain, _keep) = artifact("artifact", bytes);
    assert_eq!(
        read(&plain, &Limits::default()).kind,
        Some(expected),
        "{:?}",
        String::from_utf8_lossy(bytes)
    );
    for (name, packed) in compressed(bytes) {
        let (packed, _keep) = artifact(name, &packed);
        assert_eq!(read(&packed, &Limits::default()).kind, Some(expected), "{name}");
    }
}

#[test]
fn kind_is_told_from_content() {
    for (bytes, kind) in [
        (elf(4, 62).as_slice(), ElfCore),
        (&elf(4, 190), GpuCore),
        (&elf(3, 62), Unknown),
        (b"\x7fELF", Unknown),
        (b"MDMP\x93\xa7\x00\x00", Minidump),
        (
            b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x08segments\x94]",
            MemorySnapshot,
        ),
        (b"\x80\x02}q\x00(X\x09\x00\x00\x00pg_configq\x01}", FlightRecorder),
        (b"\x80\x04K\x01.", Unknown),
        (
            br#"{"version": "2.10", "pg_config": {}, "pg_status": {}}"#,
            FlightRecorder,
        ),
        (
            br#"{"message": {"message": "ValueError: x", "extraInfo": {"py_callstack": ""}}}"#,
            ElasticError,
        ),
        (
            br#"{"message": "ValueError: x", "timestamp": "1795253134"}"#,
            ElasticError,
        ),
        (br#"{"whycrash_context": 1, "command": ["python"]}"#, Context),
        (br#"{"some": "json"}"#, Log),
        (b"epoch 1 loss 0.5\n", Log),
        ("\u{feff}größer als \u{1b}[31mrot\u{1b}[0m\n".as_bytes(), Log),
        (&[0, 1, 2, 3, 0xff, 0xfe, 0x99, 0], Unknown),
        (b"", Empty),
    ] {
        check(bytes, kind);
    }
}

#[test]
fn what_can_not_be_read_is_named() {
    let text = "a line of text that compresses well\n".repeat(10_000);
    for (name, packed) in compressed(text.as_bytes()) {
        for length in [5, 9] {
            let (cut, _keep) = artifact(name, &packed[..length]);
            let problems = read(&cut, &Limits::default()).problems;
            assert!(!problems.is_empty(), "{name} cut to {length} bytes");
        }
    }
    let (missing, file) = artifact("gone", b"x");
    drop(file);
    assert_eq!(read(&missing, &Limits::default()).problems[0].code, "unreadable");
    let folder = whycrash_evidence::Artifact::new("folder", std::env::temp_dir());
    assert!(!read(&folder, &Limits::default()).problems.is_empty());
}

#[test]
fn a_microdump_is_named_and_what_stands_around_it_is_read() {
    let log = "step 1\nI/google-breakpad( 77): -----BEGIN BREAKPAD MICRODUMP-----\nV trainer:1.0\nO L x86_64 04 x86_64\n\
               S 0 7FFC 7FFC 00\n-----END BREAKPAD MICRODUMP-----\nSegmentation fault (core dumped)\n";
    let (text, _keep) = artifact("stderr.txt", log.as_bytes());
    let reading = read(&text, &Limits::default());
    assert_eq!(reading.kind, Some(Log));
    let [problem] = reading.problems.as_slice() else {
        panic!("{:?}", reading.problems);
    };
    assert_eq!(problem.code, "microdump");
    assert!(problem.message.contains("send the minidump"), "{}", problem.message);
    assert!(problem.at.is_some());
    assert_eq!(reading.evidence.timeline.len(), 1, "the way it ended is read");
    let (mention, _keep) = artifact("notes.txt", b"grep for -----BEGIN BREAKPAD MICRODUMP----- in logcat\n");
    assert!(read(&mention, &Limits::default()).problems.is_empty());
}

#[test]
fn a_hole_in_a_log_is_no_other_format() {
    let failure = "step 1 loss 2\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\nOSError: x\n";
    for (before, hole) in [("nohup: ignoring input\n", 54_494), ("", 300 << 10), ("", 20)] {
        let bytes = [before.as_bytes(), &vec![0; hole], failure.as_bytes()].concat();
        check(&bytes, Log);
        let (log, _keep) = artifact("log", &bytes);
        let timeline = read(&log, &Limits::default()).evidence.timeline;
        assert_eq!(timeline.len(), 1, "{hole} NULs: {timeline:?}");
    }
    check(&vec![0; 70 << 10], Unknown);
}
