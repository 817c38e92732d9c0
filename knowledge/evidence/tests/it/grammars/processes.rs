//! Processes that ended, and who tells of it.

use serde_json::json;

use super::{check, events};

#[test]
fn dataloader_workers() {
    for (text, expected) in [
        (
            "RuntimeError: DataLoader worker (pid 734) is killed by signal: Killed. ",
            json!({"pid": 734, "signal": "Killed", "shared_memory": false}),
        ),
        (
            "RuntimeError: DataLoader worker (pid 734) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
            json!({"signal": "Bus error", "shared_memory": true}),
        ),
        (
            "RuntimeError: DataLoader worker (pid 9) exited unexpectedly with exit code 7. Details are lost due to multiprocessing.",
            json!({"pid": 9, "exit_code": 7}),
        ),
        (
            "RuntimeError: DataLoader worker (pid(s) 9, 10) exited unexpectedly",
            json!({"pid": 9, "signal": null, "exit_code": null}),
        ),
        (
            "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
            json!({"signal": "Bus error", "shared_memory": true}),
        ),
        (
            "ERROR: Unexpected segmentation fault encountered in worker.",
            json!({"signal": "Segmentation fault", "shared_memory": false}),
        ),
    ] {
        check(text, "dataloader-worker", &expected);
    }
    for (text, expected) in [
        (
            "RuntimeError: unable to mmap 4096 bytes from file </torch_1_2_3>: Cannot allocate memory (12)",
            json!({"operation": "mmap", "bytes": 4096, "object": "/torch_1_2_3", "reason": "Cannot allocate memory"}),
        ),
        (
            "RuntimeError: unable to open shared memory object </torch_1_2_3> in read-write mode: Too many open files (24)",
            json!({"operation": "descriptors"}),
        ),
        (
            "RuntimeError: unable to resize file <filename not specified> to the right size: Invalid argument (22)",
            json!({"operation": "resize", "reason": "Invalid argument"}),
        ),
        (
            "RuntimeError: unable to allocate shared memory(shm) for file </torch_1_2_3>: No space left on device (28)",
            json!({"operation": "allocate", "object": "/torch_1_2_3", "reason": "No space left on device"}),
        ),
        (
            "RuntimeError: received 0 items of ancdata",
            json!({"operation": "descriptors"}),
        ),
    ] {
        check(text, "shared-memory", &expected);
    }
}

#[test]
fn native_code_that_gave_up() {
    for (text, expected) in [
        (
            "free(): double free detected in tcache 2",
            json!({"family": "glibc", "message": "free(): double free detected in tcache 2"}),
        ),
        ("malloc(): corrupted top size", json!({"family": "glibc"})),
        ("munmap_chunk(): invalid pointer", json!({"family": "glibc"})),
        (
            "double free or corruption (!prev)",
            json!({"family": "glibc", "message": "double free or corruption (!prev)"}),
        ),
        ("corrupted size vs. prev_size", json!({"family": "glibc"})),
        (
            "*** Error in `python': free(): invalid next size (fast): 0x000055d1 ***",
            json!({"family": "glibc", "message": "free(): invalid next size (fast)"}),
        ),
        (
            "*** glibc detected *** /opt/bin/python2.7: free(): invalid pointer: 0x0000000004e27b30 ***",
            json!({"family": "glibc", "message": "free(): invalid pointer"}),
        ),
        (
            "*** stack smashing detected ***: terminated",
            json!({"family": "glibc", "message": "*** stack smashing detected ***"}),
        ),
        (
            "*** buffer overflow detected ***: terminated",
            json!({"family": "glibc"}),
        ),
        (
            "python: /src/ext.cpp:35: void f(at::Tensor): Assertion `x.is_contiguous() && \"contiguous\"' failed.",
            json!({"family": "assertion", "file": "/src/ext.cpp", "line": 35, "function": "void f(at::Tensor)", "message": "x.is_contiguous() && \"contiguous\""}),
        ),
        (
            "RuntimeError: x.numel() == 0 INTERNAL ASSERT FAILED at \"/src/ext.cpp\":31, please report a bug to PyTorch. broken",
            json!({"family": "torch-check", "file": "/src/ext.cpp", "line": 31, "message": "x.numel() == 0 broken"}),
        ),
        ("pure virtual method called", json!({"family": "pure-virtual"})),
        (
            "terminate called without an active exception",
            json!({"family": "cpp-exception", "message": "terminate called without an active exception"}),
        ),
        (
            "terminate called after throwing an instance of 'std::runtime_error'\n  what():  loss is NaN",
            json!({"family": "cpp-exception", "exception": "std::runtime_error", "message": "loss is NaN"}),
        ),
        (
            "libc++abi: terminating due to uncaught exception of type std::runtime_error: loss is NaN",
            json!({"exception": "std::runtime_error", "message": "loss is NaN"}),
        ),
        (
            "thread 'main' (31881) panicked at src/main.rs:22:11:\ncalled `Result::unwrap()` on an `Err` value: 7\nnote: run with",
            json!({"family": "rust-panic", "file": "src/main.rs", "line": 22, "function": "main", "message": "called `Result::unwrap()` on an `Err` value: 7"}),
        ),
        (
            "thread 'io' panicked at 'index out of bounds', src/lib.rs:3:5",
            json!({"family": "rust-panic", "message": "index out of bounds", "line": 3}),
        ),
        (
            "F1121 09:53:46.407000 29074 dispatch.cc:88] Check failed: a == b (1 vs. 2)",
            json!({"family": "glog-fatal", "pid": 29074}),
        ),
    ] {
        check(text, "native-abort", &expected);
    }
}

