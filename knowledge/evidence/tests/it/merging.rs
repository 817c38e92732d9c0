//! From readings to one report: order, echoes, the crash.

use serde_json::{Map, Value, json};
use whycrash_evidence::model::{Crash, Event, EventPayload, ThreadId};
use whycrash_evidence::{Evidence, Limits, merge, read};

use crate::support::artifact;

/// Reads artifacts and merges them.
fn merged(artifacts: &[(&str, &str)]) -> Evidence {
    let parts = artifacts.iter().map(|(name, text)| {
        let (artifact, _keep) = artifact(name, text.as_bytes());
        read(&artifact, &Limits::default()).evidence
    });
    merge(parts.collect(), Map::new())
}

fn kind(event: &Event) -> String {
    let value = serde_json::to_value(&event.payload).expect("an event is JSON");
    value["kind"].as_str().expect("a kind").to_owned()
}

/// Kind of each event, and the number of the event it is an echo of.
fn echoes(evidence: &Evidence) -> Vec<(String, Option<usize>)> {
    evidence
        .timeline
        .iter()
        .map(|event| (kind(event), event.echo_of))
        .collect()
}

fn traceback(tag: &str, exception: &str) -> String {
    [
        "Traceback (most recent call last):",
        "  File \"t.py\", line 1, in step",
        "    y()",
        exception,
    ]
    .map(|line| format!("{tag}{line}\n"))
    .concat()
}

const ELASTIC: &str = "Failures:\n[1]:\n  time      : 2026-11-21_10:00:31\n  rank      : 0 (local_rank: 0)\n  exitcode  : -15 (pid: 100)  (SIGTERM)\n  traceback : Signal 15 (SIGTERM) received by PID 100\n----\nRoot Cause (first observed failure):\n[0]:\n  time      : 2026-11-21_10:00:30\n  rank      : 1 (local_rank: 1)\n  exitcode  : -9 (pid: 101)  (SIGKILL)\n  traceback : Signal 9 (SIGKILL) received by PID 101\n====\n";

#[test]
fn a_lost_connection_is_an_echo_of_the_peers_failure_even_if_printed_first() {
    let lost = traceback(
        "[rank0]: ",
        "RuntimeError: [pair.cc:561] Connection reset by peer. This is typical",
    );
    let failed = traceback("[rank1]: ", "ValueError: NaN loss");
    let evidence = merged(&[("out.log", &(lost.clone() + &failed))]);
    assert_eq!(echoes(&evidence)[0].1, Some(1));
    let first = evidence
        .timeline
        .iter()
        .find(|event| event.primary)
        .expect("a first failure");
    assert_eq!((first.rank, first.text.as_str()), (Some(1), "ValueError: NaN loss"));
    let alone = merged(&[("out.log", &lost)]);
    assert!(
        alone.timeline[0].primary,
        "with nobody else to blame it is all there is"
    );
}

#[test]
fn the_launcher_only_reports() {
    let launcher = traceback(
        "",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
    ) + ELASTIC;
    let evidence = merged(&[("out.log", &launcher)]);
    // The killed worker said nothing, so the launcher's root cause is the witness.
    let root = evidence
        .timeline
        .iter()
        .position(|event| event.primary)
        .expect("a first failure");
    assert_eq!(
        (kind(&evidence.timeline[root]).as_str(), evidence.timeline[root].rank),
        ("elastic-failure", Some(1))
    );
    assert!(
        evidence
            .timeline
            .iter()
            .all(|event| event.primary || event.echo_of == Some(root))
    );
    assert_eq!(
        evidence.crash.as_ref().and_then(|crash| crash.signal.as_deref()),
        Some("SIGKILL")
    );
    assert!(evidence.threads.iter().all(|thread| !thread.crashed));
    // One that did say something is the first failure, and the report an echo of it.
    let told = merged(&[("out.log", &(traceback("[rank1]: ", "ValueError: bad") + &launcher))]);
    assert!(told.timeline[0].primary);
    assert!(
        told.timeline[1..].iter().all(|event| event.echo_of == Some(0)),
        "{:#?}",
        echoes(&told)
    );
}

