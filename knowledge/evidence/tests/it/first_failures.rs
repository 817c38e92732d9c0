//! Jobs of many processes: which of them a report is about.

use serde_json::{Map, Value, json};
use whycrash_evidence::model::{Event, EventPayload, Hang, ThreadId};
use whycrash_evidence::{Evidence, Limits, merge, read, title};

use crate::support::artifact;

/// A process that failed, as the collector tells it.
fn failed(pid: u32, rank: u32, signal: &str, code: Option<i32>, second: u32) -> Value {
    json!({
        "pid": pid, "parent": 10, "rank": rank, "leads": true, "command": ["/usr/bin/python", "train.py"],
        "signal": (!signal.is_empty()).then_some(signal), "code": code, "at": format!("2026-11-22T10:00:{second:02}Z"),
    })
}

/// A job of ranks under a launcher that ended with 1.
fn job(failures: &[Value], more: Value) -> Value {
    let mut context = json!({
        "whycrash_context": 1, "pid": 10, "command": ["torchrun", "train.py"], "exit": {"signal": null, "code": 1},
        "ended": "2026-11-22T10:00:59Z", "failures": failures,
    });
    if let (Value::Object(context), Value::Object(more)) = (&mut context, more) {
        context.extend(more);
    }
    context
}

fn report(context: &Value, log: &str) -> Evidence {
    let artifacts = [("context.json", context.to_string()), ("output.log", log.to_owned())];
    let parts = artifacts
        .iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(name, text)| {
            let (artifact, _keep) = artifact(name, text.as_bytes());
            read(&artifact, &Limits::default()).evidence
        });
    merge(parts.collect(), Map::new())
}

/// Rank, signal and process of the end that the report is about.
fn subject(evidence: &Evidence) -> (Option<u32>, Option<&str>, Option<u32>) {
    let crash = evidence.crash.as_ref().expect("a crash");
    (crash.rank, crash.signal.as_deref(), crash.pid)
}

/// Events that are no consequence of another, but for ends of processes.
fn leading(evidence: &Evidence) -> Vec<&Event> {
    let leads = |event: &&Event| event.primary && !matches!(event.payload, EventPayload::ProcessExit(_));
    evidence.timeline.iter().filter(leads).collect()
}

fn hang(evidence: &Evidence) -> &Hang {
    let mut hangs = evidence.timeline.iter().filter_map(|event| match &event.payload {
        EventPayload::Hang(hang) => Some(hang),
        _ => None,
    });
    hangs.next().expect("a hang")
}

/// What a rank prints whose peer is gone, or does not answer.
fn in_collective(rank: u32, message: &str) -> String {
    [
        "Traceback (most recent call last):",
        "  File \"train.py\", line 8, in <module>",
        "    dist.all_reduce(x)",
        "  File \"/venv/torch/distributed/distributed_c10d.py\", line 2501, in all_reduce",
        "    work.wait()",
        message,
    ]
    .map(|line| format!("[rank{rank}]: {line}\n"))
    .concat()
}

#[test]
fn the_rank_that_a_signal_ended_first_is_what_the_report_is_about() {
    let failures = [
        failed(12, 2, "SIGKILL", None, 1),
        failed(11, 1, "", Some(1), 2),
        failed(13, 3, "SIGTERM", None, 3),
    ];
    let log = in_collective(1, "RuntimeError: something that no table has heard of");
    let evidence = report(&job(&failures, json!({})), &log);
    assert_eq!(subject(&evidence), (Some(2), Some("SIGKILL"), Some(12)));
    assert_eq!(
        evidence.crash.as_ref().and_then(|crash| crash.process.as_deref()),
        Some("python")
    );
    assert!(leading(&evidence).is_empty(), "{:#?}", leading(&evidence));
    assert_eq!(title(&evidence), "rank 2 killed by SIGKILL");
    let ends = evidence
        .timeline
        .iter()
        .filter(|event| matches!(event.payload, EventPayload::ProcessExit(_)));
    assert_eq!(
        ends.filter(|event| event.primary).count(),
        1,
        "the others follow from the first"
    );
}