#[test]
fn processes_that_ended() {
    for (text, expected) in [
        ("Segmentation fault (core dumped)", json!({"signal": "SIGSEGV"})),
        ("Killed", json!({"signal": "SIGKILL"})),
        (
            "run.sh: line 3:  4711 Bus error               (core dumped) python train.py",
            json!({"signal": "SIGBUS", "pid": 4711}),
        ),
        (
            "srun: error: node7: task 3: Exited with exit code 1",
            json!({"exit_code": 1, "signal": null}),
        ),
        (
            "srun: error: node7: tasks 0-3: Segmentation fault (core dumped)",
            json!({"signal": "SIGSEGV"}),
        ),
        (
            "subprocess.CalledProcessError: Command '['nvcc']' died with <Signals.SIGKILL: 9>.",
            json!({"signal": "SIGKILL"}),
        ),
        (
            "Process trainer exited with code 137",
            json!({"exit_code": 137, "signal": "SIGKILL"}),
        ),
        (
            "Process finished with exit code 139 (interrupted by signal 11:SIGSEGV)",
            json!({"exit_code": 139, "signal": "SIGSEGV"}),
        ),
        (
            "command terminated with exit code 137",
            json!({"exit_code": 137, "signal": "SIGKILL"}),
        ),
        ("      Exit Code:    137", json!({"exit_code": 137})),
        (
            "llama-1 exited with code 132",
            json!({"exit_code": 132, "signal": "SIGILL"}),
        ),
        (
            "[2026-11-21 10:00:00,120] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python3', '-u', 'train.py'] exits with return code = -11",
            json!({"exit_code": -11, "signal": "SIGSEGV"}),
        ),
        (
            "srun: error: gpu17: task 3: Out Of Memory",
            json!({"signal": "SIGKILL"}),
        ),
        (
            "slurmstepd: error: *** JOB 4711 ON gpu17 CANCELLED AT 2026-11-21T10:00:00 DUE TO TIME LIMIT ***",
            json!({"signal": "SIGTERM"}),
        ),
    ] {
        check(text, "process-exit", &expected);
    }
}

