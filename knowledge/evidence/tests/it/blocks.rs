//! Things that span lines: tracebacks, dumps, reports.

use whycrash_evidence::Evidence;
use whycrash_evidence::model::{EventPayload, FrameKind, Place, Thread};

use crate::support::{evidence_of, exceptions};

fn evidence(text: &str) -> Evidence {
    evidence_of("train.log", text)
}

/// The functions of a stack, innermost first.
fn functions(thread: &Thread) -> Vec<&str> {
    thread
        .frames
        .iter()
        .map(|frame| frame.function.as_deref().unwrap_or("?"))
        .collect()
}

#[test]
fn a_traceback_is_a_stack_innermost_first() {
    let evidence = evidence(
        "epoch 1\nTraceback (most recent call last):\n  File \"/a/train.py\", line 9, in <module>\n    main(1)\n    ~~~~^^^\n  File \"/a/train.py\", line 7, in main\n    raise ValueError(\n    ...<2 lines>...\n    )\nValueError: bad batch\nbye\n",
    );
    let [exception] = exceptions(&evidence)[..] else {
        panic!("{evidence:#?}")
    };
    assert_eq!(
        (exception.exception.as_str(), exception.message.as_str()),
        ("ValueError", "bad batch")
    );
    let [thread] = &evidence.threads[..] else {
        panic!("{evidence:#?}")
    };
    assert_eq!(functions(thread), ["main", "<module>"]);
    assert!(thread.crashed);
    let frame = &thread.frames[0];
    assert_eq!(
        (frame.file.as_deref(), frame.line, frame.kind),
        (Some("/a/train.py"), Some(7), FrameKind::Python)
    );
    assert_eq!(frame.at, Some(Place::Line([6, 6])));
    assert_eq!(evidence.timeline[0].at, Some(Place::Line([2, 10])));
}

#[test]
fn chains_say_how_one_exception_follows_from_another() {
    let one = |name: &str| {
        format!("Traceback (most recent call last):\n  File \"x.py\", line 1, in {name}\n    y()\n{name}Error: m\n")
    };
    let text = one("A")
        + "\nThe above exception was the direct cause of the following exception:\n\n"
        + &one("B")
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        + &one("C");
    let evidence = evidence(&text);
    let found: Vec<_> = exceptions(&evidence)
        .iter()
        .map(|e| (e.exception.as_str(), e.relation.as_deref()))
        .collect();
    assert_eq!(
        found,
        [("AError", Some("cause")), ("BError", Some("context")), ("CError", None)]
    );
    let crashed: Vec<bool> = evidence.threads.iter().map(|thread| thread.crashed).collect();
    assert_eq!(crashed, [false, false, true]);
}

#[test]
fn messages_of_several_lines_are_kept_where_they_are_known() {
    let text = "Traceback (most recent call last):\n  File \"x.py\", line 1, in f\n    y()\nRuntimeError: CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously reported at some other API call.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n\nnext run starts\n";
    let evidence = evidence(text);
    assert_eq!(exceptions(&evidence)[0].message.lines().count(), 3);
    assert_eq!(evidence.timeline[0].at, Some(Place::Line([1, 6])));
}

#[test]
fn what_stands_around_a_traceback_says_whose_it_is() {
    let body = "Traceback (most recent call last):\n  File \"x.py\", line 1, in f\n    y()\nKeyError: 'k'\n";
    for (before, process, ignored) in [
        (
            "Exception in thread Thread-3 (_pin_memory_loop):\n",
            Some("Thread-3 (_pin_memory_loop)"),
            false,
        ),
        ("Process SpawnProcess-1:\n", Some("Process SpawnProcess-1"), false),
        ("Exception ignored in: <function X.__del__ at 0x7f>\n", None, true),
        (
            "ERROR:asyncio:Task exception was never retrieved\nfuture: <Task finished coro=<push() done>>\n",
            None,
            true,
        ),
        ("ERROR:root:could not save\n", None, false),
        ("\r 50%|#####     | 5/10 [00:00<00:00]", None, false),
    ] {
        let evidence = evidence(&format!("{before}{body}"));
        let [exception] = exceptions(&evidence)[..] else {
            panic!("{before:?} gave {evidence:#?}")
        };
        assert_eq!(
            (exception.process.as_deref(), exception.ignored),
            (process, ignored),
            "{before:?}"
        );
        assert_eq!(evidence.threads[0].crashed, !ignored);
    }
}

#[test]
fn a_workers_own_traceback_inside_the_parents_is_a_stack_of_its_own() {
    let evidence = evidence(
        "Traceback (most recent call last):\n  File \"t.py\", line 1, in main\n    x\n  File \"torch/_utils.py\", line 4, in reraise\n    raise exception\nValueError: Caught ValueError in DataLoader worker process 1.\nOriginal Traceback (most recent call last):\n  File \"w.py\", line 3, in fetch\n    y\n  File \"d.py\", line 2, in decode\n    z\nValueError: truncated JPEG\n",
    );
    let relations: Vec<_> = exceptions(&evidence)
        .iter()
        .map(|exception| exception.relation.as_deref())
        .collect();
    assert_eq!(relations, [Some("original"), None]);
    assert_eq!(functions(&evidence.threads[1]), ["decode", "fetch"]);
}

#[test]
fn groups_have_a_stack_per_member() {
    let text = "  + Exception Group Traceback (most recent call last):\n  |   File \"g.py\", line 3, in <module>\n  |     raise ExceptionGroup('outer', es)\n  | ExceptionGroup: outer (2 sub-exceptions)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File \"g.py\", line 2, in f\n    |     raise x\n    | ValueError: one\n    +---------------- 2 ----------------\n    | TypeError: two\n    +------------------------------------\n";
    let evidence = evidence(text);
    let found: Vec<_> = exceptions(&evidence)
        .iter()
        .map(|e| (e.exception.as_str(), e.relation.as_deref()))
        .collect();
    assert_eq!(
        found,
        [
            ("ExceptionGroup", Some("group")),
            ("ValueError", None),
            ("TypeError", None)
        ]
    );
    assert!(evidence.threads[1].crashed);
}

