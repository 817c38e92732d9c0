//! Grouping: what stays the same, and what must not.

use serde_json::Map;
use whycrash_evidence::model::{
    AllocationCluster, Crash, Event, EventPayload, Frame, MemorySnapshot, OomRequest, SnapshotOom, Thread, ThreadId,
};
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
        holds_gil: false,
        activity: None,
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
        (
            of_text(&traceback("ValueError: bad batch")),
            "ValueError in t.py:1: bad batch",
        ),
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
      "version": 2,
      "key": "1c8086ade1a714ff",
      "parts": [
        "ValueError",
        "step (t.py)"
      ],
      "why": "the type of the first exception that was not survived, and the one function on its stack that is not machinery"
    }
    "#);
}

/// A report that is nothing but a memory snapshot with a failed request.
fn of_snapshot(asked: &[&str], held: &[&str]) -> Evidence {
    let owned = |frames: &[&str]| frames.iter().map(|frame| (*frame).to_owned()).collect();
    let what = EventPayload::SnapshotOom(SnapshotOom {
        requested: 2 << 30,
        ..SnapshotOom::default()
    });
    let event = Event {
        artifact: "snapshot.pickle".to_owned(),
        ..Event::new(what)
    };
    let snapshot = MemorySnapshot {
        artifact: "snapshot.pickle".to_owned(),
        oom: Some(OomRequest {
            requested: 2 << 30,
            frames: owned(asked),
            ..OomRequest::default()
        }),
        clusters: vec![AllocationCluster {
            frames: owned(held),
            ..AllocationCluster::default()
        }],
        ..MemorySnapshot::default()
    };
    let evidence = Evidence {
        timeline: vec![event],
        memory_snapshots: vec![snapshot],
        ..Evidence::default()
    };
    merge(vec![evidence], Map::new())
}

#[test]
fn a_request_that_only_a_snapshot_tells_of_is_grouped_by_who_asked() {
    let operator = "at::_ops::empty_memory_format::call(c10::ArrayRef<c10::SymInt>)";
    let logits = of_snapshot(&[operator, "logits (/job/train.py:52)", "step (/job/train.py:88)"], &[]);
    let moved = of_snapshot(
        &[operator, "logits (/home/b/train.py:54)", "step (/home/b/train.py:90)"],
        &[],
    );
    let attend = of_snapshot(&[operator, "attend (/job/train.py:31)", "step (/job/train.py:88)"], &[]);
    assert_eq!(
        signature(&logits).parts,
        ["GPU out of memory", "logits (train.py)", "step (train.py)"]
    );
    assert_eq!(signature(&logits).key, signature(&moved).key);
    assert_ne!(signature(&logits).key, signature(&attend).key);
    assert_eq!(
        title(&logits),
        "GPU 0 out of memory: tried to allocate 2.00 GiB in logits"
    );
    let traceback = "Traceback (most recent call last):\n  File \"/job/train.py\", line 88, in step\n    a()\n  \
                     File \"/job/train.py\", line 52, in logits\n    b()\ntorch.OutOfMemoryError: CUDA out of memory. \
                     Tried to allocate 2.00 GiB. GPU 0 has\n";
    assert_eq!(
        signature(&of_text(traceback)).key,
        signature(&logits).key,
        "a log of the same failure is of the same group"
    );
    let cache = of_snapshot(&[], &["cache_features (/job/train.py:74)"]);
    assert_eq!(
        signature(&cache).parts,
        ["GPU out of memory", "held by cache_features (train.py)"]
    );
}

#[test]
fn reports_without_a_failure_belong_to_no_group() {
    let ended = Evidence {
        crash: Some(Crash {
            exit_code: Some(0),
            ..Crash::default()
        }),
        ..Evidence::default()
    };
    for healthy in [of_text("all went well\n"), Evidence::default(), ended] {
        let signature = signature(&healthy);
        assert_eq!(
            (signature.key.as_str(), signature.parts.len()),
            ("", 0),
            "{signature:?}"
        );
        assert_eq!(title(&healthy), "no failure found");
    }
}

#[test]
fn the_programs_own_frame_leads() {
    let faulted = |last: &str| {
        of_text(&format!(
            "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f60b8d68b80 (most recent call first):\n{last}  \
             File \"/job/train.py\", line 12 in load_label\n  File \"/job/train.py\", line 40 in <module>\n"
        ))
    };
    let ctypes = faulted("  File \"/usr/lib/python3.12/ctypes/__init__.py\", line 519 in string_at\n");
    assert_eq!(title(&ctypes), "SIGSEGV in load_label");
    assert_eq!(
        signature(&ctypes).parts,
        ["SIGSEGV", "load_label (train.py)", "<module> (train.py)"]
    );
    let numpy = faulted("  File \"/venv/lib/python3.12/site-packages/numpy/core/io.py\", line 7 in loads\n");
    assert_eq!(title(&numpy), "SIGSEGV in load_label, calling loads");
    let copied = of_core("SIGSEGV", &["__memmove_avx_unaligned_erms", "decode_one", "main"], 0);
    assert_eq!(title(&copied), "SIGSEGV in decode_one");
    assert_eq!(signature(&copied).parts, ["SIGSEGV", "decode_one"]);
    let freed = of_core(
        "SIGABRT",
        &["raise", "abort", "unlink_chunk", "_int_free", "drop(Item*)", "main"],
        0,
    );
    assert_eq!(signature(&freed).parts, ["SIGABRT", "drop"]);
    let templates = of_core(
        "SIGSEGV",
        &[
            "std::vector<int, std::allocator<int> >::operator[](unsigned long)",
            "pick(int)",
            "main",
        ],
        0,
    );
    assert_eq!(
        title(&templates),
        "SIGSEGV in pick, calling std::vector<int, std::allocator<int> >::operator[]"
    );
    let entry = of_core("SIGSEGV", &["__strlen_avx2", "main", "__libc_start_main"], 0);
    assert_eq!(title(&entry), "SIGSEGV in main");
    assert_eq!(signature(&entry).parts, ["SIGSEGV", "main"]);
}