#[test]
fn what_a_helper_returned_long_before_is_not_what_the_job_died_of() {
    let mut helper = failed(90, 0, "", Some(128), 0);
    helper["leads"] = json!(false);
    let evidence = report(&job(&[helper, failed(13, 3, "", Some(1), 9)], json!({})), "");
    assert_eq!(subject(&evidence), (Some(3), None, Some(13)));
}

#[test]
fn a_worker_that_a_signal_ended_within_the_rank_comes_before_the_rank() {
    let mut worker = failed(77, 3, "SIGSEGV", None, 5);
    worker["leads"] = json!(false);
    let failures = [worker, failed(13, 3, "", Some(1), 6), failed(11, 1, "", Some(1), 7)];
    assert_eq!(
        subject(&report(&job(&failures, json!({})), "")),
        (Some(3), Some("SIGSEGV"), Some(77))
    );
}

#[test]
fn of_several_attempts_the_last_one_ended_the_job() {
    let mut earlier = failed(12, 2, "SIGKILL", None, 1);
    earlier["attempt"] = json!(0);
    let mut last = failed(31, 1, "SIGSEGV", None, 40);
    last["attempt"] = json!(1);
    assert_eq!(
        subject(&report(&job(&[earlier, last], json!({})), "")),
        (Some(1), Some("SIGSEGV"), Some(31))
    );
}

#[test]
fn a_signal_that_was_sent_to_the_whole_job_is_the_jobs_own_end() {
    let failures = [failed(12, 2, "SIGTERM", None, 1), failed(11, 1, "SIGTERM", None, 1)];
    let sent = json!({"signals_received": [{"signal": "SIGTERM"}]});
    assert_eq!(subject(&report(&job(&failures, sent), "")).2, Some(10));
    let nobody = json!({"signals_received": []});
    assert_eq!(
        subject(&report(&job(&failures, nobody), "")),
        (Some(2), Some("SIGTERM"), Some(12))
    );
}

#[test]
fn the_shells_child_that_a_signal_ended_is_the_crash_of_a_script() {
    let mut child = failed(12, 0, "SIGKILL", None, 1);
    child["rank"] = Value::Null;
    child["leads"] = json!(false);
    let mut script = job(&[child], json!({}));
    script["exit"]["code"] = json!(137);
    assert_eq!(subject(&report(&script, "")), (None, Some("SIGKILL"), Some(12)));
}

#[test]
fn who_timed_out_did_not_follow_from_an_end() {
    let failures = [failed(10, 0, "", Some(1), 1), failed(11, 1, "", Some(1), 2)];
    let log = in_collective(0, "RuntimeError: Connection closed by peer [127.0.0.1]:2")
        + &in_collective(
            1,
            "RuntimeError: Timed out waiting 25000ms for recv operation to complete",
        );
    let evidence = report(&job(&failures, json!({})), &log);
    let leading = leading(&evidence);
    assert!(
        matches!(leading.as_slice(), [Event { rank: Some(1), .. }]),
        "{leading:#?}"
    );
}

/// A process that stands still, with the functions it is in.
fn standing(pid: u32, rank: u32, state: &str, frames: &[(&str, &str)]) -> Value {
    let frames: Vec<Value> = frames
        .iter()
        .map(|(function, file)| json!({"kind": "python", "function": function, "file": file, "line": 7}))
        .collect();
    json!({"pid": pid, "rank": rank, "leads": true, "state": state, "call": "futex", "frames": frames})
}

fn stall(processes: &[Value]) -> Value {
    json!({"stall": {
        "since": "2026-11-22T10:00:05Z", "at": "2026-11-22T10:00:10Z", "until": "2026-11-22T10:00:30Z",
        "idle_s": 25, "processes": processes,
    }})
}

const REDUCE: &[(&str, &str)] = &[
    ("all_reduce", "/venv/torch/distributed/distributed_c10d.py"),
    ("main", "train.py"),
];

