//! What a process survived, by what stands behind a failure.

use super::evidence;

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
    let optional = "A matching Triton is not available, some optimizations will not be enabled.\nTraceback (most recent call last):\n  File \"x.py\", line 55, in f\nModuleNotFoundError: No module named 'triton'\n";
    let told = serde_json::to_value(evidence(optional).timeline).expect("events are JSON");
    assert_eq!(
        (told.as_array().map(Vec::len), &told[0]["detail"]["ignored"]),
        (Some(1), &true.into())
    );
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

#[test]
fn tests_that_passed_were_meant_to_fail_whatever_ran_them_says_last() {
    let provoked = "Captured stderr call\nLoss.cu:250: nll_loss: block: [0,0,0], thread: [2,0,0] Assertion `t >= 0 && t < n_classes` failed.\n";
    let passed = "==== 41 passed, 33 warnings in 88.12s ====\n";
    let of_ci = evidence(&format!("{provoked}{passed}Job succeeded\n"));
    assert!(of_ci.timeline.iter().all(|event| event.survived), "{of_ci:#?}");
    // What came after the tests was none.
    let after = evidence(&format!("{passed}{provoked}Job succeeded\n"));
    assert!(after.timeline.iter().any(|event| !event.survived));
}

#[test]
fn a_server_whose_engine_died_did_not_end_well() {
    let failure = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nIndexError: index 1 is out of bounds\n";
    let end = "INFO:     Shutting down\nINFO:     Waiting for application shutdown.\nINFO:     Application shutdown complete.\n";
    let died = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n";
    assert!(evidence(&format!("{failure}{end}")).timeline[0].survived);
    assert!(!evidence(&format!("{failure}{died}{end}")).timeline[0].survived);
}

#[test]
fn what_a_shell_was_told_to_run_did_not_happen() {
    let traced = "+ kubectl exec -n gpu pod -- logger -p daemon.err 'NVRM: Xid (PCI:0002:00:00): 119, pid=1582259, name=nvc, Timeout'\n";
    assert!(evidence(traced).timeline.is_empty());
    let logged = traced.trim_start_matches(|letter| letter != 'N');
    assert_eq!(evidence(logged).timeline.len(), 1);
}

#[test]
fn what_became_of_a_container_stands_above_the_events_that_led_there() {
    let state = "  State:  Terminated\n  Message:  failed to create shim task: OCI runtime create failed\nnvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown\n";
    let events = "Events:\n  Normal   Pulled   19m (x5 over 22m)     kubelet  Container image already present\n  Warning  BackOff  2m11s (x94 over 22m)  kubelet  Back-off restarting failed container\n";
    let kinds = |text: &str| -> Vec<String> {
        let read = evidence(text);
        read.timeline.iter().map(|event| event.text.clone()).collect()
    };
    assert!(
        kinds(&format!("{state}{events}"))
            .iter()
            .any(|text| text.contains("nvml error"))
    );
    // A row of events that later ones made good is none.
    let mounted = "  Warning  FailedMount  19m  kubelet  MountVolume.SetUp failed for volume \"a\"\n  Normal   Pulled   19m  kubelet  pulled\n  Normal   Created  19m  kubelet  created\n  Normal   Started  19m  kubelet  started\n";
    assert!(kinds(mounted).is_empty());
}

#[test]
fn what_a_program_tells_of_its_debugging_it_expected() {
    let told = "too many resources requested for launch\n";
    assert!(evidence(&format!("DEBUG:root:{told}")).timeline.is_empty());
    assert_eq!(evidence(&format!("CUDA error: {told}")).timeline.len(), 1);
}
