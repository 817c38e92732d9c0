//! Minidumps of the programs that the cores are of too, with the programs themselves and with symbol files.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use whycrash_evidence::model::Trust;
use whycrash_evidence::{Artifact, Limits, Reading};
use whycrash_symbols::{Sources, Symbols};

use crate::fixtures::programs;

/// What a tool that reads DWARF writes for the two functions of the program that the crashed thread is in; the second
/// is inlined into the first.
const SYMBOL_FILE: &str = "\
MODULE Linux x86_64 5A865AB22664BC5E2A9FB3019E57AB350 n_plain_O2
INFO CODE_ID B25A865A64265EBC2A9FB3019E57AB3574972FF1
FILE 0 /src/reduce.cpp
FILE 1 /src/trainer.cpp
INLINE_ORIGIN 0 trainer::load_elem(float const*, unsigned long)
FUNC 3130 480 0 trainer::do_crash(int)
3130 480 53 1
FUNC 3630 40 0 trainer::SumReducer<float>::reduce(int)
INLINE 0 30 0 0 3640 10
3630 10 29 0
3640 10 22 0
3650 20 31 0
STACK CFI INIT 3630 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
";

pub fn dump(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../evidence/tests/fixtures/minidumps")
        .join(name)
}

fn read(name: &str, folder: &Path) -> Reading {
    let sources = Sources {
        folders: vec![folder.to_owned()],
        ..Sources::default()
    };
    Symbols::new(sources).read(&Artifact::new(name, dump(name)), &Limits::default())
}

/// Function, line, whether inlined, and trust of the first frames of the crashed thread.
fn top(reading: &Reading, count: usize) -> Vec<(&str, u32, bool, Trust)> {
    reading.evidence.threads[0]
        .frames
        .iter()
        .take(count)
        .map(|frame| {
            let function = frame.function.as_deref().unwrap_or_default();
            (function, frame.line.unwrap_or(0), frame.inline, frame.trust)
        })
        .collect()
}

#[test]
fn a_binary_unwinds_and_names() {
    let reading = read("cpp_null_worker.dmp", programs());
    assert_eq!(reading.problems, []);
    assert_eq!(
        top(&reading, 3),
        [
            ("trainer::load_elem", 22, true, Trust::Context),
            ("trainer::SumReducer<float>::reduce", 30, false, Trust::Context),
            ("trainer::do_crash", 53, false, Trust::Cfi),
        ]
    );
    let crash = reading.evidence.crash.expect("a crash");
    assert_eq!(crash.access.as_deref(), Some("read"));
    assert!(crash.instruction.is_some_and(|code| code.starts_with("f30f1000")));
    let program = &reading.evidence.modules[0];
    assert_eq!(program.symbols.as_deref(), Some("binary"));
}

#[test]
fn every_thread_is_walked() {
    let reading = read("cpp_null_worker.dmp", programs());
    for thread in &reading.evidence.threads {
        assert!(thread.frames.len() > 2, "{:?}", thread.name);
    }
    let spinner = reading
        .evidence
        .threads
        .iter()
        .flat_map(|thread| &thread.frames)
        .any(|frame| frame.function.as_deref() == Some("spinner"));
    assert!(spinner, "the other threads' functions are named");
}

#[test]
fn symbol_files_unwind_and_name_wherever_they_lie() {
    for place in [
        "n_plain_O2.sym",
        "n_plain_O2/5A865AB22664BC5E2A9FB3019E57AB350/n_plain_O2.sym",
        "any/name/at.all",
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(place);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("room");
        std::fs::write(path, SYMBOL_FILE).expect("room");
        let reading = read("cpp_null_worker.dmp", folder.path());
        assert_eq!(
            top(&reading, 3),
            [
                (
                    "trainer::load_elem(float const*, unsigned long)",
                    22,
                    true,
                    Trust::Context
                ),
                ("trainer::SumReducer<float>::reduce(int)", 30, false, Trust::Context),
                ("trainer::do_crash(int)", 53, false, Trust::Cfi),
            ],
            "{place}"
        );
        let frame = &reading.evidence.threads[0].frames[0];
        assert_eq!(frame.file.as_deref(), Some("/src/reduce.cpp"));
        assert_eq!(
            reading.evidence.modules[0].symbols.as_deref(),
            Some("symbol-file"),
            "{place}"
        );
    }
}

#[test]
fn a_symbol_file_of_another_build_is_never_used() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let other = SYMBOL_FILE.replace("5A865AB2", "00000000");
    std::fs::write(folder.path().join("n_plain_O2.sym"), other).expect("room");
    let reading = read("cpp_null_worker.dmp", folder.path());
    assert_eq!(reading.evidence.threads[0].frames[0].function, None);
    assert_eq!(reading.evidence.modules[0].symbols, None);
}

/// `cpp_wild` reads through a pointer to nothing; the address is what the instruction was about.
#[test]
fn the_access_is_told() {
    let crash = read("cpp_wild.dmp", programs()).evidence.crash.expect("a crash");
    assert_eq!(crash.address_kind.as_deref(), Some("unmapped"));
    assert_eq!(crash.access.as_deref(), Some("read"));
}

#[test]
fn nothing_is_guessed_below_the_outermost_frame() {
    let reading = read("rust_panic.dmp", programs());
    let frames = &reading.evidence.threads[0].frames;
    let last = frames.last().and_then(|frame| frame.function.as_deref());
    assert_eq!(last, Some("_start"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn damage_is_survived(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..60), head in any::<bool>()) {
        let mut bytes = std::fs::read(dump("cpp_null_worker.dmp")).expect("the dump");
        let reach = if head { 4096 } else { bytes.len() };
        for (at, byte) in damage {
            bytes[at.index(reach)] = byte;
        }
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), bytes).expect("room");
        let sources = Sources { folders: vec![programs().to_owned()], ..Sources::default() };
        Symbols::new(sources).read(&Artifact::new("damaged", file.path()), &Limits::default());
    }
}
