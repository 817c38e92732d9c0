//! Programs that start others, in front of us and behind us.

use super::{Report, compare_all, reported, way};

#[test]
fn programs_that_start_others_see_what_they_would() {
    compare_all(&[
        way("exec stdbuf -oL $RUN sh -c 'echo out; exit 3'"),
        way("exec $RUN stdbuf -o0 -e0 sh -c 'echo out; kill -ABRT $$'"),
        way("exec $RUN env -i PATH=\"$PATH\" WAY_TO_DIE=\"$WAY_TO_DIE\" sh -c 'env | wc -l; exit 3'"),
        reported("echo 3 | xargs $RUN sh -c 'exit $0'; echo $?", Report::Code(3)),
        way("exec $RUN sh -c 'seq 8 | xargs -P 4 -n 1 sh -c \"exit \\$((\\$0 % 3))\"'"),
        reported(
            // Not `sleep 9 & wait`: timeout's signal goes to the whole group, and where sleep is gone before the shell has
            // run again, dash forgets its trap.
            "timeout --preserve-status -s TERM 1.2 $RUN sh -c 'trap \"exit 6\" TERM; while :; do sleep 9; done' 2>/dev/null; echo $?",
            Report::Code(6),
        ),
        way("exec $RUN timeout -s SEGV 0.3 sleep 9 2>/dev/null"),
        way("exec $RUN nohup sh -c 'kill -HUP $$; exit 4' 2>/dev/null"),
        way("exec $RUN setsid -f sh -c 'sleep 0.2; echo late'"),
        way("exec $RUN script -qec 'test -t 1 && echo terminal; exit 3' /dev/null"),
        way("exec script -qec \"$RUN sh -c 'test -t 1 && echo terminal; exit 3'\" /dev/null"),
        way("exec $RUN su -s /bin/sh -c 'id -u; exit 3' nobody 2>/dev/null"),
        way("exec $RUN runuser -u nobody -- sh -c 'kill -SEGV $$' 2>/dev/null"),
        way(
            "exec $RUN $(ls /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 2>/dev/null) $(command -v sh) -c 'exit 3'",
        ),
    ]);
}

/// make(1) hands its helpers descriptors, by number.
#[test]
fn makes_jobs_run_side_by_side() {
    const MAKEFILE: &str = "printf 'all: a b c\\na b c:\\n\\t@sleep 0.1; echo made > made-$@\\nbroken: a b c\\n\\t@kill -SEGV $$$$\\n' \
        > Makefile";
    const ABOVE: &str = "printf 'up:\\n\\t+@$$RUN $(MAKE) -f Makefile all\\n\\t+@$$RUN sh -c \"exit 4\"\\n' > Above";
    let with = |rest: &str, report| {
        let script = format!("{MAKEFILE}; {ABOVE}; {rest} 2>&1 | sort; echo ${{PIPESTATUS[0]}}");
        reported(script.leak(), report)
    };
    compare_all(&[
        with("$RUN make -j3 all", Report::None),
        with("$RUN make -j3 all broken", Report::Code(2)),
        with("make -j3 -f Above up", Report::Code(4)),
    ]);
}