#[test]
fn what_follows_in_one_process_is_an_echo() {
    for (text, expected) in [
        (
            "RuntimeError: CUDA error: an illegal memory access was encountered\nRuntimeError: CUDA error: unspecified launch failure\n",
            vec![("cuda-error", None), ("cuda-error", Some(0))],
        ),
        (
            "RuntimeError: CUDA error: out of memory\nRuntimeError: CUDA error: invalid argument\n",
            vec![("cuda-error", None), ("cuda-error", None)],
        ),
        (
            "a.cu:1: f: block: [0,0,0], thread: [0,0,0] Assertion `i < n` failed.\nRuntimeError: CUDA error: device-side assert triggered\n",
            vec![("device-assert", None), ("cuda-error", Some(0))],
        ),
        (
            "free(): invalid pointer\nFatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n  File \"a.py\", line 1 in f\n",
            vec![("native-abort", None), ("fatal-python-error", Some(0))],
        ),
        (
            "ERROR: Unexpected bus error encountered in worker.\nRuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. \n",
            vec![("dataloader-worker", None), ("dataloader-worker", Some(0))],
        ),
        (
            "NVRM: Xid (PCI:0000:38:00): 13, pid=9, name=python, Graphics Exception\nNVRM: Xid (PCI:0000:38:00): 43, pid=9, name=python, Ch 8\n",
            vec![("xid", None), ("xid", Some(0))],
        ),
        (
            "NVRM: Xid (PCI:0000:38:00): 43, pid=9, name=python, Ch 8\n",
            vec![("xid", None)],
        ),
    ] {
        let evidence = merged(&[("a.log", text)]);
        let expected: Vec<_> = expected.into_iter().map(|(kind, of)| (kind.to_owned(), of)).collect();
        assert_eq!(echoes(&evidence), expected, "{text}");
    }
}

#[test]
fn what_the_launcher_logs_before_its_report_is_an_echo_of_that() {
    let agent = "E1121 10:00:31.5 99 site-packages/torch/distributed/elastic/multiprocessing/api.py:882] failed (exitcode: -9) local_rank: 1 (pid: 101) of binary: /usr/bin/python3\n";
    let both = merged(&[("out.log", &format!("{agent}{ELASTIC}"))]);
    let root = both
        .timeline
        .iter()
        .find(|event| event.primary)
        .expect("a first failure");
    assert_eq!((root.rank, root.pid), (Some(1), Some(101)));
    assert_eq!(both.timeline[0].echo_of, Some(root.event));
    let cut = merged(&[(
        "out.log",
        &format!(
            "{agent}Traceback (most recent call last):\n  File \"/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n"
        ),
    )]);
    assert_eq!(
        echoes(&cut),
        [
            ("elastic-failure".to_owned(), None),
            ("python-exception".to_owned(), Some(0))
        ]
    );
    assert_eq!(cut.crash.and_then(|crash| crash.signal).as_deref(), Some("SIGKILL"));
}

#[test]
fn the_launchers_report_is_read_where_the_worker_left_nothing_else() {
    let report = "Failures:\n  <NO_OTHER_FAILURES>\n----\nRoot Cause (first observed failure):\n[0]:\n  time      : 2026-11-21_10:00:30\n  rank      : 3 (local_rank: 1)\n  exitcode  : 1 (pid: 101)\n  error_file: /tmp/e/error.json\n  traceback : Traceback (most recent call last):\n    File \"t.py\", line 1, in main\n      dist.monitored_barrier()\n  RuntimeError: Rank 2 failed to pass monitoredBarrier in 3000 ms\n  \n====\n";
    let alone = merged(&[("out.log", report)]);
    let found = alone
        .timeline
        .iter()
        .find(|event| kind(event) == "collective-mismatch")
        .expect("what the exception says");
    assert_eq!((found.rank, found.pid, found.primary), (Some(3), Some(101), true));
    let own = traceback(
        "[rank3]: ",
        "RuntimeError: Rank 2 failed to pass monitoredBarrier in 3000 ms",
    );
    let both = merged(&[("out.log", &format!("{own}{report}"))]);
    let told: Vec<bool> = both
        .timeline
        .iter()
        .filter(|event| kind(event) == "collective-mismatch")
        .map(|event| event.primary)
        .collect();
    assert_eq!(told, [true, false]);
}

