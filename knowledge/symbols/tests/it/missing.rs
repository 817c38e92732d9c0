//! What is left when symbols, or the program itself, can not be found.

use whycrash_evidence::Limits;
use whycrash_symbols::{Sources, Symbols};

use crate::fixtures::{core, programs, read};

#[test]
fn without_symbols_the_faulting_frame_stands() {
    let reading = Symbols::new(Sources::default()).read(&core("cpp_null_worker"), &Limits::default());
    let thread = &reading.evidence.threads[0];
    assert_eq!(thread.frames[0].function, None);
    assert!(
        thread.frames[0]
            .module
            .as_deref()
            .is_some_and(|module| module.ends_with("/n_plain_O2"))
    );
    assert!(thread.frames[0].offset.is_some());
}

#[test]
fn a_file_with_another_build_id_is_never_used() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::copy(programs().join("n_plain_O2_fp"), folder.path().join("n_plain_O2")).expect("a copy");
    let symbols = Symbols::new(Sources {
        folders: vec![folder.path().to_owned()],
        local_files: false,
        ..Sources::default()
    });
    let reading = symbols.read(&core("cpp_null_worker"), &Limits::default());
    assert_eq!(reading.evidence.threads[0].frames[0].function, None);
    assert!(
        reading
            .evidence
            .modules
            .iter()
            .all(|module| module.symbols.as_deref() != Some("binary"))
    );
}

#[test]
fn modules_say_where_their_symbols_are_from() {
    let source = |case: &str, name: &str| {
        let modules = read(case).evidence.modules;
        modules
            .into_iter()
            .find(|module| module.path.ends_with(name))
            .and_then(|module| module.symbols)
    };
    assert_eq!(source("cpp_null_worker", "/n_plain_O2").as_deref(), Some("binary"));
    assert_eq!(
        source("cpp_null_worker_stripped", "/n_plain_stripped").as_deref(),
        Some("debug-file")
    );
    assert_eq!(source("cpp_null_worker", "libc.so.6"), None);
}
