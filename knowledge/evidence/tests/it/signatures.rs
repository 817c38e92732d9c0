//! Grouping: what stays the same, and what must not.

use serde_json::Map;
use whycrash_evidence::model::{Crash, Frame, Thread, ThreadId};
use whycrash_evidence::signature::{normalized_function, plain_function};
use whycrash_evidence::{Evidence, Hex, Limits, merge, read, signature, title};

use crate::support::artifact;

fn of_text(text: &str) -> Evidence {
    let (artifact, _keep) = artifact("stderr.txt", text.as_bytes());
    merge(vec![read(&artifact, &Limits::default()).evidence], Map::new())
}

/// Frames without a name are given by their library's path.
fn is_library(name: &str) -> bool {
    name.starts_with('/')
}

/// A core with one crashed thread; the frame after `<handler>` is the one the signal interrupted.
fn of_core(signal: &str, functions: &[&str], base: u64) -> Evidence {
    let frames = functions.iter().enumerate().map(|(index, function)| Frame {
        function: (!is_library(function)).then(|| (*function).to_owned()),
        module: Some(if is_library(function) {
            (*function).to_owned()
        } else {
            "/build/app".to_owned()
        }),
        address: Some(Hex(base + index as u64)),
        signal: index > 0 && functions[index - 1] == "faulthandler_fatal_error",
        ..Frame::default()
    });
    let thread = Thread {
        id: ThreadId::Os(7),
        name: None,
        rank: None,
        pid: None,
        crashed: true,
        artifact: "core".to_owned(),
        frames: frames.collect(),
        frames_omitted: None,
    };
    let crash = Crash {
        signal: Some(signal.to_owned()),
        thread: Some(ThreadId::Os(7)),
        artifact: "core".to_owned(),
        ..Crash::default()
    };
    Evidence {
        crash: Some(crash),
        threads: vec![thread],
        ..Evidence::default()
    }
}

#[test]
fn names_lose_what_differs() {
    for (function, normalized, plain) in [
        (
            "trainer::SumReducer<float>::reduce(float const*, long) const",
            "trainer::SumReducer::reduce",
            "trainer::SumReducer<float>::reduce",
        ),
        (
            "void at::native::(anonymous namespace)::sum<float, at::X<int> >(at::T&)",
            "at::native::{anonymous}::sum",
            "at::native::(anonymous namespace)::sum<float, at::X<int> >",
        ),
        (
            "core::ptr::read::h0123456789abcdef",
            "core::ptr::read",
            "core::ptr::read",
        ),
        (
            "std[e28293b1aa0f68bd]::panicking::begin",
            "std::panicking::begin",
            "std::panicking::begin",
        ),
        ("memcpy@@GLIBC_2.14", "memcpy", "memcpy@@GLIBC_2.14"),
        (
            "reduce_kernel.constprop.0",
            "reduce_kernel",
            "reduce_kernel.constprop.0",
        ),
        ("Foo::operator()(int) const", "Foo::operator()", "Foo::operator()"),
        ("operator<<(std::ostream&, int)", "operator<<", "operator<<"),
        ("main", "main", "main"),
    ] {
        assert_eq!(normalized_function(function), normalized, "{function}");
        assert_eq!(plain_function(function), plain, "{function}");
    }
}

#[test]
fn a_key_survives_machines_builds_and_edits() {
    let here = of_core("SIGSEGV", &["load<float>(int)", "reduce(float const*)", "main"], 0x7f00);
    let there = of_core(
        "SIGSEGV",
        &["load<double>(int)", "reduce(double const*)", "main"],
        0x5500,
    );
    assert_eq!(signature(&here).key, signature(&there).key);
    assert_eq!(signature(&here).key.len(), 16);
    assert_ne!(
        signature(&here).key,
        signature(&of_core("SIGBUS", &["load", "reduce"], 0)).key
    );
    assert_ne!(
        signature(&here).key,
        signature(&of_core("SIGSEGV", &["store", "reduce"], 0)).key
    );

    let at = |line: u32, path: &str| {
        of_text(&format!(
            "Traceback (most recent call last):\n  File \"{path}/train.py\", line {line}, in step\n    y()\nValueError: loss {line}\n"
        ))
    };
    assert_eq!(signature(&at(10, "/home/a")).key, signature(&at(12, "/mnt/b")).key);
}