#[test]
fn deep_recursion_is_counted_not_expanded() {
    let mut text = "Traceback (most recent call last):\n".to_owned();
    text += &"  File \"r.py\", line 2, in walk\n    walk()\n".repeat(3);
    text += "  [Previous line repeated 996 more times]\nRecursionError: maximum recursion depth exceeded\n";
    let thread = &evidence(&text).threads[0];
    assert_eq!((thread.frames.len(), thread.frames_omitted), (3, Some(996)));
}

#[test]
fn syntax_errors_have_no_function() {
    let text = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    import b\n  File \"b.py\", line 3\n    def f(:\n          ^\nSyntaxError: invalid syntax\n";
    let evidence = evidence(text);
    assert_eq!(functions(&evidence.threads[0]), ["?", "<module>"]);
    assert_eq!(exceptions(&evidence)[0].message, "invalid syntax");
}

#[test]
fn interleaved_ranks_are_untangled() {
    let lines = |rank: u32| {
        let lines = [
            "Traceback (most recent call last):".to_owned(),
            format!("  File \"train.py\", line {}, in step{rank}", 10 + rank),
            "    loss.backward()".to_owned(),
            format!("ValueError: rank {rank} failed"),
            format!("second line of {rank}"),
        ];
        lines.map(|line| format!("[rank{rank}]: {line}\n"))
    };
    let text: String = lines(0)
        .into_iter()
        .zip(lines(1))
        .zip(lines(2))
        .flat_map(|((a, b), c)| [a, b, c])
        .collect();
    let evidence = evidence(&text);
    let mut found: Vec<_> = exceptions(&evidence)
        .iter()
        .map(|exception| exception.message.clone())
        .collect();
    found.sort();
    let expected = [0, 1, 2].map(|rank| format!("rank {rank} failed\nsecond line of {rank}"));
    assert_eq!(found, expected);
    for thread in &evidence.threads {
        assert_eq!(functions(thread), [format!("step{}", thread.rank.unwrap())]);
    }
}

#[test]
fn every_launchers_tags_are_taken_off() {
    let body = [
        "Traceback (most recent call last):",
        "  File \"x.py\", line 1, in f",
        "    y()",
        "KeyError: 'k'",
    ];
    for (tag, rank, pid) in [
        ("[rank3]: ", Some(3), None),
        ("[default0]:", None, None),
        ("[trainer1]:", None, None),
        ("[1,5]<stderr>:", Some(5), None),
        ("[prterun-gpu01-511@1,6]<stderr>: ", Some(6), None),
        ("gpu-17: [rank22]: ", Some(22), None),
        ("gpu-17: ", None, None),
        ("3: ", None, None),
        (" 3: ", None, None),
        ("rank7: ", Some(7), None),
        ("10:21:07.250 [rank4]: ", Some(4), None),
        ("[pod/train-worker-0/pytorch] ", None, None),
        ("trainer-1  | ", None, None),
        ("(RayTrainWorker pid=77, ip=10.0.0.1) ", None, Some(77)),
        (
            "(EngineCore_DP0 pid=78) ERROR 08-06 12:00:00 [core.py:700] ",
            None,
            Some(78),
        ),
        ("2026-11-21T09:53:46.123456789Z stderr F ", None, None),
        ("2026-11-21 09:53:46,123 ", None, None),
        ("Nov 21 09:53:46 node1 python[79]: ", None, Some(79)),
        ("\u{1b}[31m", None, None),
    ] {
        let text: String = body.iter().map(|line| format!("{tag}{line}\n")).collect();
        let evidence = evidence(&text);
        let [exception] = exceptions(&evidence)[..] else {
            panic!("{tag:?} gave {evidence:#?}")
        };
        assert_eq!(exception.message, "'k'", "{tag:?}");
        assert_eq!(
            (evidence.timeline[0].rank, evidence.timeline[0].pid),
            (rank, pid),
            "{tag:?}"
        );
        assert_eq!(functions(&evidence.threads[0]), ["f"], "{tag:?}");
    }
}

#[test]
fn a_traceback_whose_header_is_lost_is_one_when_it_names_an_error() {
    let body =
        "  File \"/a/train.py\", line 9, in main\n    step()\n  File \"/a/train.py\", line 7, in step\n    x / 0\n";
    for tag in ["", "[rank2]: "] {
        let text: String = format!("{body}ZeroDivisionError: division by zero\nbye\n")
            .lines()
            .map(|line| format!("{tag}{line}\n"))
            .collect();
        let evidence = evidence(&text);
        let [exception] = exceptions(&evidence)[..] else {
            panic!("{evidence:#?}")
        };
        assert_eq!(exception.message.lines().next(), Some("division by zero"));
        assert_eq!(functions(&evidence.threads[0]), ["step", "main"]);
        assert!(evidence.threads[0].crashed);
    }
    for after in ["", "Epoch: 3\n", "saved the stack above\n"] {
        let evidence = evidence(&format!("{body}{after}"));
        assert!(
            exceptions(&evidence).is_empty() && evidence.threads.is_empty(),
            "{after}"
        );
    }
}

#[test]
fn a_message_that_ends_in_a_colon_goes_on() {
    let evidence = evidence(
        "Traceback (most recent call last):\n  File \"t.py\", line 1, in f\n    g()\nacme.CompilerFailed: backend='fast' raised:\nImportError: cannot import name 'key'\nall done\n",
    );
    let [exception] = exceptions(&evidence)[..] else {
        panic!("{evidence:#?}")
    };
    assert_eq!(
        exception.message,
        "backend='fast' raised:\nImportError: cannot import name 'key'"
    );
}

#[test]
fn a_traceback_as_a_message_is_the_workers_own() {
    let evidence = evidence(
        "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    for batch in loader:\nKeyError: Traceback (most recent call last):\n  File \"loader.py\", line 8, in worker\n    fetch(1)\nKeyError: 'mask'\n",
    );
    let [brought, own] = exceptions(&evidence)[..] else {
        panic!("{evidence:#?}")
    };
    assert_eq!(brought.relation.as_deref(), Some("original"));
    assert_eq!((own.message.as_str(), own.relation.as_deref()), ("'mask'", None));
}