#[test]
fn an_assertion_in_a_kernel_is_the_failure_even_if_printed_last() {
    let assert =
        "/src/Loss.cu:250: nll_loss: block: [0,0,0], thread: [3,0,0] Assertion `t >= 0 && t < n_classes` failed.\n";
    let raised = traceback("[rank0]: ", "RuntimeError: CUDA error: device-side assert triggered");
    for text in [format!("{assert}{raised}"), format!("{raised}{assert}")] {
        let evidence = merged(&[("out.log", &text)]);
        let primary: Vec<String> = evidence
            .timeline
            .iter()
            .filter(|event| event.primary)
            .map(kind)
            .collect();
        assert_eq!(primary, ["device-assert"], "{text}");
    }
}

#[test]
fn a_scheduler_tells_who_killed_a_process() {
    let text = "/var/spool/slurmd/job7/slurm_script: line 9:  8156 Killed                  python3 train.py\nslurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.batch cgroup.\nsrun: error: gpu17: task 0: Out Of Memory\n";
    let evidence = merged(&[("slurm.out", text)]);
    assert_eq!(
        echoes(&evidence),
        [
            ("process-exit".to_owned(), Some(1)),
            ("kernel".to_owned(), None),
            ("process-exit".to_owned(), Some(1)),
            ("kernel".to_owned(), Some(1))
        ]
    );
}

#[test]
fn nccls_way_out_is_an_echo_of_its_warning() {
    let text = "gpu1:7:9 [0] transport/net_ib.cc:12 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<5> with status=12 opcode=0 len=0 vendor err 129 (Recv)\ngpu1:7:9 [0] NCCL INFO transport/net.cc:13 -> 6\ngpu1:7:9 [0] NCCL INFO proxy.cc:14 -> 6 [Progress Thread]\n";
    let evidence = merged(&[("out.log", text)]);
    let of: Vec<Option<usize>> = evidence.timeline.iter().map(|event| event.echo_of).collect();
    assert_eq!(of, [None, Some(0), Some(0)]);
}

#[test]
fn the_kernels_log_is_about_the_whole_machine() {
    let dmesg = "[1.0] other[55]: segfault at 0 ip 0000000000401234 sp 00007 error 4 in a.out[400000+2000]\n[2.0] Memory cgroup out of memory: Killed process 7 (python) total-vm:1kB, anon-rss:1kB\n";
    let log = "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed. \n";
    let evidence = merged(&[("dmesg.txt", dmesg), ("train.log", log)]);
    assert_eq!(
        echoes(&evidence),
        [
            ("kernel".to_owned(), None),
            ("kernel".to_owned(), None),
            ("dataloader-worker".to_owned(), Some(1))
        ]
    );
    assert!(!evidence.timeline[0].primary, "a process that is not the report's");
    assert!(evidence.timeline[1].primary);
}

#[test]
fn events_of_all_artifacts_have_one_order() {
    let late = "2026-11-21 10:00:05 RuntimeError: CUDA error: invalid argument\n";
    let glog = "[rank1]:[E1121 10:00:02.5 ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, Timeout(ms)=1) ran for 2 milliseconds before timing out.\n";
    let untimed = "Killed\n";
    let evidence = merged(&[("late.log", late), ("untimed.log", untimed), ("glog.log", glog)]);
    let order: Vec<_> = evidence.timeline.iter().map(|event| event.artifact.as_str()).collect();
    assert_eq!(order, ["glog.log", "late.log", "untimed.log"]);
    assert_eq!(
        evidence.timeline[0].time.as_deref(),
        Some("2026-11-21T10:00:02.5Z"),
        "the year comes from the other log"
    );
    assert!(evidence.timeline[0].time_note.is_some());
    let numbers: Vec<_> = evidence.timeline.iter().map(|event| event.event).collect();
    assert_eq!(numbers, [0, 1, 2]);
    let alone = merged(&[("glog.log", glog)]);
    assert_eq!(alone.timeline[0].time, None, "without a year it is no time");
    assert_eq!(
        alone.timeline[0].time_note.as_deref(),
        Some("11-21 10:00:02.5 (no year, no zone)")
    );
}

