//! Jobs of many processes, and those that crash for real.

use super::{Report, compare_all, reported, way};
use crate::crash::kernel_writes_files;
use crate::support::Home;

#[test]
fn jobs_of_many_processes_end_the_same() {
    compare_all(&[
        way("exec $RUN sh -c '(kill -SEGV $$; :) & wait; exit 4'"),
        way("exec $RUN sh -c 'sh -c \"kill -SEGV \\$\\$\"; exit 0'"),
        way("exec $RUN sh -c 'sh -c \"kill -KILL \\$\\$\"; echo $?; exit 4'"),
        way("exec $RUN sh -c 'sleep 0.2 & exit 4'"),
        way("exec $RUN sh -c 'setsid sleep 0.2 & exit 4'"),
        way("exec $RUN setsid -w sh -c 'exit 4'"),
        way("exec $RUN setsid -w sh -c 'kill -ABRT $$'"),
        way("exec $RUN sh -c 'for i in 1 2 3 4 5 6 7 8; do sh -c \"exit $i\" & done; wait; exit 4'"),
        way("exec $RUN sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done'"),
        way("exec $RUN python3 -c 'import os; os.fork() or os._exit(3); print(os.wait()[1]); os.abort()'"),
        way(
            "exec $RUN python3 -c 'import os; os.killpg(0, 9) if os.getpgrp() == os.getpid() else os.kill(os.getpid(), 9)'",
        ),
        way(
            "exec $RUN python3 -c 'import multiprocessing as m, os; p = m.Process(target=os.abort); p.start(); p.join(); print(p.exitcode); raise SystemExit(2)' 2>/dev/null",
        ),
        reported(
            "$RUN sh -c 'echo $$ > pid; kill -STOP $$; exit 6' & until [ -s pid ]; do sleep 0.05; done; sleep 0.3; kill -CONT $(cat pid); rm pid; wait $!; echo $?",
            Report::Code(6),
        ),
        reported(
            "$RUN sh -c 'touch begun; exec sleep 60' & until rm begun 2>/dev/null; do sleep 0.05; done; sleep 0.3; kill -STOP $!; kill -CONT $!; kill $!; wait $!; echo $?",
            Report::Signal("SIGTERM"),
        ),
        reported("timeout 1.2 $RUN sleep 60; echo $?", Report::Signal("SIGTERM")),
        reported(
            "{ timeout -s KILL 0.3 $RUN sleep 60; } 2>/dev/null; echo $?",
            Report::None,
        ),
        reported("timeout -s USR1 1.2 $RUN sleep 60; echo $?", Report::Signal("SIGUSR1")),
        reported("timeout --foreground -s INT 0.3 $RUN sleep 60; echo $?", Report::None),
    ]);
}

/// Under us twice: each makes a report of its own, in a folder of its own.
#[test]
fn a_job_that_is_watched_twice_ends_the_same() {
    let jobs = [
        ("exit 3", Report::Code(3)),
        ("echo out; echo err >&2; kill -SEGV $$", Report::Signal("SIGSEGV")),
        ("sleep 0.2 & exit 4", Report::Code(4)),
        ("cat; exit 5", Report::Code(5)),
        ("exit 0", Report::None),
    ];
    let ways = jobs.map(|(job, report)| {
        let script =
            format!("set -- $RUN; exec $RUN ${{1:+$1 run --quiet --no-diagnosis --}} sh -c '{job}' < /etc/hostname");
        reported(script.leak(), report)
    });
    compare_all(&ways);
}

#[test]
fn faults_of_every_kind_end_the_same() {
    const FAULTY: &str = "import ctypes, os, signal, sys
";
    let faults = [
        "ctypes.string_at(0)",
        "ctypes.string_at(0xdeadbeef000)",
        "os.abort()",
        "sys.setrecursionlimit(10**9); f = lambda: f(); import threading; threading.stack_size(65536); t = threading.Thread(target=ctypes.CDLL(None).abort); t.start(); t.join()",
        "ctypes.CDLL(None).raise_ = None; os.kill(os.getpid(), signal.SIGBUS)",
        "ctypes.CDLL(None).free(8)",
        "os.kill(os.getpid(), signal.SIGFPE)",
        "import mmap; f = open('m', 'w+b'); f.truncate(4096); m = mmap.mmap(f.fileno(), 4096); f.truncate(0); os.unlink('m'); m[0]",
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28)); x = bytearray(1 << 30)",
        "import faulthandler; faulthandler._sigsegv()",
        "signal.alarm(1); signal.pause()",
        "signal.setitimer(signal.ITIMER_REAL, 0.1); signal.pause()",
        "import threading, _thread; threading.Timer(0.1, lambda: os.kill(os.getpid(), 15)).start(); signal.pause()",
        "import threading; threading.Timer(0.1, lambda: os._exit(12)).start(); signal.pause()",
        "raise MemoryError",
        "raise KeyboardInterrupt",
        "print('text', end=''); os.abort()",
        "sys.stdout.write('x' * 100000); sys.stdout.flush(); os.abort()",
    ];
    let scripts: Vec<String> = faults
        .iter()
        .map(|fault| format!("exec $RUN python3 -c \"{FAULTY}{fault}\""))
        .collect();
    let ways: Vec<_> = scripts.into_iter().map(|script| way(script.leak())).collect();
    compare_all(&ways);
}