#[test]
fn tracebacks_drawn_in_a_box_are_stacks() {
    let text = "\
╭──────────────── Traceback (most recent call last) ────────────────╮
│ /home/ada/run.py:41 in <module>                                   │
│                                                                   │
│   38                                                              │
│ ❱ 41 │   main()                                                   │
│                                                                   │
│ /home/ada/.venv/lib/python3.12/site-packages/acme/loops/train.py: │
│ 209 in fit                                                        │
│                                                                   │
│ ❱ 209 │   loss = self.model(batch)                                │
╰───────────────────────────────────────────────────────────────────╯
OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU
1; 23.50 GiB total capacity; 20.00 GiB already allocated; 1.00 GiB
free; 21.00 GiB reserved in total by PyTorch)
epoch 3 was the last
";
    let evidence = evidence(text);
    let [exception] = exceptions(&evidence)[..] else {
        panic!("{evidence:#?}")
    };
    assert_eq!(exception.exception, "OutOfMemoryError");
    assert!(
        exception.message.ends_with("21.00 GiB reserved in total by PyTorch)"),
        "{exception:?}"
    );
    assert_eq!(evidence.timeline[0].at, Some(Place::Line([1, 14])));
    let EventPayload::CudaOom(oom) = &evidence.timeline[1].payload else {
        panic!("{evidence:#?}")
    };
    assert_eq!((oom.gpu, oom.free), (Some(1), Some(1 << 30)));
    assert_eq!(evidence.timeline[1].at, Some(Place::Line([12, 14])));
    assert_eq!(functions(&evidence.threads[0]), ["fit", "<module>"]);
}

#[test]
fn faulthandler_of_every_version() {
    let head = "Fatal Python error: Segmentation fault\n\n";
    let other = "Thread 0x00007f9dee3206c0 (most recent call first):\n  File \"t.py\", line 4 in beat\n  File \"/lib/threading.py\", line 1010 in run\n\n";
    let current = "Current thread 0x00007f9deeeb9b80 (most recent call first):\n  File \"a.py\", line 525 in string_at\n  File \"a \\\"b.py\", line ??? in main\n";
    let modules = "\nExtension modules: numpy._core._multiarray_umath, torch._C (total: 2)\n";
    let c_stack = "\nCurrent thread's C stack trace (most recent call first):\n  Binary file \"/lib/libtorch_cpu.so\", at sum_kernel+0x42 [0x7f1605b13b80]\n  Binary file \"/lib/libc.so.6\", at +0x3c050 [0x7f1605b13b81]\n  <truncated rest of calls>\n";
    let named = other.replace("6c0 (most", "6c0 [worker] (most");
    for (text, threads, extensions) in [
        (format!("{head}{other}{current}"), 2, 0),
        (format!("{head}{other}{current}{modules}"), 2, 2),
        (format!("{head}{named}{current}{c_stack}{modules}"), 3, 2),
        (
            format!("[rank0]: {}", format!("{head}{current}").replace('\n', "\n[rank0]: ")),
            1,
            0,
        ),
    ] {
        let evidence = evidence(&text);
        assert_eq!(evidence.threads.len(), threads, "{text}");
        let crashed = evidence
            .threads
            .iter()
            .find(|thread| thread.crashed)
            .expect("the current thread");
        assert_eq!(crashed.id.to_string(), "0x00007f9deeeb9b80");
        assert_eq!(functions(crashed), ["string_at", "main"]);
        let EventPayload::FatalPythonError(error) = &evidence.timeline[0].payload else {
            panic!("{evidence:#?}")
        };
        assert_eq!(error.signal.as_deref(), Some("SIGSEGV"));
        assert_eq!(error.extension_modules.len(), extensions);
    }
    let evidence = evidence(&format!("{head}{named}{current}{c_stack}{modules}"));
    assert_eq!(evidence.threads[0].name.as_deref(), Some("worker"));
    let native = &evidence.threads[2];
    assert_eq!(functions(native), ["sum_kernel", "?"]);
    assert_eq!(native.frames[1].offset.map(|offset| offset.0), Some(0x3c050));
}

#[test]
fn dumps_that_were_cut_or_mixed_up_give_what_is_there() {
    for (text, frames) in [
        (
            "Fatal Python error: Segmentation faultFatal Python error: Segmentation fault\n\n\nCurrent thread 0x00007f1605b13b80 (most recent call first):\n  File \"b.py\", line 8 in <module>\n",
            1,
        ),
        (
            "Fatal Python error: Bus error\n\nCurrent thread 0x00007f1605b13b80 (most recent call first):\n  File \"b.py\", li",
            0,
        ),
        (
            "Fatal Python error: Aborted\n\nCurrent thread 0x00007f1605b13b80 (most recent call first):\n  <no Python frame>\n",
            0,
        ),
    ] {
        let evidence = evidence(text);
        assert!(
            matches!(evidence.timeline[0].payload, EventPayload::FatalPythonError(_)),
            "{text}"
        );
        assert_eq!(evidence.threads[0].frames.len(), frames, "{text}");
    }
    let evidence = evidence(
        "Timeout (0:00:10)!\nThread 0x00007f1605b13b80 (most recent call first):\n  File \"b.py\", line 8 in wait\n",
    );
    assert!(!evidence.threads[0].crashed, "a timer kills nothing");
}

#[test]
fn c10_stacks_name_frames_and_modules() {
    let text = "terminate called after throwing an instance of 'c10::Error'\n  what():  expected a 2-d tensor\nException raised from check_fail at /src/ext.cpp:30 (most recent call first):\nframe #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x9d (0x7f9a9e35c13d in /lib/libc10.so)\nframe #1: <unknown function> + 0xda71 (0x7f9a9d8e7a71 in /lib/ext.so)\n<omitting python frames>\nframe #28: __libc_start_main + 0x85 (0x7f9a9f245305 in /lib/libc.so.6)\n\nFatal Python error: Aborted\n";
    let evidence = evidence(text);
    let [thread] = &evidence.threads[..] else {
        panic!("{evidence:#?}")
    };
    assert_eq!(
        functions(thread),
        [
            "c10::Error::Error(c10::SourceLocation, std::string)",
            "?",
            "__libc_start_main"
        ]
    );
    assert_eq!(thread.frames[1].module.as_deref(), Some("/lib/ext.so"));
    assert_eq!(thread.frames[1].offset.map(|offset| offset.0), Some(0xda71));
    let EventPayload::NativeAbort(abort) = &evidence.timeline[0].payload else {
        panic!("{evidence:#?}")
    };
    assert_eq!((abort.function.as_deref(), abort.line), (Some("check_fail"), Some(30)));
    assert_eq!(abort.thread.as_ref(), Some(&thread.id));
}