#[test]
fn what_runs_a_process_has_words_of_its_own_for_its_end() {
    for (text, expected) in [
        (
            "[2024-05-21T03:44:12.611+0000] {local_task_job_runner.py:228} INFO - Task exited with return code Negsignal.SIGKILL",
            json!({"signal": "SIGKILL"}),
        ),
        (
            "[2024-05-21T03:44:12.611+0000] {local_task_job_runner.py:228} INFO - Task exited with return code -11",
            json!({"signal": "SIGSEGV", "exit_code": -11}),
        ),
        (
            "2025-01-14 23:52:19,408 WARN exited: train (terminated by SIGABRT; not expected)",
            json!({"signal": "SIGABRT"}),
        ),
        (
            "[detector-3] process has died [pid 2231, exit code -11, cmd /ws/detector __name:=detector].",
            json!({"signal": "SIGSEGV", "exit_code": -11}),
        ),
        (
            "The program '[4711] train.exe' has exited with code -1073741819 (0xc0000005).",
            json!({"signal": "SIGSEGV", "exit_code": -1_073_741_819}),
        ),
        (
            "Process for flow run 'quick-fox' exited with status code: -9",
            json!({"signal": "SIGKILL", "exit_code": -9}),
        ),
        (
            "2025-06-02T07:04:12.4000000Z ##[error]Process completed with exit code 143.",
            json!({"signal": "SIGTERM", "exit_code": 143}),
        ),
    ] {
        check(text, "process-exit", &expected);
    }
    for text in [
        "[2024-05-21T03:44:12.611+0000] {local_task_job_runner.py:228} INFO - Task exited with return code 0",
        "2025-01-14 23:52:19,408 INFO exited: train (exit status 0; expected)",
        "The program '[4711] train.exe' has exited with code 0 (0x0).",
    ] {
        assert!(events(text).is_empty(), "{text}");
    }
}

#[test]
fn supervisors_tell_the_signal_by_its_number() {
    for (text, signal) in [
        (
            "mpirun noticed that process rank 3 with PID 20113 on node n1 exited on signal 9 (Killed).",
            "SIGKILL",
        ),
        (
            "prterun noticed that process rank 0 with PID 71 on node gpu-2 exited on signal 11 (Segmentation fault: 11).",
            "SIGSEGV",
        ),
        (
            "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)",
            "SIGKILL",
        ),
        (
            "worker 4 (pid 881) was terminated by signal 6, restarting it is off",
            "SIGABRT",
        ),
        ("Child process died with signal 7.", "SIGBUS"),
    ] {
        check(text, "process-exit", &json!({"signal": signal}));
    }
    for text in [
        "Killed by signal 2 handler installed",
        "process 12 installed its handler for signal 11",
        "sent to process 12: signal 9 of the radio",
    ] {
        assert!(events(text).is_empty(), "{text}");
    }
}

#[test]
fn shells_tell_of_limits_and_of_what_they_can_not_run() {
    for (text, signal) in [
        (
            "bash: line 1:  3471 CPU time limit exceeded python3 prepare.py",
            "SIGXCPU",
        ),
        ("run.sh: line 8: 23190 File size limit exceeded./train", "SIGXFSZ"),
        (
            "run.sh: line 4:   811 Hangup                  python3 train.py",
            "SIGHUP",
        ),
        ("Alarm clock", "SIGALRM"),
    ] {
        check(text, "process-exit", &json!({"signal": signal}));
    }
    for text in [
        "run.sh: line 5: syntax error: unexpected end of file",
        "launch.sh: line 12: NNODES: unbound variable",
    ] {
        check(text, "last-words", &json!({"family": "shell"}));
    }
    let refused = "sbatch: error: Batch script contains DOS line breaks";
    check(refused, "last-words", &json!({"family": "scheduler"}));
    assert!(events("step 4: time limit exceeded by no request").is_empty());
}

#[test]
fn runtimes_tell_of_a_stack_that_ran_over() {
    for text in [
        "thread 'main' (29486) has overflowed its stack",
        "thread 'tokio-runtime-worker' has overflowed its stack",
        "runtime: goroutine stack exceeds 1000000000-byte limit",
    ] {
        check(text, "native-abort", &json!({"family": "stack-overflow"}));
    }
}

