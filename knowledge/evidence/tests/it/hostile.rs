//! Whatever the text: no panic, and every line that is cited exists.

use std::path::Path;

use proptest::prelude::*;
use serde_json::Map;
use whycrash_evidence::model::{Event, Frame, Place};
use whycrash_evidence::readers::Lines;
use whycrash_evidence::{Artifact, Limits, merge, read, signature, title};

use crate::support::artifact;

/// Reads, merges and signs; checks every place against the text.
fn check(name: &str, bytes: &[u8]) {
    let (artifact, _keep) = artifact(name, bytes);
    let reading = read(&artifact, &Limits::default());
    let count = Lines::open(&artifact, &Limits::default()).expect("readable").count();
    let inside = |at: &Option<Place>| match at {
        Some(Place::Line([first, last])) => 1 <= *first && first <= last && *last <= count,
        _ => true,
    };
    let event_inside = |event: &Event| inside(&event.at);
    let frame_inside = |frame: &Frame| inside(&frame.at);
    assert!(
        reading.evidence.timeline.iter().all(event_inside),
        "{:#?} of {count} lines",
        reading.evidence.timeline
    );
    assert!(
        reading
            .evidence
            .threads
            .iter()
            .flat_map(|thread| &thread.frames)
            .all(frame_inside)
    );
    let merged = merge(vec![reading.evidence], Map::new());
    assert!(merged.timeline.iter().all(|event| event.echo_of != Some(event.event)));
    assert!(!title(&merged).is_empty());
    let signature = signature(&merged);
    assert_eq!(signature.key.len(), if signature.parts.is_empty() { 0 } else { 16 });
}

/// Pieces that mean something to the grammars, to be put together in any order.
const PIECES: [&str; 55] = [
    "Traceback (most recent call last):\n",
    "  + Exception Group Traceback (most recent call last):\n",
    "  +-+---------------- 1 ----------------\n",
    "    | ValueError: one\n",
    "Original Traceback (most recent call last):\n",
    "  File \"a.py\", line 7, in f\n",
    "  File \"a.py\", line 7 in f\n",
    "  [Previous line repeated 99999999999999999999 more times]\n",
    "ValueError: bad\n",
    "\nThe above exception was the direct cause of the following exception:\n\n",
    "\nDuring handling of the above exception, another exception occurred:\n\n",
    "Fatal Python error: Aborted\n\n",
    "Current thread 0xffffffffffffffffff (most recent call first):\n",
    "Extension modules: a, b (total: 2)\n",
    "terminate called after throwing an instance of 'X'\n",
    "  what():  y\n",
    "Exception raised from f at g.cpp:99999999999 (most recent call first):\n",
    "frame #18446744073709551616: f + 0x9d (0x7f in /lib/x.so)\n",
    "frame #0: f + 0x9d (0xffffffffffffffffffff in /lib/x.so)\n",
    "thread 'main' panicked at a.rs:1:2:\n",
    "   0:  0xé - f\n",
    "             at a.rs:3:4\n",
    "CUDA out of memory. Tried to allocate 99999999999999999999.00 GiB. GPU 0 has\n",
    "a.cu:1: f: block: [0,0,99999999999], thread: [0,0,0] Assertion `x` failed.\n",
    "NVRM: Xid (PCI:0000:07:00): 99999999999, pid=1, name=x\n",
    "x[1]: segfault at ffffffffffffffffff ip 0 sp 0 error 4 in a[1,ffff+2]\n",
    "Memory cgroup out of memory: Killed process 1 (x) anon-rss:18446744073709551615kB\n",
    "========= Invalid __global__ read of size 4 bytes\n",
    "=========     at f()+0x70 in a.cu:6\n",
    "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x6 at pc 0x5\n",
    "    #0 0x5 in f a.cpp:9\n",
    "Failures:\n[0]:\n",
    "  exitcode  : -2147483648 (pid: 1)\n",
    "Root Cause (first observed failure):\n",
    "NCCL error in: a.cpp:1, unhandled system error, NCCL version 2.19.3\nLast error:\n",
    "Process 1: x\nThread 2 (active): \"m\"\n    f (a.py:7)\n",
    "coredump: Detected an exception of type CUDBG_EXCEPTION_X (14)\n",
    "{\"MESSAGE\":\"Killed\",\"__REALTIME_TIMESTAMP\":\"-99999999999999999999\"}\n",
    "\r 50%|###  |\u{1b}[31m\u{1b}",
    "step 5 loss 0.5\n",
    "*** Process received signal ***\n",
    "Signal: Segmentation fault (99999999999)\n",
    "Failing at address: 0xffffffffffffffffff\n",
    "[ 0] /lib/x.so(+0xffffffffffffffffff)[0x7f]\n",
    "*** SIGSEGV (@0xffffffffffffffffff) received by PID 99999999999 (TID 0x7f) from PID 8; stack trace: ***\n",
    "    @     0x7fé f\n",
    "                       a.cc:99999999999\n",
    "[n1:9:0:9] Caught signal 99999999999 (x at address 0x)\n",
    " 0 0x1 f()  a.c:99999999999\n",
    "SIGSEGV(11), PID: 99999999999, Thread 1: \n",
    "Program received signal SIGSEGV, Segmentation fault.\n",
    "Thread 1 (Thread 0x7f (LWP 9) \"é\"):\n",
    "#0  0xffffffffffffffffff in f (x=\"é) at a.c:99999999999\n",
    "#1  <signal handler called>\n",
    "[1.5] [n1:99999999999:0] a.c:1 UCX ERROR é\n",
];