#[test]
fn rust_backtraces_have_positions() {
    let text = "\nthread 'loader-3' (432) panicked at n.rs:26:106:\nworker failed\nstack backtrace:\n   0: __rustc::rust_begin_unwind\n             at /rustc/5980/library/std/src/panicking.rs:689:5\n   1: app::crash::{{closure}}\n             at /src/n.rs:26:106\nnote: Some details are omitted\n";
    let evidence = evidence(text);
    let [thread] = &evidence.threads[..] else {
        panic!("{evidence:#?}")
    };
    assert_eq!(thread.name.as_deref(), Some("loader-3"));
    assert_eq!(
        (thread.frames[1].file.as_deref(), thread.frames[1].line),
        (Some("/src/n.rs"), Some(26))
    );
}

#[test]
fn py_spy_dumps_are_stacks() {
    let text = "Process 4711: python train.py\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread 4711 (active+gil): \"MainThread\"\n    step (train.py:7)\n    0x7f0aab1c1740 (libc.so.6)\nThread 4712 (idle): \"pin\"\n    wait (threading.py:320)\n";
    let evidence = evidence(text);
    assert_eq!(evidence.threads.len(), 2);
    assert_eq!(evidence.threads[0].pid, Some(4711));
    assert_eq!(evidence.threads[0].name.as_deref(), Some("MainThread"));
    assert_eq!(evidence.threads[0].frames[1].kind, FrameKind::Native);
    assert_eq!(evidence.threads[1].frames[0].line, Some(320));
    assert_eq!(
        (evidence.threads[0].holds_gil, evidence.threads[1].holds_gil),
        (true, false)
    );
    let json = r#"[{"pid": 4711, "thread_id": 1, "thread_name": "MainThread", "os_thread_id": 4711, "active": true, "owns_gil": true, "frames": [{"name": "step", "filename": "/a/train.py", "module": null, "short_filename": "train.py", "line": 7, "locals": null}]}]"#;
    let evidence = self::evidence(json);
    assert_eq!(functions(&evidence.threads[0]), ["step"]);
    assert_eq!(evidence.threads[0].pid, Some(4711));
    assert!(evidence.threads[0].holds_gil);
}

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

#[test]
fn a_line_of_progress_counts_whatever_words_are_in_it() {
    let line = |step| format!("iteration {step} | lm loss: 1.{step} | number of nan iterations: 0 |\n");
    let run = format!("iteration 1 | lm loss: nan |\n{}{}{}", line(2), line(3), line(4));
    let read = evidence(&run);
    assert_eq!(read.timeline.len(), 1);
    assert!(read.timeline[0].survived);
}

#[test]
fn what_goes_on_after_a_failure_is_told_in_many_ways() {
    let failure = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nPermissionError: [Errno 1] Operation not permitted\n";
    for after in [
        "100%|##########| 227/227 [1:02:29<00:00, 16.52s/it]\n  predict_runtime            = 1:02:43.09\n  predict_steps_per_second   =       0.06\n",
        "INFO r -- CALL /v1/chat/completions 400 6.7ms\nINFO r -- CALL /v1/chat/completions OK 790.4ms\nINFO r -- CALL /v1/chat/completions OK 804.9ms\n",
        "I0411 agent.py:864] [default] worker group successfully finished. Waiting 300 seconds\nstep 4\nstep 5\nstep 6\n",
    ] {
        let survived = evidence(&format!("{failure}{after}"));
        assert!(survived.timeline[0].survived, "{after}");
    }
    let restarted = "E0411 02:10:45.210000 1807 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -11) local_rank: 1 (pid: 1867) of binary: /opt/venv/bin/python\n";
    let told = evidence(&format!(
        "{restarted}step 4 loss 0.5\nstep 5 loss 0.5\nstep 6 loss 0.5\n"
    ));
    assert!(told.timeline[0].survived, "the launcher started the workers anew");
    let stopped = evidence("triton-1 | Signal (15) received.\ntriton-1 exited with code 0\n");
    assert!(stopped.timeline.iter().all(|event| event.survived));
}

#[test]
fn what_ended_well_says_so_in_many_ways() {
    let failure = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nOSError: [Errno 116] Stale file handle\n";
    let of_ci =
        "##[group]Run actions/upload\nArtifact coverage has been uploaded\nPost job\nCleaning up orphan processes\n";
    for after in [
        format!("============ 211 passed, 1 skipped, 1 warning in 26.41s =============\n{of_ci}"),
        "Number of trials: 16/16 (16 TERMINATED)\nBest hyperparameters found were: {'lr': 0.00014}\n".to_owned(),
        "[INFO] Process 1 exits successfully.\n[INFO] Process 2 exits successfully.\n[INFO] Process 3 exits successfully.\n".to_owned(),
        "{\"event\": \"iteration\", \"it\": 4}\n{\"event\": \"iteration\", \"it\": 5}\n{\"event\": \"iteration\", \"it\": 6}\n".to_owned(),
    ] {
        assert!(evidence(&format!("{failure}{after}")).timeline[0].survived, "{after}");
        assert!(!evidence(&format!("{after}{failure}")).timeline[0].survived, "{after}");
    }
    let stopped = "Signal (15) received.\nTimeout 27: Found 0 live models and 0 in-flight non-inference requests\n";
    assert!(evidence(stopped).timeline.iter().all(|event| event.survived));
    let requeued =
        "slurmstepd: error: *** STEP 20331.0 ON c12 CANCELLED AT 2024-02-27T03:58:30 DUE TO JOB REQUEUE ***\n";
    let bars = "Epoch 12: 100%|###| 2502/2502 [31:42<00:00,  1.32it/s]\n".repeat(3);
    assert!(evidence(&format!("{requeued}{bars}")).timeline[0].survived);
    assert!(!evidence(requeued).timeline[0].survived);
}

#[test]
fn a_rank_that_writes_behind_a_progress_bar_is_read_and_is_no_progress() {
    let text = "OSError: [Errno 28] No space left on device: '/tmp/pymp-m'\n\
                Epoch 9:   0%| | 1/1252 [00:02<58:30,  0.36it/s, v_num=1][rank2]:[E1229 20:29:11.5 ProcessGroupNCCL.cpp:629] [Rank 2] Some NCCL operations have failed or timed out.\n";
    let told = evidence(text);
    let kinds: Vec<_> = told.timeline.iter().map(|event| event.payload.kind()).collect();
    assert_eq!(kinds, ["python-exception", "watchdog"]);
    assert_eq!(told.timeline[1].rank, Some(2));
}