#[test]
fn machinery_is_skipped() {
    let aborts = of_core(
        "SIGABRT",
        &[
            "__pthread_kill_implementation",
            "raise",
            "abort",
            "trainer::check(int)",
            "main",
            "__libc_start_main",
            "_start",
        ],
        0,
    );
    assert_eq!(signature(&aborts).parts, ["SIGABRT", "trainer::check"]);
    let handled = of_core(
        "SIGSEGV",
        &["raise", "faulthandler_fatal_error", "decode_one", "Prefetcher::loop()"],
        0,
    );
    assert_eq!(signature(&handled).parts, ["SIGSEGV", "decode_one", "Prefetcher::loop"]);
    let recursion = of_core("SIGSEGV", &["walk(int)", "walk(int)", "walk(int)", "start(int)"], 0);
    assert_eq!(signature(&recursion).parts, ["SIGSEGV", "walk", "start"]);
    let nameless = of_core("SIGSEGV", &["/usr/lib/libcuda.so", "launch()"], 0);
    assert_eq!(signature(&nameless).parts, ["SIGSEGV", "libcuda.so!?", "launch"]);
}

#[test]
fn titles_are_what_people_know_a_crash_by() {
    let traceback =
        |last: &str| format!("Traceback (most recent call last):\n  File \"t.py\", line 1, in step\n    y()\n{last}\n");
    for (evidence, expected) in [
        (
            of_core(
                "SIGSEGV",
                &["trainer::SumReducer<float>::reduce(float const*)", "main"],
                0,
            ),
            "SIGSEGV in trainer::SumReducer<float>::reduce",
        ),
        (
            of_text(&traceback(
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has",
            )),
            "torch.OutOfMemoryError: tried to allocate 2.00 GiB",
        ),
        (of_text(&traceback("ValueError: bad batch")), "ValueError: bad batch"),
        (
            of_text("free(): double free detected in tcache 2\nAborted\n"),
            "free(): double free detected in tcache 2",
        ),
        (
            of_text("a: /s/x.cpp:3: void f(): Assertion `n > 0' failed.\nAborted (core dumped)\n"),
            "assertion failed: n > 0",
        ),
        (
            of_text("terminate called after throwing an instance of 'E'\n  what():  no luck\n"),
            "E: no luck",
        ),
        (
            of_text(&traceback(
                "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed. ",
            )),
            "DataLoader worker killed: Killed",
        ),
        (
            of_text("a.cu:1: f: block: [0,0,0], thread: [0,0,0] Assertion `i < n` failed.\n"),
            "device-side assert: i < n",
        ),
        (
            of_text("NVRM: Xid (PCI:0000:04:00): 79, GPU has fallen off the bus\n"),
            "Xid 79: GPU has fallen off the bus",
        ),
        (of_text("Killed\n"), "killed by SIGKILL"),
        (of_text("all went well\n"), "no failure found"),
    ] {
        assert!(
            title(&evidence).starts_with(expected),
            "{:?} is not {expected:?}",
            title(&evidence)
        );
    }
}

#[test]
fn the_reason_is_said() {
    let text = "Traceback (most recent call last):\n  File \"t.py\", line 1, in step\n    y()\nValueError: x\n";
    insta::assert_json_snapshot!(signature(&of_text(text)), @r#"
    {
      "version": 1,
      "key": "1a46981ef75637da",
      "parts": [
        "ValueError",
        "step (t.py)"
      ],
      "why": "the type of the first exception that was not survived, and the one function on its stack that is not machinery"
    }
    "#);
}
