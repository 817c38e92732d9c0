//! Stacks that handlers, profilers and debuggers print.

use whycrash_evidence::model::{EventPayload, FrameKind};

use super::{evidence, functions};

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
fn lldb_names_the_signal_the_address_and_the_frames() {
    let stopped =
        "* thread #1, name = 'bvh', stop reason = signal SIGSEGV: address not mapped to object (fault address: 0x18)\n";
    let frames = "  * frame #0: 0x0000558d1f2c41a6 bvh`split_node(this=0x00007ffd, lo=8812) at bvh.cpp:204:9\n    frame #1: 0x0000558d1f2c4391 bvh`ns::build(int)(n=3) [opt] at bvh.cpp:241\n    ...\n    frame #5239: 0x00007f21b0c29d90 libc.so.6`__libc_start_call_main + 128\n";
    let read = evidence(&format!("(lldb) bt\n{stopped}{frames}"));
    let crash = read.crash.as_ref().expect("it crashed");
    assert_eq!(crash.signal.as_deref(), Some("SIGSEGV"));
    assert_eq!(crash.address.map(|address| address.0), Some(0x18));
    let [thread] = read.threads.as_slice() else {
        panic!("{read:#?}")
    };
    assert_eq!(
        functions(thread),
        ["split_node", "ns::build(int)", "__libc_start_call_main"]
    );
    assert_eq!(thread.name.as_deref(), Some("bvh"));
    assert_eq!(thread.frames_omitted, Some(5237));
    let frame = &thread.frames[0];
    assert_eq!(
        (frame.module.as_deref(), frame.file.as_deref(), frame.line),
        (Some("bvh"), Some("bvh.cpp"), Some(204))
    );
    // A debugger stops for much that is no crash.
    let at_breakpoint = "* thread #1, name = 'bvh', stop reason = breakpoint 1.1\n";
    assert_eq!(evidence(&format!("{at_breakpoint}{frames}")).crash, None);
}

#[test]
fn gdb_tells_of_a_signal_what_it_is_asked() {
    let segv = "Program terminated with signal SIGSEGV, Segmentation fault.\n#0  0x00007f5c3b4f21c7 in remap () from ./_bpe.so\n";
    let members = "(gdb) p $_siginfo.si_code\n$1 = 2\n(gdb) p $_siginfo._sifields._sigfault.si_addr\n$2 = (void *) 0x7f5c40001000\n";
    let whole = "(gdb) p $_siginfo\n$1 = {si_signo = 11, si_errno = 0, si_code = 2, _sifields = {_pad = {1, 2}, _sigfault = {si_addr = 0x7f5c40001000, _addr_lsb = 0}}}\n";
    let mappings =
        "(gdb) info proc mappings\n      0x7f5c40000000     0x7f5cb6a00000 0x76a00000        0x0 r--s /data/ids.npy\n";
    for asked in [members, whole] {
        let crash = evidence(&format!("{segv}{asked}{mappings}")).crash.expect("it crashed");
        assert_eq!(crash.code.as_deref(), Some("SEGV_ACCERR"), "{asked}");
        assert_eq!(crash.address.map(|address| address.0), Some(0x7f5c_4000_1000));
        assert_eq!(crash.address_kind.as_deref(), Some("read-only"));
    }
    let writable = mappings.replace("r--s", "rw-s");
    let crash = evidence(&format!("{segv}{members}{writable}"))
        .crash
        .expect("it crashed");
    assert_eq!(crash.address_kind, None);
    let fpe = "Thread 1 \"python3\" received signal SIGFPE, Arithmetic exception.\n0x00007fff in kernel () from libtorch_cpu.so\n(gdb) p $_siginfo.si_code\n$1 = 7\n";
    let crash = evidence(fpe).crash.expect("it crashed");
    assert_eq!(crash.code.as_deref(), Some("FPE_FLTINV"));
}

#[test]
fn a_program_that_has_gdb_print_its_stack_gives_up_where_that_says_so() {
    let attached = "[Thread debugging using libthread_db enabled]\n__syscall_cancel_arch () at syscall_cancel.S:56\n#0  __syscall_cancel_arch () at syscall_cancel.S:56\n#1  0x000075f3f03479b3 in ggml_print_backtrace () from libggml-base.so.0\n#2  0x000075f3f0347b5b in ggml_abort () from libggml-base.so.0\n[Inferior 1 (process 7) detached]\n";
    let (_, signal) = debugged(attached);
    assert_eq!(signal.as_deref(), Some("SIGABRT"));
    let waiting = attached.replace("ggml_abort", "ggml_wait");
    assert_eq!(debugged(&waiting), (vec![], None));
}

#[test]
fn a_signal_that_gdb_lets_the_program_handle_is_no_crash() {
    let stopped = "(gdb) run\nThread 2 \"java\" received signal SIGSEGV, Segmentation fault.\n0x00007fffe1000567 in ?? ()\n(gdb) c\nContinuing.\n";
    let handled = evidence(&format!("{stopped}[Inferior 1 (process 5518) exited normally]\n"));
    assert_eq!((handled.crash, handled.timeline.len()), (None, 0));
    let died = evidence(&format!(
        "{stopped}\nProgram terminated with signal SIGSEGV, Segmentation fault.\n"
    ));
    assert_eq!(died.crash.and_then(|crash| crash.signal).as_deref(), Some("SIGSEGV"));
}

#[test]
fn a_watchdog_tells_where_its_rank_called_the_collective() {
    let timed_out = "[rank3]:[E411 02:10:09.902718547 ProcessGroupNCCL.cpp:684] [Rank 3] Watchdog caught collective operation timeout: \
                     WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600019 milliseconds before \
                     timing out.\n";
    let stack = "[rank3]:[E411 02:10:09.902720547 ProcessGroupNCCL.cpp:730] Stack trace of the failed collective: \n\
                 #0 all_reduce from /opt/torch/distributed/distributed_c10d.py:2810\n#1 save from /home/u/train.py:161\n\nnext\n";
    let read = evidence(&format!("{timed_out}{stack}"));
    let [thread] = &read.threads[..] else {
        panic!("{read:#?}")
    };
    assert_eq!((thread.rank, functions(thread)), (Some(3), vec!["all_reduce", "save"]));
    assert_eq!(thread.frames[1].line, Some(161));
    assert!(evidence(stack).threads.is_empty(), "nobody says whose it is");
}

#[test]
fn lldb_tells_what_the_memory_at_an_address_may_be_used_for() {
    let stop = "* thread #3, name = 'worker', stop reason = EXC_BAD_ACCESS (code=2, address=0x12a3b4040)\n  * frame #0: 0x1005c81f4 libm.dylib`add(n=1) at m.cpp:148:19\n";
    let region = "(lldb) memory region 0x12a3b4040\n[0x000000012a3b4000-0x00000002f4f10000) r-- mapped file /m.gguf\n";
    let crash = |text: &str| evidence(text).crash.expect("it crashed");
    assert_eq!(crash(stop).code.as_deref(), Some("SEGV_ACCERR"));
    let told = |region: &str| crash(&format!("{stop}{region}")).address_kind;
    assert_eq!(told(region).as_deref(), Some("read-only"));
    assert_eq!(told(&region.replace("r--", "rw-")), None);
}
