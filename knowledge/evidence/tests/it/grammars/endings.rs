//! What a text ends with, and nobody else reads.

use serde_json::{Value, json};
use whycrash_evidence::{Limits, merge, read};

use super::{check, events};
use crate::support::artifact;

/// Everything in a text's timeline, as it stands in a report, in `kind family primary` form.
fn told(text: &str) -> Vec<(String, String, bool)> {
    let (artifact, _keep) = artifact("train.log", text.as_bytes());
    let evidence = merge(
        vec![read(&artifact, &Limits::default()).evidence],
        serde_json::Map::new(),
    );
    let timeline = evidence.timeline.iter().map(|event| {
        let event = serde_json::to_value(event).expect("an event is JSON");
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (
            word(&event["kind"]),
            word(&event["detail"]["family"]),
            event["primary"] == true,
        )
    });
    timeline.collect()
}

#[test]
fn a_line_that_its_logger_calls_an_error_is_an_event() {
    for (text, message) in [
        (
            "2026-11-21 10:00:00,123 - loader - ERROR - the licence server said no",
            "loader - ERROR - the licence server said no",
        ),
        ("[ERROR] no frames came", "[ERROR] no frames came"),
        (
            "time=2026-11-21T10:00:00Z level=error msg=\"no frames came\"",
            "time=2026-11-21T10:00:00Z level=error msg=\"no frames came\"",
        ),
        (
            "fatal: the index is of another version",
            "fatal: the index is of another version",
        ),
    ] {
        check(text, "last-words", &json!({"family": "error", "message": message}));
    }
}

#[test]
fn words_of_failure_are_no_failure_by_themselves() {
    let told = told("the simulation has become unstable and was aborted\n");
    assert_eq!(told, [("last-words".to_owned(), "complaint".to_owned(), false)]);
}

#[test]
fn what_only_sounds_bad_is_left_alone() {
    for text in [
        "INFO: the last run failed, starting anew",
        "2026-11-21 10:00:00,123 WARNING the cache is missing",
        "host:1:2 [0] NCCL INFO NET/Plugin : libnccl-net.so: cannot open shared object file",
        "12 files read, 0 errors",
        "  \"CUDA error: system not yet initialized\" -> start the fabric manager",
        "ERROR could not reach the mirror, trying again in 5 s",
        "E1118 10:12:44.6 2081 select.py:2100] [0/0] out of resource: shared memory\nE1118 10:12:44.6 2081 select.py:2100] [0/0] Ignoring this choice.",
    ] {
        let told = told(text);
        assert!(told.is_empty(), "{text} gave {told:?}");
    }
}

#[test]
fn complaints_are_told_only_where_nothing_else_is() {
    let text = "the loader failed\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: 3\n";
    assert_eq!(kinds(text), ["python-exception"]);
}

#[test]
fn what_a_library_logs_before_it_raises_is_told() {
    let raised = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nRuntimeError: no engine\n";
    assert_eq!(
        kinds(&format!("[TRT] [E] the plan is of another version\n{raised}")),
        ["last-words", "python-exception"]
    );
    let long_ago = format!(
        "[TRT] [E] the plan is of another version\n{}{raised}",
        "building\n".repeat(9)
    );
    assert_eq!(kinds(&long_ago), ["python-exception"]);
}

fn kinds(text: &str) -> Vec<String> {
    told(text).into_iter().map(|(kind, ..)| kind).collect()
}

#[test]
fn ways_in_which_it_goes_on_are_known() {
    let raised = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nRuntimeError: no engine\n";
    for after in [
        "[I 2025-03-02 11:11:20,410] Trial 2 finished with value: 0.74 and parameters: {'w': 1}.",
        "Trial train_00003 completed after 10 iterations at 2024-05-10 10:21:50.",
        "INFO 2026-02-02 12:54:44,119 serve 15900 -- Application 'default' is ready at http://127.0.0.1:8000/.",
        "--- PASS: TestLaunch (0.31s)\nPASS\nok  \texample.org/gpu\t1.204s",
    ] {
        let told = told(&format!("{raised}{after}\n"));
        assert!(!told.iter().any(|(.., primary)| *primary), "{after}: {told:?}");
    }
}