#[test]
fn a_checkpoint_that_failed_tells_what_each_rank_raised() {
    let text = "[rank12]: Traceback (most recent call last):\n[rank12]:   File \"/opt/utils.py\", line 266, in all_reduce\n[rank12]:     raise final_result\n\
                [rank12]: torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([8, 9])\n\
                [rank12]: Traceback (most recent call last): (RANK 8)\n[rank12]:   File \"/opt/filesystem.py\", line 546, in create_stream\n[rank12]:     with path.open(mode) as stream:\n\
                [rank12]: OSError: [Errno 116] Stale file handle: '/mnt/ckpt/__8_0.distcp'\n";
    let told = serde_json::to_value(evidence(text).timeline).expect("events are JSON");
    let raised: Vec<_> = told
        .as_array()
        .expect("a list")
        .iter()
        .map(|event| &event["detail"]["exception"])
        .collect();
    assert!(raised.iter().any(|name| **name == "OSError"), "{told:#}");
}

#[test]
fn a_long_stack_is_as_deep_as_the_number_of_its_last_frame() {
    let frames = |from: u64, count: u64| -> String {
        let frame = |index| format!("#{index}  0x0000555555555187 in uf_find (n=0x7ffff79d1cc0) at so.c:4\n");
        (from..from + count).map(frame).collect()
    };
    let text = format!(
        "Program received signal SIGSEGV, Segmentation fault.\n{}{}#262070 0x0000555555555242 in main () at so.c:5\n",
        frames(0, 12),
        frames(262_067, 3)
    );
    let thread = &evidence(&text).threads[0];
    assert_eq!((thread.frames.len(), thread.frames_omitted), (16, Some(262_055)));
}

#[test]
fn cuda_gdb_tells_the_exception_and_the_kernel() {
    let text = "Thread 3 \"calibrate\" received signal CUDA_EXCEPTION_14, Warp Illegal Address.\n\
                [Switching focus to CUDA kernel 1, grid 4, block (0,0,0), thread (32,0,0), device 0, sm 13, warp 15, lane 0]\n\
                0x00007fffa42afe50 in (anonymous namespace)::Calibrator::operator() (this=0x7ffff2fffb10, index=32, \n    aux=0x7ffff2fffb18)\n    at /src/Calibrate.cu:23\n\
                (cuda-gdb) bt\n#0  0x00007fffa42afe50 in (anonymous namespace)::Calibrator::operator() (this=0x7ffff2fffb10)\n\
                #1  0x00007fffa42afe90 in void run<float>(float*, int)<<<(32,1,1),(256,1,1)>>> (n=4096) at run.cu:12\n";
    let told = serde_json::to_value(evidence(text).timeline).expect("events are JSON");
    let detail = &told[0]["detail"];
    assert_eq!(told[0]["kind"], "gpu-exception");
    assert_eq!(detail["exception"], "WARP_ILLEGAL_ADDRESS");
    assert_eq!(
        (&detail["code"], &detail["device"], &detail["sm"], &detail["warp"]),
        (&14.into(), &0.into(), &13.into(), &15.into())
    );
    assert_eq!(detail["pc"], "0x7fffa42afe50");
    assert_eq!(detail["kernel"], "void run<float>(float*, int)");
}

#[test]
fn stacks_of_one_thread_at_two_times_have_two_names() {
    let dump = |line: u32| {
        format!(
            "Timeout (0:10:00)!\nThread 0x00007f7eca638b80 (most recent call first):\n  File \"/srv/train.py\", line {line} in step\n  File \"/srv/train.py\", line 9 in <module>\n"
        )
    };
    let told = evidence(&[dump(3), dump(4), dump(3)].concat());
    let names: Vec<_> = told.threads.iter().map(|thread| thread.id.to_string()).collect();
    assert_eq!(names, ["0x00007f7eca638b80", "0x00007f7eca638b80-2"]);
}

#[test]
fn a_heading_names_the_rank_of_the_dumps_below_it() {
    let dump = "Process 7: python train.py\nPython v3.11.9\n\nThread 7 (active): \"MainThread\"\n    barrier (torch/distributed/distributed_c10d.py:3866)\n";
    let told = evidence(&format!(
        "### host gpu-a14 rank 0\n{dump}=== rank 3 (pid 7) ===\n{dump}"
    ));
    let ranks: Vec<_> = told.threads.iter().map(|thread| thread.rank).collect();
    assert_eq!(ranks, [Some(0), Some(3)]);
}

#[test]
fn a_failure_with_progress_after_it_was_survived() {
    let failure = "ERROR:root:could not save checkpoint\nTraceback (most recent call last):\n  File \"x.py\", line 1, in save\n    y()\nOSError: disk full\n";
    let progress: String = (5..9).map(|step| format!("step {step} loss 0.5\n")).collect();
    let survived = evidence(&format!("step 4 loss 0.5\n{failure}{progress}"));
    assert!(survived.timeline[0].survived && !survived.threads[0].crashed);
    let fatal = evidence(&format!("{progress}{failure}cleaning up\n"));
    assert!(!fatal.timeline[0].survived && fatal.threads[0].crashed);
    let sticky = evidence(&format!(
        "RuntimeError: CUDA error: an illegal memory access was encountered\n{progress}"
    ));
    assert!(
        !sticky.timeline[0].survived,
        "the context is dead, whoever printed the steps"
    );
}

#[test]
fn each_failure_is_judged_by_the_progress_after_itself() {
    let failure = |message| {
        format!("Traceback (most recent call last):\n  File \"x.py\", line 1, in save\n    y()\nOSError: {message}\n")
    };
    let progress = |count| {
        (0..count)
            .map(|step| format!("step {step} loss 0.5\n"))
            .collect::<String>()
    };
    let log = |after| {
        evidence(&format!(
            "{}{}{}{}",
            failure("disk full"),
            progress(50),
            failure("disk gone"),
            progress(after)
        ))
    };
    let survived = |after| {
        log(after)
            .timeline
            .iter()
            .map(|event| event.survived)
            .collect::<Vec<_>>()
    };
    assert_eq!(survived(2), [true, false]);
    assert_eq!(survived(3), [true, true]);
}