#[test]
fn whoever_waits_elsewhere_than_the_others_is_what_they_timed_out_on() {
    let processes = [
        standing(10, 0, "S", REDUCE),
        standing(11, 1, "S", REDUCE),
        standing(12, 2, "S", &[("write_checkpoint", "train.py"), ("main", "train.py")]),
    ];
    let failures = [failed(10, 0, "", Some(1), 31), failed(12, 2, "SIGTERM", None, 32)];
    let log = in_collective(
        0,
        "RuntimeError: Timed out waiting 25000ms for recv operation to complete",
    );
    let evidence = report(&job(&failures, stall(&processes)), &log);
    let found = hang(&evidence);
    assert_eq!((found.family.as_str(), found.ranks.as_slice()), ("apart", &[2][..]));
    assert_eq!(found.function.as_deref(), Some("write_checkpoint"));
    assert_eq!(
        (found.others_in.as_deref(), found.collective),
        (Some("all_reduce"), true)
    );
    assert_eq!(subject(&evidence), (Some(2), None, Some(12)));
    let leading = leading(&evidence);
    assert!(
        matches!(
            leading.as_slice(),
            [Event {
                payload: EventPayload::Hang(_),
                ..
            }]
        ),
        "{leading:#?}"
    );
    assert_eq!(title(&evidence), "hang: rank 2 waits in write_checkpoint");
}

#[test]
fn a_stopped_process_and_a_kept_lock_are_named_as_such() {
    let stopped = [standing(10, 0, "S", REDUCE), standing(11, 1, "T", REDUCE)];
    let evidence = report(&job(&[], stall(&stopped)), "");
    assert_eq!(
        (hang(&evidence).family.as_str(), hang(&evidence).rank),
        ("stopped", Some(1))
    );
    let mut locked = [standing(10, 0, "S", REDUCE), standing(11, 1, "S", REDUCE)];
    locked[0]["lock_waiters"] = json!(1);
    locked[0]["lock_holder"] = json!({"thread": 99, "frame": {"kind": "python", "function": "prefetch", "file": "p.py", "line": 12},
            "native": {"kind": "native", "function": "wait_for_disk", "file": "disk.c", "line": 7}});
    let evidence = report(&job(&[], stall(&locked)), "");
    let found = hang(&evidence);
    assert_eq!((found.family.as_str(), found.rank), ("gil", Some(0)));
    assert_eq!((found.function.as_deref(), found.line), (Some("prefetch"), Some(12)));
    assert_eq!(found.native.as_deref(), Some("wait_for_disk (disk.c:7)"));
    assert_eq!(found.thread, Some(ThreadId::Os(99)));
}

#[test]
fn a_lock_that_is_kept_by_all_ranks_is_told_and_one_kept_in_a_collective_blames_nobody() {
    let kept = |pid: u32, rank: u32, function: &str, file: &str| {
        let mut process = standing(pid, rank, "S", REDUCE);
        process["lock_waiters"] = json!(1);
        process["lock_holder"] =
            json!({"thread": pid, "frame": {"kind": "python", "function": function, "file": file}});
        process
    };
    let all = [kept(10, 0, "prefetch", "p.py"), kept(11, 1, "prefetch", "p.py")];
    let evidence = report(&job(&[], stall(&all)), "");
    assert_eq!(
        (hang(&evidence).family.as_str(), hang(&evidence).ranks.as_slice()),
        ("gil", &[0, 1][..])
    );
    let (function, file) = REDUCE[0];
    let victims = [
        kept(10, 0, function, file),
        kept(11, 1, function, file),
        standing(12, 2, "S", &[("load", "train.py")]),
    ];
    let evidence = report(&job(&[], stall(&victims)), "");
    assert_eq!(
        (hang(&evidence).family.as_str(), hang(&evidence).ranks.as_slice()),
        ("apart", &[2][..])
    );
}

#[test]
fn a_lock_that_nobody_has_is_not_kept() {
    // Somebody waits for it and nobody has it: it is about to change hands.
    let mut waits = [standing(10, 0, "S", REDUCE), standing(11, 1, "S", REDUCE)];
    waits[0]["lock_waiters"] = json!(1);
    let evidence = report(&job(&[], stall(&waits)), "");
    assert_eq!(hang(&evidence).family, "together");
}