#[test]
fn tests_of_which_one_failed_excuse_nothing() {
    let error = "RuntimeError: CUDA error: an illegal memory access was encountered\n";
    for after in [
        "--- FAIL: TestLaunch (0.31s)\nFAIL\nFAIL\texample.org/gpu\t1.204s\nok  \texample.org/util\t0.1s\n",
        "Test FAILED\nvectorAdd: Test PASSED\nTest PASSED\n",
    ] {
        let told = told(&format!("{error}{after}"));
        assert!(told.iter().any(|(.., primary)| *primary), "{after}: {told:?}");
    }
}

#[test]
fn a_server_that_does_without_a_model_has_survived() {
    let failed = "E0311 09:12:03.401122 71 lifecycle.cc:654] \"failed to load 'ranker' version 1: no such file\"\n";
    assert_eq!(kinds(failed), ["last-words"]);
    let started = "I0311 09:12:04.401122 71 http_server.cc:4692] \"Started HTTPService at 0.0.0.0:8000\"\n";
    assert!(kinds(&format!("{failed}{started}")).is_empty());
}

#[test]
fn the_next_command_of_a_terminal_is_no_progress() {
    let refused = "me@box:~$ docker run x\nnvidia-container-cli: initialization error: nvml error\n";
    let shown = "GET /health HTTP/1.1\" 200\n".repeat(3);
    assert_eq!(
        kinds(&format!("{refused}me@box:~$ cat access.log\n{shown}")),
        ["last-words"]
    );
    assert!(kinds(&format!("{refused}{shown}")).is_empty());
}

#[test]
fn a_message_that_breaks_off_goes_on_in_the_next_line() {
    let text = "ERROR: the tensor was not made:\n  Lantern is not loaded.\n";
    let message = "ERROR: the tensor was not made:\nLantern is not loaded.";
    check(text, "last-words", &json!({"family": "error", "message": message}));
}

#[test]
fn a_server_that_goes_on_serving_has_survived() {
    let text = "ERROR 10-10 08:41:20 [chat.py:201] ValueError: the prompt is too long\nINFO:     10.2.0.9:4 - \"POST /v1/completions HTTP/1.1\" 200 OK\n";
    assert!(events(text).is_empty(), "{:?}", events(text));
    let bar = "ERROR the shard is damaged\nRunning: 78%|███████▊  | 3120/4000 [22:04<06:10, 2.37 block/s]\n";
    assert!(told(bar).is_empty());
}

#[test]
fn tests_that_passed_meant_their_failures() {
    let error = "RuntimeError: CUDA error: an illegal memory access was encountered\n";
    assert!(told(error).iter().any(|(.., primary)| *primary));
    let passed = format!("{error}===== 9 passed, 1 skipped in 12.41s =====\n");
    assert!(!told(&passed).iter().any(|(.., primary)| *primary));
    for passed in [
        "14: [  PASSED  ] 5 tests.\n",
        "100% tests passed, 0 tests failed out of 14\n",
        "test result: ok. 6 passed; 0 failed; 0 ignored\n",
    ] {
        let told = told(&format!("{error}{passed}"));
        assert!(!told.iter().any(|(.., primary)| *primary), "{passed}");
    }
    let failed = format!("{error}===== 1 failed, 9 passed in 12.41s =====\n");
    assert!(told(&failed).iter().any(|(.., primary)| *primary));
}

#[test]
fn finalizers_that_raise_end_nothing() {
    let text = "Traceback (most recent call last):\n  File \"/usr/lib/python3.11/multiprocessing/util.py\", line 300, in _run_finalizers\n    finalizer()\n  File \"/usr/lib/python3.11/shutil.py\", line 438, in rmtree\n    os.unlink(name)\nOSError: [Errno 16] Device or resource busy: '.nfs01'\n";
    assert_eq!(told(text), [("python-exception".to_owned(), String::new(), false)]);
}

#[test]
fn what_a_remote_actor_raised_is_read_behind_what_ray_says() {
    let text = "Traceback (most recent call last):\n  File \"main.py\", line 8, in <module>\n    ray.get(ready)\nray.exceptions.ActorDiedError: The actor died because of an error raised in its creation task, ray::W.__init__() (pid=7)\n  File \"w.py\", line 12, in __init__\n    import acme\nModuleNotFoundError: No module named 'acme'\n";
    let raised: Vec<Value> = events(text)
        .into_iter()
        .map(|event| event["detail"]["exception"].clone())
        .collect();
    assert_eq!(raised, ["ray.exceptions.ActorDiedError", "ModuleNotFoundError"]);
}