/// Tags that lines may carry.
const TAGS: [&str; 10] = [
    "",
    "[rank1]: ",
    "[rank99999999999]: ",
    "2026-13-41 25:61:61,123 ",
    "[E1399 18:37:01.8 a.cpp:1] ",
    "(W pid=99999999999) ",
    "Nov 41 09:53:46 h kernel: ",
    "[1.000] ",
    "[n1:99999999999] ",
    "[1,3]<stderr>:[n1:7] ",
];

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        check("bytes", &bytes);
    }

    #[test]
    fn any_text(text in "\\PC{0,400}") {
        check("text", text.as_bytes());
    }

    #[test]
    fn any_order_of_what_grammars_know(lines in prop::collection::vec((0..TAGS.len(), 0..PIECES.len()), 0..60)) {
        let text: String = lines.into_iter().map(|(tag, piece)| format!("{}{}", TAGS[tag], PIECES[piece])).collect();
        check("pieces", text.as_bytes());
    }
}

#[test]
fn real_logs_cut_anywhere() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/logs");
    for entry in std::fs::read_dir(folder).expect("the logs") {
        let path = entry.expect("a log").path();
        let text = std::fs::read(&path).expect("readable");
        for length in (0..text.len()).step_by(7) {
            check("cut", &text[..length]);
        }
    }
}

#[test]
fn limits_are_kept_and_named() {
    let limits = Limits {
        events: 3,
        threads: 2,
        frames: 5,
        line_bytes: 200,
        text_bytes: 100_000,
        ..Limits::default()
    };
    let frames: String = (0..20)
        .map(|n| format!("  File \"a.py\", line {n}, in f{n}\n    y()\n"))
        .collect();
    let failure = |n: u32| {
        let said = "x".repeat(5000);
        format!("Traceback (most recent call last):\n{frames}  File \"b.py\", line {n}, in g\nError{n}: {said}\n")
    };
    let text: String = (0..200).map(failure).collect();
    let (artifact, _keep) = artifact("big.log", text.as_bytes());
    let reading = read(&artifact, &limits);
    assert_eq!(
        (reading.evidence.timeline.len(), reading.evidence.threads.len()),
        (3, 2)
    );
    let thread = &reading.evidence.threads[0];
    assert_eq!((thread.frames.len(), thread.frames_omitted), (5, Some(16)));
    assert_eq!(
        thread.frames[0].function.as_deref(),
        Some("g"),
        "the innermost frames are kept"
    );
    let codes: Vec<&str> = reading.problems.iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!(
        codes,
        ["limit-line-bytes", "limit-text-bytes", "limit-events", "limit-threads"]
    );
}

#[test]
fn a_bomb_is_cut_off() {
    let text = "a line of nothing much that compresses very well indeed\n".repeat(100_000);
    let packed = zstd::encode_all(text.as_bytes(), 1).expect("zstd");
    let (bomb, _keep) = artifact("bomb.log.zst", &packed);
    let limits = Limits {
        decompressed_bytes: 1 << 20,
        ..Limits::default()
    };
    let reading = read(&bomb, &limits);
    assert_eq!(reading.problems[0].code, "limit-decompressed-bytes");
    let missing = Artifact::new("nothing", "/nonexistent/file");
    assert_eq!(read(&missing, &limits).problems[0].code, "unreadable");
}

#[test]
fn an_error_file_without_a_message() {
    let text = br#"{"message": {"errorCode": 1, "extraInfo": {"py_callstack": ""}}}"#;
    let (artifact, _keep) = artifact("error.json", text);
    let reading = read(&artifact, &Limits::default());
    assert_eq!(reading.problems[0].code, "no-message");
    assert_eq!(
        reading.evidence.timeline.len(),
        1,
        "that the worker failed is known all the same"
    );
    assert_eq!(title(&merge(vec![reading.evidence], Map::new())), "the worker failed");
}

#[test]
fn evidence_survives_being_stored() {
    let number = "1".repeat(74);
    let text =
        format!(r#"{{"whycrash_context": 1, "large": {number}, "small": 0.1e-300, "exact": 0.30000000000000004}}"#);
    let (artifact, _keep) = artifact("context.json", text.as_bytes());
    let evidence = read(&artifact, &Limits::default()).evidence;
    let stored = serde_json::to_string(&evidence).expect("JSON");
    let again: whycrash_evidence::Evidence = serde_json::from_str(&stored).expect("its own JSON");
    assert_eq!(serde_json::to_string(&again).expect("JSON"), stored);
}