#[test]
fn commands_say_what_they_lacked() {
    for (text, family) in [
        ("cp: cannot stat 'ckpt/last.pt': No such file or directory", "files"),
        (
            "cannot open raw/corpus.txt: No such file or directory at clean.pl line 3.",
            "files",
        ),
        ("cp: error writing 'out/last.pt': No space left on device", "disk"),
        (
            "mkdir: cannot create directory 'out/run-17': Read-only file system",
            "permission",
        ),
        ("tar: Unexpected EOF in archive", "archive"),
        ("gzip: stdin: unexpected end of file", "archive"),
        ("curl: (6) Could not resolve host: weights.invalid", "network"),
        ("ssh: connect to host node-2 port 22: Connection refused", "network"),
        ("curl: (22) The requested URL returned error: 503", "network"),
        ("curl: (22) The requested URL returned error: 403", "refused"),
        (
            "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
            "memory",
        ),
        (
            "ERROR: TensorBoard could not bind to port 6006, it was already in use",
            "port",
        ),
        ("│ Missing option '--data'.                      │", "usage"),
        ("ERROR: Could not consume arg: --warmpu", "usage"),
        ("Error: Unable to access jarfile tokenizer-3.1.jar", "interpreter"),
        (
            "error: failed to fetch some objects from 'https://git.invalid/a.git/info/lfs'",
            "refused",
        ),
        ("ERROR: No matching distribution found for flash-attn==9.9", "package"),
        (
            "mpirun was unable to find the specified executable file, and therefore",
            "shell",
        ),
        (
            "srun: error: Application launch failed: Job credential expired",
            "scheduler",
        ),
        (
            "Intel MKL FATAL ERROR: Cannot load libmkl_avx2.so.1 or libmkl_def.so.1.",
            "loader",
        ),
        ("Error merging checkpoint=file", "usage"),
        (
            "FATAL:   container creation failed: mount /data->/data error",
            "container",
        ),
    ] {
        check(text, "last-words", &json!({"family": family}));
        let and_on = format!("{text}\nstep 1 loss 2.0\nstep 2 loss 1.9\n");
        assert!(events(&and_on).is_empty(), "{text} was survived");
    }
}

#[test]
fn exceptions_that_somebody_else_tells_of_last() {
    for text in [
        "ERROR: ValueError: seven is not eight",
        "[ERROR] ValueError: seven is not eight",
        "ErrorMessage \"ValueError: seven is not eight\"",
        "FATAL: could not start: ValueError: seven is not eight",
        "the training failed: ValueError: seven is not eight",
    ] {
        let said = json!({"exception": "ValueError", "message": "seven is not eight"});
        check(text, "python-exception", &said);
        let and_on = format!("{text}\nstep 1 loss 2.0\nstep 2 loss 1.9\n");
        assert!(events(&and_on).is_empty(), "{text} was survived");
    }
    assert!(events("the upload failed: ConnectionError: reset; retrying").is_empty());
    let exhausted = events("OSError: [Errno 24] Too many open files");
    assert!(exhausted.iter().any(|event| event["kind"] == "python-exception"));
}

#[test]
fn tables_of_times_and_messages_are_read_as_their_lines() {
    let table = "1661791306172,Traceback (most recent call last):\n1661791306172,\"  File \"\"run.py\"\", line 6, in main\"\n\
                 1661791306173,    x[4]\n1661791306173,\"IndexError: index 4 is out of bounds, said \"\"x\"\"\"\n";
    let events = events(table);
    let said = json!("index 4 is out of bounds, said \"x\"");
    assert_eq!((events.len(), &events[0]["detail"]["message"]), (1, &said));
}

#[test]
fn a_subprocess_that_ended_had_its_own_last_words() {
    let ended = |exception: &str| {
        events(&format!(
            "tar: a.tar: Cannot open: No such file or directory\nTraceback (most recent call last):\n  File \"train.py\", \
             line 2, in <module>\n    unpack()\n{exception}: it ended\n"
        ))
    };
    let is_told = |events: &[serde_json::Value]| events.iter().any(|event| event["kind"] == "last-words");
    assert!(is_told(&ended("subprocess.CalledProcessError")));
    assert!(!is_told(&ended("ValueError")));
}

#[test]
fn scripts_of_node_end_with_an_error_of_theirs() {
    for (text, message) in [
        (
            "Error: ENOENT: no such file or directory, open 'a.jsonl'\n    at Object.open (node:fs:1:1)\n\nNode.js v20.20.2",
            "ENOENT: no such file or directory, open 'a.jsonl'",
        ),
        (
            "Error: Cannot find module 'fast-csv'\nRequire stack:\n- /a.js\n\nNode.js v20.20.2",
            "Cannot find module 'fast-csv'",
        ),
    ] {
        check(
            text,
            "python-exception",
            &json!({"exception": "Error", "message": message}),
        );
    }
    // Without Node's own last line it is a line that its program calls an error.
    check(
        "Error: ENOENT: no such file or directory, open 'a.jsonl'",
        "last-words",
        &json!({"family": "error"}),
    );
}