#[test]
fn what_a_search_or_a_loop_goes_on_after_was_survived() {
    let raised = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: no such solver\n";
    let trials = "Trial 1 finished with value: 0.7\nTrial 2 pruned.\nTrial 3 finished with value: 0.8\n";
    let skipped = "WARNING: ran out of memory, skipping batch\n".repeat(3);
    for (before, after) in [
        ("", trials),
        ("", skipped.as_str()),
        ("30 fits failed with the following error:\n", ""),
    ] {
        let told = told(&format!("{before}{raised}{after}"));
        assert!(
            !told.iter().any(|(.., primary)| *primary),
            "{before}{after} gave {told:?}"
        );
    }
    let cancelled = raised.replace("ValueError: no such solver", "asyncio.exceptions.CancelledError");
    assert!(!told(&cancelled).iter().any(|(.., primary)| *primary));
}

#[test]
fn what_trackers_sum_up_at_the_end_is_no_progress() {
    let summary = "wandb: train/epoch 0.52\nwandb: train/loss 1.4358\nwandb: global_step 260\nwandb: train/loss 7\n";
    let text = format!(
        "step 1 loss 2\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\nOSError: x\n{summary}"
    );
    let all = events(&text);
    assert!(all.iter().all(|event| event["survived"] != true), "{all:#?}");
}

#[test]
fn a_message_below_a_printed_stack_is_why() {
    let stack =
        "  File \"train.py\", line 284, in <module>\n    main()\n  File \"train.py\", line 15, in main\n    a @ b\n";
    check(
        &format!("0/15 steps\n{stack}the two are not on the same device\n"),
        "last-words",
        &json!({"family": "error", "message": "the two are not on the same device"}),
    );
    assert!(
        events(&format!(
            "{stack}Traceback (most recent call last):\n{stack}OSError: x\n"
        ))
        .len()
            == 1
    );
}

#[test]
fn deepspeed_says_which_signal_ended_it() {
    check(
        "[2026-02-20 20:27:14,902] [INFO] [launch.py:328:sigkill_handler] Main process received SIGINT, exiting",
        "process-exit",
        &json!({"signal": "SIGINT"}),
    );
}

#[test]
fn what_is_supposed_has_not_happened() {
    for text in [
        "aborts the run when the loss is nan",
        "set this if a gradient becomes inf",
        "                        what to do when the loss is nan; `raise` stops with it (default: raise)",
    ] {
        assert_eq!(events(text), Vec::<Value>::new(), "{text}");
    }
    check("the loss is nan", "divergence", &json!({"quantity": "loss"}));
}

#[test]
fn what_a_script_misses_once_its_program_has_ended_is_no_news() {
    let (ended, missed) = (
        "srun: error: n1: task 0: Exited with exit code 1\n",
        "cp: cannot stat 'train.err': No such file or directory\n",
    );
    let is_of_files = |text: &str| told(text).iter().any(|(_, family, _)| family == "files");
    assert!(is_of_files(&format!("{missed}{ended}")));
    assert!(!is_of_files(&format!("{ended}{missed}")));
}

#[test]
fn who_was_asked_to_end_says_so_where_something_fails_then() {
    let stopped = ("last-words".to_owned(), "stopped".to_owned(), true);
    for (text, expected) in [
        ("INFO Received SIGTERM\nERROR the engine is dead\n", true),
        ("received SIGTERM, saving checkpoint\nsaved\n", false),
        (
            "ValueError: no\nINFO Received SIGTERM\nERROR the engine is dead\n",
            false,
        ),
    ] {
        assert_eq!(told(text).contains(&stopped), expected, "{text}");
    }
}

#[test]
fn kernel_modules_name_themselves_and_raise_nothing() {
    let text = "[Wed Oct  8 13:02:19 2025] LustreError: 167-0: this client was evicted by scratch\n";
    assert!(told(text).iter().all(|(kind, _, _)| kind != "python-exception"));
}