#[test]
fn core_dumps_are_where_they_would_be_without_us() {
    compare_all(&[
        way("ulimit -c 0; exec $RUN sh -c 'kill -SEGV $$'"),
        way("ulimit -S -c 0; exec $RUN sh -c 'kill -SEGV $$'"),
        way("ulimit -S -c 0; exec $RUN sh -c 'sh -c \"kill -SEGV \\$\\$\"; exit 0'"),
        way("ulimit -S -c 0; exec $RUN sh -c 'mkdir d; cd d; sh -c \"kill -SEGV \\$\\$\"; exit 3'"),
        way(
            "ulimit -S -c 0; exec $RUN sh -c 'sh -c \"kill -ABRT \\$\\$\" & sh -c \"kill -FPE \\$\\$\" & wait; exit 0'",
        ),
    ]);
}

/// Processes that die when the job ends, or after it, where they dump core only because of us.
#[test]
fn who_outlives_a_job_leaves_no_core_that_it_would_not_leave() {
    compare_all(&[
        reported(
            "ulimit -S -c 0; $RUN sh -c 'for i in $(seq 30); do sh -c \"kill -SEGV \\$\\$\" & done; exit 0' 2>/dev/null | cat; \
             sleep 0.2",
            Report::None,
        ),
        reported(
            "ulimit -S -c 0; $RUN sh -c 'sh -c \"sleep 0.7; kill -SEGV \\$\\$\" & sleep 0.3; exit 0' 2>/dev/null | cat",
            Report::None,
        ),
        reported(
            "ulimit -S -c 0; $RUN sh -c 'setsid sh -c \"sleep 0.7; kill -ABRT \\$\\$\" & sleep 0.3; exit 3' 2>/dev/null | cat",
            Report::Code(3),
        ),
        reported(
            "ulimit -S -c 0; $RUN sh -c '(sleep 1.8; ulimit -c) & sleep 0.3; exit 0' | cat",
            Report::None,
        ),
        // What it set for itself stays.
        reported(
            "ulimit -S -c 0; $RUN sh -c '(ulimit -S -c 100; sleep 1.8; ulimit -c) & sleep 0.3; exit 0' | cat",
            Report::None,
        ),
        // Large enough to be written for a while.
        reported(
            "ulimit -S -c 0; $RUN sh -c 'python3 -c \"import os; x = bytearray(os.urandom(1 << 20) * 300); os.abort()\" & \
             until [ -e core ]; do sleep 0.01; kill -0 $! || break; done; exit 0' 2>/dev/null | cat",
            Report::None,
        ),
        // Gone before anybody saw where it went.
        way("ulimit -S -c 0; mkdir -p a/b; exec $RUN sh -c 'cd a/b; kill -SEGV $$'"),
        way("ulimit -S -c 0; mkdir d; cd d; exec $RUN sh -c 'rmdir ../d; cd ..; kill -SEGV $$'"),
    ]);
}

/// What others of the process group leave is theirs: a script starts several programs in one.
#[test]
fn cores_of_others_stay_where_they_are() {
    const OTHER: &str = "exec 2>/dev/null; ulimit -S -c 0; mkdir d; (ulimit -S -c unlimited; cd d; sleep 0.3; sh -c \"kill -SEGV \\$\\$\") &";
    let jobs = [
        ("cd d; sleep 0.8; exit 0", Report::None),
        ("cd d; sleep 0.8; exit 3", Report::Code(3)),
        ("cd d; (sleep 0.8; echo late) & exit 0", Report::None),
    ];
    let beside =
        jobs.map(|(job, report)| reported(format!("{OTHER} $RUN sh -c '{job}' | cat; wait; ls d").leak(), report));
    compare_all(&beside);
}

/// The kernel would remove what is called like a core dump.
#[test]
fn what_is_called_like_a_core_dump_stays() {
    compare_all(&["echo data > core; chmod 600 core", "echo data > t; ln -s t core", "mkdir core"].map(|made| {
        let script = format!("ulimit -S -c 0; {made}; {{ $RUN sh -c 'kill -SEGV $$'; }} 2>/dev/null; ls -l core | cut -c1-10; cat core");
        reported(script.leak(), Report::Signal("SIGSEGV"))
    }));
}

#[test]
fn two_runs_in_one_process_group_leave_each_other_alone() {
    let home = Home::new();
    // The first ends well while the second runs, which crashes after that. It is one level deeper, so that the second
    // could be taken for one of its orphans.
    let script = "ulimit -S -c 0; ulimit -H -c > hard
        bash -c '$RUN --output first -- sh -c \"echo > one; until [ -e two ]; do sleep 0.02; done\"; :' &
        first=$!
        until [ -e one ]; do sleep 0.02; done
        $RUN --output second -- sh -c 'echo > two; until [ -e over ]; do sleep 0.02; done; ulimit -S -c > soft; kill -SEGV $$' &
        wait $first; echo > over; wait; ls";
    let mut bash = home.isolated("bash");
    bash.args(["--norc", "-c", script]);
    bash.env(
        "RUN",
        format!("{} run --quiet --no-diagnosis", env!("CARGO_BIN_EXE_whycrash")),
    );
    let output = bash.output().expect("bash runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "hard\none\nover\nsecond\nsoft\ntwo\n", "{output:?}");
    let [hard, soft] = ["hard", "soft"].map(|name| std::fs::read_to_string(home.work().join(name)).expect("a limit"));
    assert_eq!(soft, hard);
    let has_core = home.work().join("second/core").is_file();
    assert_eq!(has_core, kernel_writes_files() && hard != "0\n");
}