#[test]
fn a_time_without_a_zone_is_of_the_zone_of_the_artifact_that_it_is_near() {
    let kernel = "2025-03-20T17:41:37.9+09:00 gn12 kernel: NVRM: Xid (PCI:0000:9b:00): 109, pid=22, name=python3, Ch 0000000e, errorString CTX SWITCH TIMEOUT\n";
    let of_local = "2025-03-20 17:41:38 RuntimeError: CUDA error: unspecified launch failure\n";
    let of_utc = "2025-03-20 08:41:38 RuntimeError: CUDA error: unspecified launch failure\n";
    for (program, note) in [(of_local, "zone taken from the other artifacts"), (of_utc, "no zone")] {
        let evidence = merged(&[("kern.log", kernel), ("train.log", program)]);
        let told = |event: usize| {
            let event = &evidence.timeline[event];
            (event.time.as_deref(), event.time_note.as_deref())
        };
        assert_eq!(told(0), (Some("2025-03-20T08:41:37.9Z"), Some("zone +09:00")));
        assert_eq!(told(1), (Some("2025-03-20T08:41:38Z"), Some(note)));
    }
}

#[test]
fn a_log_is_never_reordered_by_its_own_times() {
    let text = "2026-11-21 10:00:05 free(): invalid pointer\n2026-11-21 10:00:01 Killed\n2026-11-21 10:00:09 pure virtual method called\n";
    let evidence = merged(&[("a.log", text)]);
    let kinds: Vec<_> = evidence.timeline.iter().map(kind).collect();
    assert_eq!(kinds, ["native-abort", "process-exit", "native-abort"]);
}

#[test]
fn ranks_are_joined_across_artifacts() {
    let evidence = merged(&[
        ("out.log", ELASTIC),
        (
            "workers.log",
            "2026-11-21 10:00:29 x\n(RayTrainWorker pid=101) free(): invalid pointer\n",
        ),
        ("rank3/stderr.txt", "free(): invalid pointer\n"),
    ]);
    let ranks: Vec<_> = evidence
        .timeline
        .iter()
        .filter(|event| kind(event) == "native-abort")
        .map(|event| event.rank)
        .collect();
    assert_eq!(ranks, [Some(1), Some(3)]);
}

#[test]
fn the_most_direct_witness_tells_how_it_ended() {
    let context = |exit: Value| {
        json!({"whycrash_context": 1, "command": ["/usr/bin/python3", "t.py"], "pid": 7, "rank": 2, "exit": exit, "ended": "2026-11-21T10:00:00Z"}).to_string()
    };
    let faulthandler = "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n  File \"a.py\", line 1 in f\n";
    for (artifacts, signal, code, from) in [
        (
            vec![("context.json", context(json!({"signal": "SIGSEGV", "code": null})))],
            Some("SIGSEGV"),
            None,
            "context.json",
        ),
        (
            vec![("context.json", context(json!({"signal": null, "code": 3})))],
            None,
            Some(3),
            "context.json",
        ),
        (
            vec![
                ("context.json", context(json!({"signal": "SIGSEGV", "code": null}))),
                ("err", faulthandler.to_owned()),
            ],
            Some("SIGSEGV"),
            None,
            "err",
        ),
        (
            vec![("err", "free(): invalid pointer\nAborted (core dumped)\n".to_owned())],
            Some("SIGABRT"),
            None,
            "err",
        ),
        (vec![("err", "Killed\n".to_owned())], Some("SIGKILL"), None, "err"),
    ] {
        let artifacts: Vec<(&str, &str)> = artifacts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let evidence = merged(&artifacts);
        let crash = evidence.crash.expect("a crash");
        assert_eq!(
            (crash.signal.as_deref(), crash.exit_code, crash.artifact.as_str()),
            (signal, code, from)
        );
    }
    let fine = merged(&[("context.json", &context(json!({"signal": null, "code": 0})))]);
    assert_eq!(fine.crash, None);
    assert_eq!(fine.context["pid"], 7);
    assert!(matches!(fine.timeline[0].payload, EventPayload::ProcessExit(_)));
    assert_eq!(fine.timeline[0].rank, Some(2));
}

