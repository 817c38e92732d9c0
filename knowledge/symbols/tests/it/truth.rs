//! Stacks and faults of real cores against what a debugger says, and what the programs are known to do.

use serde_json::Value;
use whycrash_evidence::model::Trust;

use crate::fixtures::{folder, read};

/// The frames of the program itself are the debugger's, in its order, for every thread the truth has.
fn check(case: &str) {
    let truth = std::fs::read(folder().join(format!("{case}.json"))).expect("the truth");
    let truth: Value = serde_json::from_slice(&truth).expect("JSON");
    let reading = read(case);
    assert_eq!(reading.problems, [], "{case}");
    for expected in truth.as_array().expect("threads") {
        let id = expected["thread"].to_string();
        let functions = expected["functions"].as_array().expect("functions");
        let thread = reading
            .evidence
            .threads
            .iter()
            .find(|thread| thread.id.to_string() == id)
            .expect("the thread");
        let found: Vec<Value> = thread
            .frames
            .iter()
            .take(functions.len())
            .map(|frame| frame.function.clone().into())
            .collect();
        assert_eq!(&found, functions, "{case}, thread {id}");
        assert_eq!(thread.crashed, expected["crashed"] == true, "{case}, thread {id}");
        let guessed = thread
            .frames
            .iter()
            .take(functions.len())
            .filter(|frame| frame.trust == Trust::Scan)
            .count();
        assert_eq!(
            guessed, 0,
            "{case}, thread {id}: no frame of a program with unwinding rules is a guess"
        );
    }
}

#[test]
fn stacks_are_the_debuggers() {
    let cases = std::fs::read_dir(folder()).expect("the fixtures").filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        name.strip_suffix(".core.zst").map(str::to_owned)
    });
    let cases: Vec<_> = cases.collect();
    assert!(cases.len() > 15, "the fixtures are there");
    for case in cases {
        check(&case);
    }
}

/// Signal, code, kind of address and access of a core.
fn fault(case: &str) -> [String; 4] {
    let crash = read(case).evidence.crash.expect("a crash");
    [crash.signal, crash.code, crash.address_kind, crash.access].map(Option::unwrap_or_default)
}

#[test]
fn faults_are_explained() {
    let cases = [
        ("cpp_null_main", ["SIGSEGV", "SEGV_MAPERR", "null", "read"]),
        ("cpp_wild_worker", ["SIGSEGV", "SEGV_MAPERR", "unmapped", "read"]),
        ("cpp_execnull", ["SIGSEGV", "SEGV_MAPERR", "null", "execute"]),
        (
            "cpp_stackoverflow",
            ["SIGSEGV", "SEGV_MAPERR", "stack-overflow", "write"],
        ),
        ("cpp_bus", ["SIGBUS", "BUS_ADRERR", "beyond-file", "write"]),
        ("cpp_fpe", ["SIGFPE", "FPE_INTDIV", "", ""]),
        ("cpp_ud2", ["SIGILL", "ILL_ILLOPN", "", ""]),
        ("rust_segv", ["SIGSEGV", "SEGV_MAPERR", "null", "read"]),
    ];
    for (case, expected) in cases {
        assert_eq!(fault(case), expected, "{case}");
    }
}

#[test]
fn frames_have_lines_and_places() {
    let reading = read("cpp_null_worker");
    let frame = &reading.evidence.threads[0].frames[0];
    assert_eq!(frame.line, Some(22));
    assert!(frame.file.as_deref().is_some_and(|file| file.ends_with("n_plain.cpp")));
    assert!(frame.inline, "load_elem is inlined");
    assert!(frame.build_id.is_some());
    assert!(frame.offset.is_some());
}

#[test]
fn a_deep_stack_is_cut_in_the_middle() {
    let thread = &read("cpp_stackoverflow").evidence.threads[0];
    assert_eq!(thread.frames.len(), 4096);
    assert_eq!(thread.frames_omitted, Some(14_975 - 4096));
    assert_eq!(
        thread.frames.last().and_then(|frame| frame.function.as_deref()),
        Some("main")
    );
}