/// Scripts say so whatever the program did: not of what stands right before it.
#[test]
fn what_a_program_says_at_its_end_settles_what_was_long_before() {
    let dump = "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f7965768b80 (most recent call first):\n  \
                File \"/job/probe.py\", line 3 in poke\n";
    let raised = "Traceback (most recent call last):\n  File \"/job/train.py\", line 3, in <module>\nKeyError: 'x'\n";
    let others = "checked\nloaded\nwritten\nclosed\nsent\n";
    for failure in [dump, raised] {
        let settled = evidence(&format!("{failure}{others}Training finished\n"));
        assert!(settled.timeline[0].survived && !settled.threads[0].crashed, "{failure}");
        let ended = evidence(&format!("{failure}Training finished\n"));
        assert!(!ended.timeline[0].survived && ended.threads[0].crashed, "{failure}");
    }
}

/// What glibc's handler prints, up to the stack.
fn catchsegv(signal: &str, trap: &str) -> String {
    format!(
        "*** {signal}\nRegister dump:\n\n RAX: 0000000000000041   RBX: 00007fb17c0008e0\n RIP: 00007fb19e2177c4   EFLAGS: \
         00010202\n\n CS: 0033   FS: 0000   GS: 0000\n\n Trap: {trap}   Error: 00000004   OldMask: 00000000   CR2: 00000018\n\n \
         FPUCW: 0000037f   FPUSW: 00000000   TAG: 00000000\n ST(0) 0000 0000000000000000   ST(1) 0000 0000000000000000\n \
         mxcsr: 1fa0\n\nBacktrace:\n/opt/libplan.so(_ZN4plan4nextEv+0x44)[0x7fb19e2177c4]\n/opt/train[0x55d0c21e4fad]\n"
    )
}

#[test]
fn catchsegv_tells_of_a_signal_with_its_registers() {
    let read = |text: &str| {
        let evidence = evidence(text);
        let stack = functions(evidence.threads.first().expect("a stack")).join(" ");
        let crash = evidence.crash.expect("a crash");
        (crash.signal, crash.code, crash.address.map(|at| at.0), stack)
    };
    let stack = "plan::next() ?".to_owned();
    assert_eq!(
        read(&catchsegv("Segmentation fault", "0000000e")),
        (Some("SIGSEGV".to_owned()), None, Some(0x18), stack.clone())
    );
    assert_eq!(
        read(&catchsegv("Segmentation fault", "0000000d")),
        (Some("SIGSEGV".to_owned()), Some("SI_KERNEL".to_owned()), None, stack)
    );
    let told = evidence("*** Segmentation fault\nstep 2 loss 0.1\n");
    assert!(told.crash.is_none(), "the words alone are no dump");
}

/// What Open MPI's handler prints of a process.
fn open_mpi(pid: u32, function: &str) -> Vec<String> {
    [
        "*** Process received signal ***",
        "Signal: Segmentation fault (11)",
        "Signal code: Address not mapped (1)",
        "Failing at address: 0x8",
        "[ 0] /lib/x86_64-linux-gnu/libc.so.6(+0x42520)[0x7f1111042520]",
        &format!("[ 1] /opt/ext/libgather.so({function}+0x1f)[0x7f2222042520]"),
        "*** End of error message ***",
    ]
    .map(|line| format!("[n1:{pid}] {line}\n"))
    .to_vec()
}

#[test]
fn open_mpi_tells_of_a_signal_rank_by_rank() {
    let (one, other) = (open_mpi(71, "_ZN3ext6gatherEv"), open_mpi(72, "scatter"));
    let mixed: String = one
        .iter()
        .zip(&other)
        .map(|(one, other)| format!("{one}{other}"))
        .collect();
    let evidence = evidence(&mixed);
    let stacks: Vec<_> = evidence
        .threads
        .iter()
        .map(|thread| (thread.pid, functions(thread)))
        .collect();
    assert_eq!(
        stacks,
        [(Some(71), vec!["?", "ext::gather()"]), (Some(72), vec!["?", "scatter"])]
    );
    let frame = &evidence.threads[0].frames[0];
    assert_eq!(frame.offset, Some(whycrash_evidence::Hex(0x42520)));
    let crash = evidence.crash.expect("a crash");
    assert_eq!(
        (
            crash.signal.as_deref(),
            crash.code.as_deref(),
            crash.address_kind.as_deref(),
            crash.pid
        ),
        (Some("SIGSEGV"), Some("SEGV_MAPERR"), Some("null"), Some(71))
    );
}