/// Two ranks' folders given together: each process keeps what was written down about it, and none takes the other's
/// place.
#[test]
fn what_is_known_of_several_processes_stays_apart() {
    let context = |pid: u32, rank: u32, host: &str, signal: Option<&str>| {
        json!({"whycrash_context": 1, "command": ["python", "t.py"], "pid": pid, "rank": rank, "host": host,
            "exit": {"signal": signal, "code": signal.is_none().then_some(1)}})
        .to_string()
    };
    let first = context(70, 0, "node-a", Some("SIGABRT"));
    let second = context(81, 1, "node-b", None);
    let log = "(Worker pid=81) Traceback (most recent call last):\n(Worker pid=81)   File \"t.py\", line 3, in f\n\
               (Worker pid=81) ValueError: x\n";
    let evidence = merged(&[
        ("a/context.json", &first),
        ("b/context.json", &second),
        ("train.log", log),
    ]);
    let told: Vec<_> = evidence
        .processes
        .iter()
        .map(|process| {
            let crash = process.crash.as_ref().unwrap();
            (
                process.pid,
                process.rank,
                process.context["host"].as_str().unwrap(),
                crash.signal.as_deref(),
                crash.exit_code,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (70, Some(0), "node-a", Some("SIGABRT"), None),
            (81, Some(1), "node-b", None, Some(1)),
        ]
    );
    assert_eq!(evidence.context["host"], "node-a", "the first stands");
    let raised = evidence.timeline.iter().find(|event| kind(event) == "python-exception");
    assert_eq!(raised.unwrap().rank, Some(1), "by its process id");
    assert!(
        merged(&[("context.json", &first)]).processes.is_empty(),
        "one process is the report's"
    );
}

#[test]
fn damaged_contexts_are_named() {
    for (text, code) in [
        (r#"{"whycrash_context": 1, "command": ["#, "bad-json"),
        (r#"{"message": {"extraInfo""#, "bad-json"),
    ] {
        let (artifact, _keep) = artifact("context.json", text.as_bytes());
        assert_eq!(read(&artifact, &Limits::default()).problems[0].code, code, "{text}");
    }
}

/// A flight recorder of one of two ranks whose clock is `ahead` seconds off.
fn recorder(ahead: u64, lag_ms: impl Fn(u64) -> u64) -> String {
    let entries = (1..=8).map(|sequence| {
        let created = (1_795_255_200 + ahead) * 1_000_000_000 + (sequence * 1000 + lag_ms(sequence)) * 1_000_000;
        json!({"record_id": sequence, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": sequence,
            "p2p_seq_id": 0, "op_id": sequence, "profiling_name": "nccl:all_reduce", "time_created_ns": created,
            "input_sizes": [[4]], "output_sizes": [[4]], "input_dtypes": ["Float"], "output_dtypes": ["Float"],
            "state": "completed", "retired": true, "is_p2p": false, "frames": []})
    });
    let groups = json!({"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}});
    json!({"version": "2.10", "pg_config": groups, "entries": entries.collect::<Vec<_>>()}).to_string()
}

fn watchdog(rank: u32, time: &str) -> String {
    format!(
        "[rank{rank}]:[E1121 {time}.000000000 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: \
         WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n"
    )
}

#[test]
fn clocks_that_differ_are_noticed_and_corrected_for_the_order() {
    let logs = [
        ("rank0.log", watchdog(0, "10:00:31")),
        ("rank1.log", watchdog(1, "10:01:20")),
    ];
    let told = |lag: fn(u64) -> u64, ahead| {
        let recorders = [
            ("nccl_trace_rank_0", recorder(0, |_| 0)),
            ("nccl_trace_rank_1", recorder(ahead, lag)),
        ];
        let all: Vec<(&str, &str)> = logs
            .iter()
            .chain(&recorders)
            .map(|(name, text)| (*name, text.as_str()))
            .collect();
        let timeline = merged(&all).timeline;
        let watchdogs = timeline
            .into_iter()
            .filter(|event| matches!(event.payload, EventPayload::Watchdog(_)));
        watchdogs.map(|event| (event.rank, event.time_note)).collect::<Vec<_>>()
    };
    let skewed = told(|sequence| sequence * 7 % 40, 60);
    assert_eq!(
        [skewed[0].0, skewed[1].0],
        [Some(1), Some(0)],
        "rank 1 was first by a common clock"
    );
    let note = skewed[0].1.as_deref().expect("a note");
    assert!(
        note.contains("this rank's clock is 60.0 s ahead of that of rank 0"),
        "{note}"
    );
    let slow = told(|sequence| sequence * 3000, 0);
    assert_eq!(
        [slow[0].0, slow[1].0],
        [Some(0), Some(1)],
        "a rank that falls behind has no clock to blame"
    );
}

#[test]
fn a_log_completes_what_memory_began() {
    let log = "terminate called after throwing an instance of 'gloo::EnforceNotMet'\n  what():  [enforce fail at pair.cc:464] op.preamble.length <= op.nbytes\n";
    let (artifact, _keep) = artifact("rank0.log", log.as_bytes());
    let text = read(&artifact, &Limits::default()).evidence;
    let message = |found: &str| {
        let core = Evidence {
            crash: Some(Crash {
                signal: Some("SIGABRT".to_owned()),
                thread: Some(ThreadId::Os(1)),
                message: Some(found.to_owned()),
                message_source: Some("exception in memory".to_owned()),
                ..Crash::default()
            }),
            ..Evidence::default()
        };
        let crash = merge(vec![core, text.clone()], Map::new()).crash.expect("a crash");
        (crash.message.unwrap_or_default(), crash.message_source.is_some())
    };
    let whole = "gloo::EnforceNotMet: [enforce fail at pair.cc:464] op.preamble.length <= op.nbytes";
    assert_eq!(message("gloo::EnforceNotMet"), (whole.to_owned(), false));
    let other = "free(): invalid pointer";
    assert_eq!(message(other), (other.to_owned(), true));
}

#[test]
fn threads_that_outlive_the_interpreter_abort_in_consequence_of_its_exception() {
    let raised = "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/srv/train.py\", line 8, in <module>\n[rank1]:     \
                  score(batch)\n[rank1]: RuntimeError: no score for 17 prompts\n";
    let abort = "terminate called without an active exception\n";
    let both = merged(&[("train.log", &format!("{raised}{abort}"))]);
    assert_eq!(
        echoes(&both),
        [
            ("python-exception".to_owned(), None),
            ("native-abort".to_owned(), Some(0))
        ]
    );
    let alone = merged(&[("train.log", abort)]);
    assert_eq!(echoes(&alone), [("native-abort".to_owned(), None)]);
}

#[test]
fn where_each_follows_from_the_other_one_is_the_failure() {
    // Two processes wrote at one time: what the agent says of the first failure stands within the report of another.
    let log = "Failures:\n[1]:\n  time      : 2026-11-21_10:00:31\n  rank      : 0 (local_rank: 0)\n  exitcode  : -15 (pid: 100)  (SIGTERM)\n  errory:1002] failed (exitcode: 1) local_rank: 1 (pid: 101) of binary: /usr/bin/python3\n";
    let evidence = merged(&[("train.log", log)]);
    assert_eq!(
        echoes(&evidence),
        [
            ("elastic-failure".to_owned(), Some(1)),
            ("elastic-failure".to_owned(), None)
        ]
    );
    assert!(evidence.timeline[1].primary);
}