#[test]
fn a_standstill_that_passed_explains_nothing() {
    let processes = [
        standing(10, 0, "S", REDUCE),
        standing(11, 1, "S", &[("load", "train.py")]),
    ];
    let mut context = job(&[failed(10, 0, "", Some(1), 59)], stall(&processes));
    context["stall"]["until"] = json!("2026-11-22T10:00:11Z");
    let evidence = report(&context, "");
    let told = evidence
        .timeline
        .iter()
        .find(|event| matches!(event.payload, EventPayload::Hang(_)))
        .expect("it is told");
    assert!(told.survived && !told.primary);
    assert_eq!(subject(&evidence), (Some(0), None, Some(10)));
}

#[test]
fn xids_that_the_driver_told_of_stand_in_for_the_kernels_log() {
    let told = json!({
        "started": "2026-11-22T10:00:00Z",
        "gpus": [{"index": 0, "pci": "00000000:07:00.0"}, {"index": 1}],
        "gpu_timeline": [
            {"device": 0, "uuid": "GPU-a", "xids": [{"at": 1500, "code": 48}, {"at": 1501, "code": 63}]},
            {"device": 1, "uuid": "GPU-b", "xids": [{"at": 9000, "code": 31}]},
        ],
        "unavailable": [{"what": "kernel log", "why": "can not read /dev/kmsg"}],
    });
    let xids = |context: &Value| {
        let timeline = report(context, "").timeline;
        let xids = timeline.into_iter().filter_map(|event| match event.payload {
            EventPayload::Xid(xid) => Some((event.time.unwrap_or_default(), xid.pci, xid.code)),
            _ => None,
        });
        xids.collect::<Vec<_>>()
    };
    let xid = |time: &str, pci: &str, code| (time.to_owned(), pci.to_owned(), code);
    assert_eq!(
        xids(&job(&[], told.clone())),
        [
            xid("2026-11-22T10:00:01.5Z", "PCI:0000:07:00", 48),
            xid("2026-11-22T10:00:01.501Z", "PCI:0000:07:00", 63),
            xid("2026-11-22T10:00:09Z", "GPU-b", 31),
        ]
    );
    // Where that log was read, it tells of them itself.
    let mut with_log = told;
    with_log["unavailable"] = json!([]);
    assert_eq!(xids(&job(&[], with_log)), []);
}

#[test]
fn contexts_that_make_no_sense_are_read_as_far_as_they_do() {
    for nonsense in [
        json!({"failures": "none", "stall": 7}),
        json!({"failures": [7, null, {"pid": "x"}, {}], "stall": {"processes": [{}, 1]}}),
        json!({"failures": [{"rank": 4_294_967_296_u64}], "stall": {"processes": []}}),
    ] {
        let evidence = report(&job(&[], nonsense), "");
        assert_eq!(subject(&evidence).2, Some(10));
    }
}

/// A report of these texts.
fn report_of(texts: &[(&str, &str)]) -> Evidence {
    let parts = texts.iter().map(|(name, text)| {
        let (artifact, _keep) = artifact(name, text.as_bytes());
        read(&artifact, &Limits::default()).evidence
    });
    merge(parts.collect(), Map::new())
}

const CHROME: &str = "[71211.1] chrome[9911]: segfault at 18 ip 000055d0a8f2e1c0 sp 00007ffd1b2c3d40 error 4 in chrome[55d0a2000000+9a00000]\n";
const MYSQL: &str =
    "[811.2] Out of memory: Killed process 2201 (mysqld) total-vm:18123044kB, anon-rss:9121200kB, file-rss:0kB\n";
const PYTHON: &str = "[811.2] python3[9911]: segfault at 18 ip 000055d0a8f2e1c0 sp 00007ffd1b2c3d40 error 4 in libx.so[55d0a2000000+9a00000]\n";