/// A service manager names the process that its descriptors and watchdog are for: the one that it started.
#[test]
fn what_is_meant_for_the_process_that_was_started_is_for_the_job() {
    const MANAGER: &str = "import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(\"listener\")
listener.listen()
os.dup2(listener.fileno(), 3)
os.environ[\"LISTEN_FDS\"] = \"1\"
os.environ[\"LISTEN_PID\"] = os.environ[\"WATCHDOG_PID\"] = str(os.getpid())
os.execvp(sys.argv[1], sys.argv[1:])";
    const SERVICE: &str = "import os, socket, sys
print([int(os.environ[name]) == os.getpid() for name in (\"LISTEN_PID\", \"WATCHDOG_PID\")])
print(socket.socket(fileno=3).getsockname())
sys.exit(3)";
    compare_all(&[
        way(format!("exec python3 -c '{MANAGER}' $RUN python3 -c '{SERVICE}'").leak()),
        // Of somebody else they stay.
        way("export LISTEN_PID=1 WATCHDOG_PID=; exec $RUN sh -c 'echo $LISTEN_PID $WATCHDOG_PID; exit 3'"),
    ]);
}

/// Descriptors that a launcher opened, whatever their number, and standard streams that it did not.
#[test]
fn descriptors_are_those_that_a_launcher_left_open() {
    const OPEN: &str = "import os
open(\"open\" + \"\".join(str(f) for f in range(3) if os.path.exists(f\"/proc/self/fd/{f}\")), \"w\")
os._exit(3)";
    let closed = |streams: usize| {
        let words = ["<&-", ">&-", "2>&-"].into_iter().enumerate();
        let words: Vec<&str> = words
            .filter(|(at, _)| streams >> at & 1 == 1)
            .map(|(_, word)| word)
            .collect();
        words.join(" ")
    };
    let combinations = (0..8).map(|streams| {
        let script = format!("exec $RUN python3 -c '{OPEN}' {}", closed(streams));
        way(script.leak())
    });
    let by_number = [
        way("echo text > in; exec $RUN sh -c 'cat <&3; exit 3' 3< in"),
        way("exec $RUN bash -c 'echo to 77 >&77; exit 3' 77> out"),
        way("exec 3>&1; exec $RUN sh -c 'echo past us >&3; exit 3' > /dev/null"),
        way("exec 4<> both; exec $RUN sh -c 'echo a >&4; exit 3'; cat both"),
        way("exec $RUN sh -c 'ls /proc/self/fd | tr \"\\n\" \" \"; exit 3' 5</dev/null 9</dev/null"),
    ];
    compare_all(&combinations.chain(by_number).collect::<Vec<_>>());
}

/// What a job does to the process that started it.
#[test]
fn a_job_that_signals_its_parent_reaches_it() {
    compare_all(&[
        reported(
            "trap 'echo told' USR1; $RUN sh -c 'kill -USR1 $PPID; sleep 0.3; exit 3'; echo $?",
            Report::Code(3),
        ),
        reported(
            "trap 'echo told' TERM; { $RUN sh -c 'kill -TERM $PPID; sleep 0.3; kill -SEGV $$'; } 2>/dev/null; echo $?",
            Report::Signal("SIGSEGV"),
        ),
        reported(
            "trap '' USR2; $RUN python3 -c 'import os, signal; os.kill(os.getppid(), signal.SIGUSR2); os._exit(4)'; echo $?",
            Report::Code(4),
        ),
    ]);
}

/// Elsewhere the job runs without.
fn where_there_is_strace(script: &str, job: &str) -> super::Way {
    way(format!("command -v strace >/dev/null || exec $RUN sh -c '{job}'; {script}").leak())
}

/// Under debuggers and tracers that the job brings with it.
#[test]
fn a_job_that_is_traced_by_its_own_ends_the_same() {
    compare_all(&[
        where_there_is_strace(
            "exec $RUN strace -f -o /dev/null sh -c 'sh -c \"exit 2\"; exit 3'",
            "exit 3",
        ),
        where_there_is_strace(
            "exec $RUN strace -f -o /dev/null sh -c 'kill -SEGV $$'",
            "kill -SEGV $$",
        ),
        where_there_is_strace("exec strace -o /dev/null $RUN sh -c 'exit 3'", "exit 3"),
        reported(
            "$RUN gdb -q -batch -nx -iex 'set debuginfod enabled off' -ex run -ex 'print $_siginfo.si_signo' \
             -ex kill -ex 'quit 6' --args sh -c 'kill -SEGV $$' 2>/dev/null | grep -o '^.1 = 11'; echo ${PIPESTATUS[0]}",
            Report::Code(6),
        ),
    ]);
}