#[test]
fn handlers_of_signals_print_stacks() {
    let glog = "*** Aborted at 1764000000 (unix time) try \"date -d @1764000000\" if you are using GNU date ***\nPC: @                0x0 (unknown)\n*** SIGSEGV (@0x7f00deadb000) received by PID 9 (TID 0x7f11) from PID 8; stack trace: ***\n    @     0x7f1111042520 (unknown)\n    @     0x7f2222042520 ext::gather()\n";
    let abseil = "*** SIGBUS received at time=1764000000 on cpu 3 ***\nPC: @     0x7f2222042520  (unknown)  ext::gather()\n    @     0x7f1111042520       1234  (unknown)\n    @     0x7f2222042520         64  ext::gather()\n";
    let ucx = "[n1:9    :0:9] Caught signal 11 (Segmentation fault: invalid permissions for mapped object at address 0x7f00deadb000)\n==== backtrace (tid:      9) ====\n 0 0x0000000000042520 killpg()  ???:0\n 1 0x0000000000001f20 ext::gather()  /src/gather.cc:7\n=================================\n";
    let folly = "*** Aborted at 1764000000 (Unix time, try 'date -d @1764000000') ***\n*** Signal 11 (SIGSEGV) (0x7f00deadb000) received by PID 9 (pthread TID 0x7f11) (linux TID 10) (code: address not mapped to object), stack trace: ***\n    @ 0000000000a1b2c3 ext::gather(int*)\n                       /src/gather.cc:7\n    @ 0000000000a1b2d3 main\n";
    let torch = "SIGSEGV(11), PID: 9, Thread 10: \nframe #0: c10::FatalSignalHandler::fatalSignalHandler(int) + 0x6d (0x7f1111042520 in /opt/t/libc10.so)\nframe #1: ext::gather(int*) + 0x1f (0x7f2222042520 in /opt/ext/libgather.so)\n";
    let ray = "[2026-11-23 10:11:12,123 E 9 10] logging.cc:440: *** SIGSEGV received at time=1764000000 on cpu 3 ***\n[2026-11-23 10:11:12,123 E 9 10] logging.cc:440: PC: @     0x7f2222042520  (unknown)  ext::gather()\n[2026-11-23 10:11:12,124 E 9 10] logging.cc:440:     @     0x7f1111042520       1234  (unknown)\n[2026-11-23 10:11:12,124 E 9 10] logging.cc:440:     @     0x7f2222042520         64  ext::gather()\n";
    let java = "#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n#  SIGSEGV (0xb) at pc=0x00007f2222042520, pid=9, tid=10\n#\n# JRE version: OpenJDK Runtime Environment (17.0.9+9)\n# Problematic frame:\n# C  [libgather.so+0x1520]  ext_gather+0x20\n# C  [libhdfs.so+0x1620]\n#\n";
    for (text, signal, functions_told) in [
        (glog, "SIGSEGV", ["?", "ext::gather()"]),
        (abseil, "SIGBUS", ["?", "ext::gather()"]),
        (ucx, "SIGSEGV", ["killpg", "ext::gather"]),
        (folly, "SIGSEGV", ["ext::gather(int*)", "main"]),
        (
            torch,
            "SIGSEGV",
            ["c10::FatalSignalHandler::fatalSignalHandler(int)", "ext::gather(int*)"],
        ),
        (ray, "SIGSEGV", ["?", "ext::gather()"]),
        (java, "SIGSEGV", ["ext_gather", "?"]),
    ] {
        let evidence = evidence(text);
        let [thread] = &evidence.threads[..] else {
            panic!("{evidence:#?}")
        };
        assert_eq!(functions(thread), functions_told);
        let crash = evidence.crash.expect("a crash");
        assert_eq!(crash.signal.as_deref(), Some(signal));
        assert_eq!(crash.thread.as_ref(), Some(&thread.id));
        assert_ne!(crash.address_kind.as_deref(), Some("null"));
    }
}

#[test]
fn a_signal_that_others_send_is_an_exit_and_no_fault() {
    let evidence = evidence(
        "*** SIGTERM (@0x1f4) received by PID 9 (TID 0x7f11) from PID 500; stack trace: ***\n    @     0x7f1111042520 (unknown)\n",
    );
    assert!(evidence.timeline.iter().any(
        |event| matches!(&event.payload, EventPayload::ProcessExit(exit) if exit.signal.as_deref() == Some("SIGTERM"))
    ));
    assert!(evidence.crash.is_none_or(|crash| crash.address.is_none()));
}

#[test]
fn a_general_protection_fault_has_no_address() {
    let told = open_mpi(71, "gather")
        .concat()
        .replace("Address not mapped (1)", " (128)")
        .replace("0x8\n", "(nil)\n");
    let crash = evidence(&told).crash.expect("a crash");
    assert_eq!(crash.address, None);
    assert_eq!(crash.address_kind.as_deref(), Some("non-canonical"));
}

#[test]
fn an_abort_is_a_crash_without_an_address() {
    let evidence = evidence(
        "*** SIGABRT (@0x3e800000009) received by PID 9 (TID 0x7f11) from PID 9; stack trace: ***\n    @     0x7f1111042520 gsignal\n",
    );
    let crash = evidence.crash.expect("a crash");
    assert_eq!((crash.signal.as_deref(), crash.address), (Some("SIGABRT"), None));
}

/// Functions of the threads in which a program crashed, and the signal.
fn debugged(text: &str) -> (Vec<Vec<&'static str>>, Option<String>) {
    let evidence = evidence(text);
    let crashed = evidence.threads.iter().filter(|thread| thread.crashed);
    let leaked = |name: &str| -> &'static str { String::from(name).leak() };
    let names = |thread| functions(thread).into_iter().map(leaked).collect();
    (
        crashed.map(names).collect(),
        evidence.crash.and_then(|crash| crash.signal),
    )
}

#[test]
fn debuggers_list_stacks() {
    let gdb = "Thread 3 \"python\" received signal SIGSEGV, Segmentation fault.\n[Switching to Thread 0x7f11 (LWP 9)]\n0x00007f2222042520 in ext::gather (x=0x7f33) at /src/gather.cc:7\n7\t  return *x;\n(gdb) bt\n#0  0x00007f2222042520 in ext::gather (x=0x7f33) at /src/gather.cc:7\n#1  0x00007f2222042620 in ?? () from /opt/ext/libgather.so\n#2  main () at main.c:4\n";
    let handler = "Thread 1 (Thread 0x7f11 (LWP 9) \"python\"):\n#0  0x00007f1111 in wait4 () from /lib/libc.so.6\n#1  <signal handler called>\n#2  0x00007f2222042520 in ext::gather () from /opt/ext/libgather.so\n";
    let coredump = "        Signal: 11 (SEGV)\n     Timestamp: Mon 2026-11-23 10:11:12 UTC (1min ago)\n  Command Line: python train.py\n       Message: Process 9 (python) of user 0 dumped core.\n                \n                Stack trace of thread 9:\n                #0  0x00007f2222042520 _ZN3ext6gatherEv (libgather.so + 0x1520)\n                #1  0x00007f2222042620 n/a (libgather.so + 0x1620)\n                \n                Stack trace of thread 10:\n                #0  0x00007f1111042520 __poll (libc.so.6 + 0x11a520)\n";
    let journal = "Nov 23 10:11:12 n1 systemd-coredump[77]: Process 9 (python3.12) of user 0 terminated abnormally with signal 11/SEGV, processing...\nNov 23 10:11:13 n1 systemd-coredump[77]: Process 9 (python3.12) of user 0 dumped core.\n";
    assert_eq!(debugged(journal), (vec![], Some("SIGSEGV".to_owned())));
    let of_others = journal.replace("python3.12", "gnome-shell");
    assert_eq!(debugged(&of_others), (vec![], None));
    let llvm = "Stack dump:\n0.\tProgram arguments: python train.py\n #0 0x00007f2222042520 llvm::sys::PrintStackTrace(llvm::raw_ostream&, int) (/opt/t/libtriton.so+0x1520)\n #1 0x00007f2222042620 (/opt/t/libtriton.so+0x1620)\n";
    for (text, told, signal) in [
        (gdb, vec!["ext::gather", "?", "main"], Some("SIGSEGV")),
        (handler, vec!["wait4", "ext::gather"], None),
        (coredump, vec!["ext::gather()", "?"], Some("SIGSEGV")),
        (
            llvm,
            vec!["llvm::sys::PrintStackTrace(llvm::raw_ostream&, int)", "?"],
            None,
        ),
    ] {
        assert_eq!(debugged(text), (vec![told], signal.map(str::to_owned)), "{text}");
    }
}

