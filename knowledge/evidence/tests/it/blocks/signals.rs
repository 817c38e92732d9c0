//! Deaths by a signal, in the words of whoever tells of them.

use whycrash_evidence::model::EventPayload;

use super::{evidence, functions};

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
fn javas_log_tells_further_down_what_the_signal_was_about() {
    let head = "# A fatal error has been detected by the Java Runtime Environment:\n#\n#  SIGSEGV (0xb) at pc=0x00007f2a1a0c55d4, pid=1187, tid=1242\n#\n\
                # Problematic frame:\n# C  [libdjl_torch.so+0x455d4]  run+0x1f4\n#\n\n---------------  S U M M A R Y ------------\n\n\
                Host: 8 cores, 31G\n";
    let rest = "Native frames: (J=compiled Java code, C=native code)\nC  [libdjl_torch.so+0x455d4]  run+0x1f4\n\
                C  [libjvm.so+0x91e5d4]  call+0x4\nj  ai.djl.Predictor.predict(J)V+0\n\n\
                siginfo: si_signo: 11 (SIGSEGV), si_code: 1 (SEGV_MAPERR), si_addr: 0x0000000000000028\n";
    let crash = |text: &str| {
        let read = evidence(text);
        let frames = read.threads.first().map_or(0, |thread| thread.frames.len());
        let crash = read.crash.expect("it crashed");
        (crash.code, crash.address_kind, frames)
    };
    let told = |code: &str, kind: &str| (Some(code.to_owned()), Some(kind.to_owned()), 2);
    assert_eq!(crash(&format!("{head}{rest}")), told("SEGV_MAPERR", "null"));
    let far = rest.replace("0x0000000000000028", "0x00007f2a3c000000");
    assert_eq!(crash(&format!("{head}{far}")), told("SEGV_MAPERR", "unmapped"));
    let (code, kind, frames) = crash(head);
    assert_eq!((code, kind, frames), (None, None, 1), "where the log is cut off");
}
