//! Reports of sanitizers and launchers.

use whycrash_evidence::model::EventPayload;

use super::{evidence, functions};
use crate::support::exceptions;

#[test]
fn sanitizer_reports() {
    let asan = "=================================================================\n==26609==ERROR: AddressSanitizer: heap-use-after-free on address 0x604000000020 at pc 0x559e bp 0x7ffc sp 0x7ffc\nREAD of size 4 at 0x604000000020 thread T0\n    #0 0x559e540e9448 in score(Sample const*) /src/san.cpp:9\n    #1 0x559e540e998b in main /src/san.cpp:15:3\n\n0x604000000020 is located 16 bytes inside of 36-byte region [0x604000000010,0x604000000034)\nfreed by thread T0 here:\n    #0 0x7fe8fa6ba3c8 in operator delete(void*) /src/libsanitizer/asan/asan_new_delete.cpp:164\n==26609==ABORTING\n";
    let memcheck = "========= COMPUTE-SANITIZER\n========= Invalid __global__ read of size 4 bytes\n=========     at scaleArray(float *, float)+0x70 in writeValidMem.cu:6\n=========     by thread (255,0,0) in block (3,0,0)\n=========     Address 0x74b834000ffc is out of bounds\n=========     and is 1 bytes after the nearest allocation at 0x74b834000000 of size 4,092 bytes\n=========     Saved host backtrace up to driver entry point at kernel launch time\n=========         Host Frame: main [0x8ae3] in cs\n========= \n";
    let ubsan =
        "san.cpp:18:66: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'\n";
    let tsan = "==================\nWARNING: ThreadSanitizer: data race (pid=26614)\n  Read of size 4 at 0x5555555590e4 by thread T2:\n    #0 operator() /src/san.cpp:19 (san_tsan+0x22d0)\n    #1 <null> <null> (libstdc++.so.6+0xd44a2)\n==================\n";
    for (text, tool, error, function, line, frames) in [
        (
            asan,
            "asan",
            "heap-use-after-free",
            Some("score(Sample const*)"),
            Some(9),
            2,
        ),
        (
            memcheck,
            "compute-sanitizer",
            "Invalid __global__ read",
            Some("scaleArray(float *, float)"),
            Some(6),
            1,
        ),
        (
            ubsan,
            "ubsan",
            "signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'",
            None,
            Some(18),
            0,
        ),
        (tsan, "tsan", "data race", Some("operator()"), Some(19), 2),
    ] {
        let evidence = evidence(text);
        let [event] = &evidence.timeline[..] else {
            panic!("{evidence:#?}")
        };
        let EventPayload::Sanitizer(report) = &event.payload else {
            panic!("{event:#?}")
        };
        assert_eq!((report.tool.as_str(), report.error.as_str()), (tool, error));
        assert_eq!((report.function.as_deref(), report.line), (function, line));
        assert_eq!(
            evidence.threads.first().map_or(0, |thread| thread.frames.len()),
            frames,
            "{text}"
        );
    }
    let twice = evidence(&memcheck.repeat(3));
    let EventPayload::Sanitizer(report) = &twice.timeline[0].payload else {
        panic!("{twice:#?}")
    };
    assert_eq!(
        (report.count, report.block, report.thread),
        (3, Some([3, 0, 0]), Some([255, 0, 0]))
    );
}

#[test]
fn torchelastic_reports_every_worker() {
    let text = "============================================================\ntrain.py FAILED\n------------------------------------------------------------\nFailures:\n[1]:\n  time      : 2026-11-21_09:53:46\n  host      : node1\n  rank      : 4 (local_rank: 0)\n  exitcode  : -15 (pid: 29087)  (SIGTERM)\n  error_file: <N/A>\n  traceback : Signal 15 (SIGTERM) received by PID 29087\n------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n  time      : 2026-11-21_09:53:45\n  host      : node1\n  rank      : 5 (local_rank: 1)\n  exitcode  : 137 (pid: 29088)\n  error_file: /tmp/e/error.json\n  traceback : Traceback (most recent call last):\n      File \"x.py\", line 1, in f\n    ValueError: bad\n============================================================\n";
    let evidence = evidence(text);
    let failures: Vec<_> = evidence
        .timeline
        .iter()
        .filter_map(|event| match &event.payload {
            EventPayload::ElasticFailure(failure) => Some((event.rank, event.pid, failure)),
            _ => None,
        })
        .collect();
    let [(Some(4), Some(29087), first), (Some(5), Some(29088), second)] = failures[..] else {
        panic!("{evidence:#?}")
    };
    assert_eq!((first.signal.as_deref(), first.root), (Some("SIGTERM"), false));
    assert_eq!(
        (second.signal.as_deref(), second.root, second.local_rank),
        (Some("SIGKILL"), true, Some(1))
    );
    assert_eq!(second.error_file.as_deref(), Some("/tmp/e/error.json"));
}

#[test]
fn error_files_are_read_with_their_traceback() {
    let json = r#"{"message": {"message": "ValueError: bad batch", "extraInfo": {"py_callstack": "Traceback (most recent call last):\n  File \"t.py\", line 3, in main\n    f()\nValueError: bad batch\n", "timestamp": "1795253134"}}}"#;
    let evidence = evidence(json);
    assert_eq!(exceptions(&evidence)[0].message, "bad batch");
    assert_eq!(functions(&evidence.threads[0]), ["main"]);
    assert_eq!(evidence.timeline[0].time.as_deref(), Some("2026-11-21T09:25:34Z"));
    let plain = self::evidence(r#"{"message": "ValueError: bad batch", "timestamp": "1795253134"}"#);
    assert_eq!(exceptions(&plain)[0].exception, "ValueError");
}