#[test]
fn a_debugger_that_looks_at_a_program_that_lives_finds_no_crash() {
    for text in [
        "TID 9:\n#0  0x00007f1111042520 __poll\n#1  0x00007f1111042620 main\n",
        "Thread 1 (Thread 0x7f11 (LWP 9) \"python\"):\n#0  0x00007f1111 in poll () from /lib/libc.so.6\n",
        "Program received signal SIGINT, Interrupt.\n#0  0x00007f1111 in poll () from /lib/libc.so.6\n",
    ] {
        assert_eq!(debugged(text), (vec![], None));
    }
}

#[test]
fn the_frame_that_a_signal_interrupted_is_marked() {
    let ucx = "[n1:9:0:9] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x18)\n==== backtrace (tid:      9) ====\n 0  /lib/libucs.so.0(ucs_handle_error+0x2dc) [0x7f577c248e9c]\n 1  /lib/libucs.so.0(+0x2908c) [0x7f577c24908c]\n 2  /lib/libc.so.6(+0x3c050) [0x7f577c2b8050]\n 3  /opt/ext/libgather.so(gather+0xc) [0x5578e2068145]\n";
    let tagged = open_mpi(7, "gather")
        .concat()
        .replace("[n1:7] [ ", "[1,3]<stderr>:[n1:7] [1,3]<stderr>:[ ")
        .replace("] /", "] [1,3]<stderr>:/");
    let tagged: String = tagged
        .lines()
        .map(|line| match line.starts_with("[1,3]") {
            true => format!("{line}\n"),
            false => format!("[1,3]<stderr>:{line}\n"),
        })
        .collect();
    for text in [ucx, &tagged] {
        let evidence = evidence(text);
        let frames = &evidence.threads[0].frames;
        let interrupted: Vec<_> = frames.iter().filter(|frame| frame.signal).collect();
        assert_eq!(interrupted.len(), 1, "{text}{frames:#?}");
        assert_eq!(interrupted[0].function.as_deref(), Some("gather"));
    }
    assert_eq!(evidence(&tagged).threads[0].rank, Some(3));
}

#[test]
fn signals_in_the_words_of_other_runtimes() {
    for (text, signal, kind) in [
        (
            "Signal (11) received.\n 0# 0x0000561E522EA549 in tritonserver\n",
            "SIGSEGV",
            None,
        ),
        (
            "[60718] signal (11.1): Segmentation fault\nin expression starting at /a.jl:2\n",
            "SIGSEGV",
            None,
        ),
        (
            "SIGSEGV: segmentation violation\nPC=0x7180ec649a70 m=17 sigcode=1 addr=0x8\nsignal arrived during cgo execution\n",
            "SIGSEGV",
            Some("null"),
        ),
        (
            "panic: runtime error: invalid memory address\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x18 pc=0x47]\n",
            "SIGSEGV",
            Some("null"),
        ),
        (
            "     Segmentation violation detected at 2026-11-21 10:00:00 +0100\n",
            "SIGSEGV",
            None,
        ),
        (
            "[host:67   :0:70] Caught signal 11 (Segmentation fault: address not mapped to object at address (nil))\n",
            "SIGSEGV",
            Some("null"),
        ),
        (
            "  traceback : Signal 7 (SIGBUS) received by PID 3304209\n",
            "SIGBUS",
            None,
        ),
        (
            "/a/run.sh: line 6: 53306 Abort trap: 6           train --web\n",
            "SIGABRT",
            None,
        ),
        (
            "ERROR Shard process was signaled to shutdown with signal 4 rank=0\n",
            "SIGILL",
            None,
        ),
        (
            "a.c:8456: GGML_ASSERT(i01 >= 0 && i01 < ne01) failed\n",
            "SIGABRT",
            None,
        ),
        (
            "x/MPSNDArray.mm:724: failed assertion `[init] Error: too many bytes'\n",
            "SIGABRT",
            None,
        ),
    ] {
        let (artifact, _keep) = crate::support::artifact("train.log", text.as_bytes());
        let read = whycrash_evidence::read(&artifact, &whycrash_evidence::Limits::default()).evidence;
        let merged = whycrash_evidence::merge(vec![read], serde_json::Map::new());
        let crash = merged.crash.unwrap_or_else(|| panic!("no crash in {text}"));
        assert_eq!(crash.signal.as_deref(), Some(signal), "{text}");
        assert_eq!(crash.address_kind.as_deref(), kind, "{text}");
    }
}

#[test]
fn the_kernels_line_alone_tells_kinds_of_addresses() {
    for (text, kind) in [
        (
            "python3[7]: segfault at 7ffee3a84ff8 ip 00007f5ac9b12c44 sp 00007ffee3a85000 error 6 in libpython3.11.so.1.0[7f5ac9a00000+2a9000]\n",
            Some("stack-overflow"),
        ),
        (
            "traps: python[7] general protection fault ip:7fb0d37c05b4 sp:7fb05f7fd2c8 error:0 in libtorch_cpu.so[7fb0cf000000+8f3e000]\n",
            Some("non-canonical"),
        ),
        (
            "python3[7]: segfault at 7f00e3a84ff8 ip 00007f5ac9b12c44 sp 00007ffee3a85000 error 6 in libpython3.11.so.1.0[7f5ac9a00000+2a9000]\n",
            None,
        ),
    ] {
        let (artifact, _keep) = crate::support::artifact("dmesg.txt", text.as_bytes());
        let read = whycrash_evidence::read(&artifact, &whycrash_evidence::Limits::default()).evidence;
        let crash = whycrash_evidence::merge(vec![read], serde_json::Map::new()).crash;
        assert_eq!(crash.and_then(|crash| crash.address_kind).as_deref(), kind, "{text}");
    }
}