#[test]
fn what_befell_other_programs_of_the_machine_is_not_the_jobs() {
    let healthy = ("train.log", "step 1 loss 3.1\nstep 2 loss 3.0\nTraining finished.\n");
    for of_another in [CHROME, MYSQL] {
        let evidence = report_of(&[healthy, ("dmesg.txt", of_another)]);
        assert!(
            leading(&evidence).is_empty() && evidence.crash.is_none(),
            "{of_another}"
        );
    }
    assert!(leading(&report_of(&[("dmesg.txt", CHROME)])).is_empty());
    // An interpreter is the job's; so is whoever used the GPU, or ran in a library for it; and where a job failed and
    // nothing says how, it may be anybody.
    let driver = "[811.1] NVRM: Xid (PCI:0000:65:00): 31, pid=9911, name=chrome, Ch 00000008\n";
    for (name, text) in [
        ("python", PYTHON.to_owned()),
        ("on the GPU", format!("{driver}{CHROME}")),
        (
            "in the driver's library",
            CHROME.replace("in chrome[", "in libcuda.so.550.54.15["),
        ),
    ] {
        assert!(
            !leading(&report_of(&[healthy, ("dmesg.txt", &text)])).is_empty(),
            "{name}"
        );
    }
    // systemd tells of the same kill, and names nobody; a scheduler tells of its own job.
    let unit = "[811.3] systemd[1]: user@1000.service: A process of this unit has been killed by the OOM killer.\n";
    let told = |more: &str| report_of(&[healthy, ("dmesg.txt", &format!("{MYSQL}{more}"))]);
    assert!(leading(&told(unit)).is_empty());
    let slurm = "slurmstepd: error: Detected 1 oom_kill event in StepId=99120.0. Some of the step tasks have been OOM Killed.\n";
    assert!(!leading(&report_of(&[("slurm.out", slurm), ("dmesg.txt", MYSQL)])).is_empty());
    let killed = report_of(&[("train.log", "step 1 loss 3.1\nKilled\n"), ("dmesg.txt", MYSQL)]);
    assert!(leading(&killed).iter().any(|event| event.payload.kind() == "kernel"));
}

#[test]
fn one_kill_for_want_of_memory_is_one_failure_however_often_it_is_told() {
    let told = "slurmstepd: error: Detected 1 oom_kill event in StepId=99120.0. Some of the step tasks have been OOM Killed.\n\
                srun: error: gpu-04: task 3: Out Of Memory\nsrun: error: gpu-04: task 5: Out Of Memory\n";
    let kernel =
        "[811.2] Out of memory: Killed process 2201 (python3) total-vm:18123044kB, anon-rss:9121200kB, file-rss:0kB\n";
    for texts in [
        vec![("slurm.out", told)],
        vec![("slurm.out", told), ("dmesg.txt", kernel)],
        vec![("dmesg.txt", kernel), ("slurm.out", told)],
    ] {
        let evidence = report_of(&texts);
        let kills = leading(&evidence)
            .into_iter()
            .filter(|event| event.payload.kind() == "kernel");
        assert_eq!(kills.count(), 1, "{texts:?}");
    }
}

#[test]
fn an_abort_that_only_carries_out_what_a_watchdog_decided_is_its_echo() {
    let log = "[rank0]:[E ProcessGroupNCCL.cpp:563] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8123, \
               OpType=ALLREDUCE, NumelIn=16, NumelOut=16, Timeout(ms)=600000) ran for 600040 milliseconds before timing out.\n\
               terminate called after throwing an instance of 'c10::DistBackendError'\n";
    let evidence = report_of(&[("train.log", log)]);
    let kinds: Vec<&str> = leading(&evidence).iter().map(|event| event.payload.kind()).collect();
    assert_eq!(kinds, ["watchdog"]);
}

