//! Jobs of many processes, and those that crash for real.

use super::{Report, compare_all, reported, way};

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
            "$RUN sh -c 'echo $$ > pid; kill -STOP $$; exit 6' & sleep 0.5; kill -CONT $(cat pid); rm pid; wait $!; echo $?",
            Report::Code(6),
        ),
        reported(
            "$RUN sh -c 'exec sleep 60' & sleep 0.3; kill -STOP $!; kill -CONT $!; kill $!; wait $!; echo $?",
            Report::Signal("SIGTERM"),
        ),
        reported("timeout 0.3 $RUN sleep 60; echo $?", Report::Signal("SIGTERM")),
        reported(
            "{ timeout -s KILL 0.3 $RUN sleep 60; } 2>/dev/null; echo $?",
            Report::None,
        ),
        reported("timeout -s USR1 0.3 $RUN sleep 60; echo $?", Report::Signal("SIGUSR1")),
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
            "ulimit -S -c 0; $RUN sh -c '(sleep 0.6; ulimit -c) & sleep 0.3; exit 0' | cat",
            Report::None,
        ),
        // What it set for itself stays.
        reported(
            "ulimit -S -c 0; $RUN sh -c '(ulimit -S -c 100; sleep 0.6; ulimit -c) & sleep 0.3; exit 0' | cat",
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
    ]);
}