#[test]
fn a_connection_that_closes_after_a_time_out_is_its_echo_and_one_that_closes_before_is_none() {
    let timed_out = "[rank1]:[E810 03:04:11.061727749 ProcessGroupNCCL.cpp:683] [Rank 1] Watchdog caught collective operation timeout: \
                     WorkNCCL(SeqNum=78, OpType=BROADCAST, NumelIn=80, NumelOut=80, Timeout(ms)=600000) ran for 600096 milliseconds \
                     before timing out.\n";
    let closed = "[rank4]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer \
                  [192.168.7.7]:31485\n";
    let kinds = |texts: &[(&str, &str)]| -> Vec<&str> {
        let evidence = report_of(texts);
        leading(&evidence).iter().map(|event| event.payload.kind()).collect()
    };
    assert_eq!(kinds(&[("1.log", timed_out), ("4.log", closed)]), ["watchdog"]);
    assert_eq!(kinds(&[("train.log", &format!("{timed_out}{closed}"))]), ["watchdog"]);
    assert!(kinds(&[("train.log", &format!("{closed}{timed_out}"))]).contains(&"rendezvous"));
}

#[test]
fn a_container_counts_its_processes_from_one_and_the_kernel_does_not() {
    let killed = "E0410 19:22:08.900000 1 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 1 (pid: 49) of binary: \
                  /usr/bin/python\n";
    let of_kernel = "[811.2] Memory cgroup out of memory: Killed process 771204 (python) total-vm:240933644kB, anon-rss:74914032kB, file-rss:0kB\n";
    let kinds = |log: &str, kernel: &str| -> Vec<&str> {
        let evidence = report_of(&[("train.log", log), ("dmesg.txt", kernel)]);
        leading(&evidence).iter().map(|event| event.payload.kind()).collect()
    };
    assert!(kinds(killed, of_kernel).contains(&"kernel"));
    // Outside of containers there is one count.
    assert!(!kinds(&killed.replace("(pid: 49)", "(pid: 771009)"), of_kernel).contains(&"kernel"));
    let of_machine = of_kernel.replace("Memory cgroup out", "Out");
    assert!(!kinds(killed, &of_machine).contains(&"kernel"));
}

#[test]
fn a_protection_fault_is_known_by_the_kernels_word_alone() {
    let of_debugger = "Program terminated with signal SIGSEGV, Segmentation fault.\n#0  0x00007f91a03c5d92 in best (this=0x7f) at l.cc:9\n";
    let of_kernel = "[889314.1] traps: asr-worker[19121] general protection fault ip:7f91a03c5d92 sp:7f8fe4ff8b10 error:0 in libasr.so[7f91a0380000+9c000]\n";
    let kind = |texts: &[(&str, &str)]| report_of(texts).crash.and_then(|crash| crash.address_kind);
    assert_eq!(
        kind(&[("gdb.txt", of_debugger), ("dmesg.txt", of_kernel)]).as_deref(),
        Some("non-canonical")
    );
    // Of two crashes nobody says which is meant.
    let twice = format!("{of_kernel}{}", of_kernel.replace("19121", "19122"));
    assert_eq!(kind(&[("gdb.txt", of_debugger), ("dmesg.txt", &twice)]), None);
}

#[test]
fn the_launchers_word_of_a_rank_follows_from_what_that_rank_told() {
    let timed_out = "[rank1]:[E418 21:10:35.100000001 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: \
                     WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800050 milliseconds \
                     before timing out.\n";
    let other = timed_out.replace("ank1", "ank2").replace("Rank 1", "Rank 2");
    let report = "Root Cause (first observed failure):\n[0]:\n  time      : 2025-04-18_21:10:37\n  host      : n1\n  rank      : 1 \
                  (local_rank: 1)\n  exitcode  : -6 (pid: 5189)\n  error_file: <N/A>\n  traceback : Signal 6 (SIGABRT) received by PID 5189\n";
    let kinds = |text: &str| -> Vec<&str> {
        let evidence = report_of(&[("train.log", text)]);
        leading(&evidence).iter().map(|event| event.payload.kind()).collect()
    };
    assert_eq!(kinds(&format!("{timed_out}{other}{report}")), ["watchdog", "watchdog"]);
    let closed = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nRuntimeError: \
                  [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.7]:12717\n";
    let failed = "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 31) of binary: python\n";
    assert!(!kinds(&format!("{closed}{failed}")).contains(&"elastic-failure"));
}
