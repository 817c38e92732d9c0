//! What a job inherits, jobs that can not start, and machines that are in no good state.

use super::{Attempt, Report, compare_all, reported, way};

#[test]
fn what_a_job_inherits_it_inherits() {
    compare_all(&[
        way("ulimit -n 100; exec $RUN sh -c 'ulimit -n; exit 3'"),
        way("ulimit -s 1024; exec $RUN sh -c 'ulimit -s; exit 3'"),
        way("ulimit -c 100; exec $RUN sh -c 'ulimit -c; exit 3'"),
        way("ulimit -c unlimited; exec $RUN sh -c 'ulimit -c; exit 3'"),
        way("umask 027; exec $RUN sh -c 'umask; touch made; stat -c %a made; exit 3'"),
        way("exec nice -n 5 $RUN sh -c 'nice; exit 3'"),
        way("mkdir gone; cd gone; rmdir ../gone; exec $RUN sh -c 'pwd; exit 3'"),
        way("exec 5> five; exec $RUN sh -c 'echo to five >&5; exit 3'"),
        way("exec 9< /etc/passwd; exec $RUN ls /proc/self/fd"),
        way("exec env -i PATH=\"$PATH\" WAY_TO_DIE=\"$WAY_TO_DIE\" HOME=\"$HOME\" $RUN sh -c 'echo $#; exit 3'"),
        way("exec env $'ODD=a\\xffb' $RUN sh -c 'echo \"$ODD\"; exit 3'"),
        way("exec $RUN sh -c 'echo \"$1\" \"$2\"; exit 3' sh $'a\\xff' '--help'"),
        way("exec $RUN python3 -c 'import sys; print(sys.argv); sys.exit(3)' -- --server x '' ' '"),
        way("ulimit -t 1; exec $RUN sh -c 'while :; do :; done'"),
        // Whether dash says that it was terminated depends on who is first.
        way("exec $RUN sh -c 'sleep 5 & kill $!; wait $!; exit $?' 2>/dev/null"),
        way("exec setsid -w $RUN sh -c 'exit 3'"),
        way("exec $RUN bash -c 'echo $PPID | grep -q . && echo ok; exit 3'"),
    ]);
}

/// Variables of ours that say nothing, or nonsense, are no reason for a job not to run.
#[test]
fn settings_that_are_wrong_cost_nothing() {
    compare_all(&[
        way(
            "export WHYCRASH_ARM= WHYCRASH_WAIT= WHYCRASH_SERVER= WHYCRASH_CONFIG=; exec $RUN sh -c 'echo out; exit 3'",
        ),
        way("export WHYCRASH_ARM=everything; exec $RUN sh -c 'echo out; exit 3' 2>/dev/null"),
        way("export WHYCRASH_GPU_INTERVAL=often WHYCRASH_WAIT=-1s; exec $RUN sh -c 'echo out; exit 3' 2>/dev/null"),
        way("export WHYCRASH_CONFIG=/no/such/file; exec $RUN sh -c 'echo out; exit 3' 2>/dev/null"),
        way(
            "mkdir -p $HOME/.config/whycrash; echo 'wait = \"soon\"' > $HOME/.config/whycrash/config.toml; \
             exec $RUN sh -c 'echo out; exit 3' 2>/dev/null",
        ),
    ]);
}

/// A container may be without devices.
#[test]
fn a_job_needs_no_null_device() {
    const NO_DEVICES: &str = "exec $OWN_MOUNTS sh -c 'mount -t tmpfs none /dev || exit 9; exec \"$@\"' sh $RUN";
    compare_all(&[
        way(format!("{NO_DEVICES} sh -c 'echo out; echo err >&2; exit 3'").leak()),
        way(format!("{NO_DEVICES} sh -c 'echo out; kill -ABRT $$' 2>&1").leak()),
        way(format!("{NO_DEVICES} sh -c 'cat; exit 3' <&- >&-").leak()),
        way(format!("echo in | {NO_DEVICES} sh -c 'cat; exec <&- >&-; sleep 0.1; exit 3'").leak()),
    ]);
}

/// What stays with a process when it becomes another program, which is first us and then the job.
#[test]
fn timers_and_signals_that_wait_are_the_jobs() {
    const BECOME: &str = "os.execvp(sys.argv[1], sys.argv[1:])";
    compare_all(&[
        way(format!("exec python3 -c 'import os, signal, sys; signal.alarm(1); {BECOME}' $RUN sleep 5").leak()),
        way(format!(
            "exec python3 -c 'import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]); \
             os.kill(os.getpid(), signal.SIGUSR1); {BECOME}' $RUN \
             python3 -c 'import signal; print(signal.sigpending()); raise SystemExit(3)'"
        )
        .leak()),
    ]);
}

/// Who was told to adopt orphans is the job, whose children they are below.
#[test]
fn orphans_are_given_to_whom_they_would_be() {
    const BECOME: &str =
        "import ctypes, os, sys; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0); os.execvp(sys.argv[1], sys.argv[1:])";
    const WAIT: &str = "import os, sys, time
if os.fork() == 0:
    if os.fork() == 0:
        time.sleep(0.2)
        os._exit(9)
    os._exit(0)
os.wait()
print(os.wait()[1])
sys.exit(3)";
    compare_all(&[
        way(format!("exec python3 -c '{BECOME}' $RUN python3 -c '{WAIT}'").leak()),
        way(format!("exec $RUN python3 -c '{BECOME}' python3 -c '{WAIT}'").leak()),
    ]);
}

/// What is started is the init of another namespace; the job is not. Nobody can stand beside it.
#[test]
fn a_job_whose_children_are_elsewhere_ends_the_same() {
    compare_all(&[
        reported("$OWN_MOUNTS -p $RUN sh -c 'exit 3'; echo $?", Report::None),
        reported(
            "{ $OWN_MOUNTS -p $RUN sh -c 'echo out; kill -SEGV $$'; } 2>/dev/null; echo $?",
            Report::None,
        ),
        way("exec $OWN_MOUNTS -pf $RUN sh -c 'echo $$ >/dev/null; exit 3'"),
    ]);
}

/// Sandboxes refuse calls that we would make; then we do without, and the job runs.
#[test]
fn calls_that_a_sandbox_refuses_cost_nothing() {
    const REFUSE: &str = "import ctypes, errno, os, struct, sys
libc = ctypes.CDLL(None)
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, int(sys.argv[1])), (6, 0, 0, 0x50000 | int(sys.argv[2])), (6, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b\"\".join(struct.pack(\"HBBI\", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack(\"HxxxxxxQ\", len(steps), ctypes.addressof(code)))
libc.prctl(38, 1, 0, 0, 0)
libc.prctl(22, 2, program)
os.execvp(sys.argv[3], sys.argv[3:])";
    let calls = [
        libc::SYS_signalfd4,
        libc::SYS_pidfd_open,
        libc::SYS_splice,
        libc::SYS_tee,
        libc::SYS_memfd_create,
        libc::SYS_prctl,
        libc::SYS_process_vm_readv,
        libc::SYS_statx,
        libc::SYS_socketpair,
        libc::SYS_setsid,
        libc::SYS_ptrace,
        libc::SYS_sched_setaffinity,
        libc::SYS_prlimit64,
    ];
    // Without these we can not stand beside the job, and become it.
    let needed = [libc::SYS_signalfd4, libc::SYS_socketpair];
    let ways = calls.iter().flat_map(|call| {
        let report = if needed.contains(call) {
            Report::None
        } else {
            Report::Code(3)
        };
        [libc::EPERM, libc::ENOSYS].map(|error| {
            let script = format!(
                "exec python3 -c '{REFUSE}' {call} {error} $RUN sh -c 'echo out; echo err >&2; exit 3' | cat; \
                 echo ${{PIPESTATUS[0]}}"
            );
            reported(script.leak(), report)
        })
    });
    compare_all(&ways.collect::<Vec<_>>());
}

#[test]
fn a_program_that_can_not_run_gives_the_shells_status() {
    const STATUS: &str = "2>/dev/null; echo $?";
    let programs = [
        "./missing",
        "missing-program-of-no-path",
        "/",
        "./plain",
        "./no-interpreter",
        "./loop",
        "./plain/inside",
        "./script",
        "''",
    ];
    let prepare = "echo text > plain; printf '#!/no/such\\n' > no-interpreter; \
        echo 'exit 9' > script; ln -s loop loop; chmod +x no-interpreter script";
    let scripts: Vec<String> = programs
        .iter()
        .map(|program| format!("{prepare}; $RUN {program} {STATUS}"))
        .collect();
    let ways: Vec<_> = scripts
        .into_iter()
        .map(|script| {
            let report = if script.contains("./script ") {
                Report::Code(9)
            } else {
                Report::None
            };
            reported(script.leak(), report)
        })
        .collect();
    compare_all(&ways);
}

/// Runs a script that has `$RUN` under us in a state of the machine that hurts us; the job must not notice, and what is
/// said must begin with what the job says.
fn hurt(state: &str, options: &'static str, expect: &str) {
    let job = "sh -c 'echo out; echo err >&2; kill -SEGV $$'";
    let outputs = [Attempt::bare(), Attempt::run(options)].map(|attempt| {
        let script = format!("{state}; exec $RUN {job}");
        let mut bash = attempt.command("bash");
        bash.args(["--norc", "-c", &script])
            .env("RUN", attempt.prefix().join(" "));
        let output = bash.output().expect("bash runs");
        attempt.left(output, 0)
    });
    let [bare, under] = outputs;
    assert_eq!(under.status, bare.status, "{state}");
    assert_eq!(under.stdout, bare.stdout, "{state}");
    assert!(under.stderr.starts_with(&bare.stderr), "{state}: {}", under.stderr);
    assert!(under.stderr.contains(expect), "{state}: {}", under.stderr);
    assert_eq!(under.files, bare.files, "{state}");
    assert_eq!(under.processes, bare.processes, "{state}");
}

#[test]
fn a_home_that_is_not_there_or_can_not_be_written_costs_nothing() {
    let without_output = "RUN=${RUN/--output * --/--}";
    for state in [
        "unset HOME",
        "export HOME=/proc",
        "export HOME=/dev/null",
        "export HOME=",
        "export XDG_STATE_HOME=/dev/null/x",
        "export XDG_CONFIG_HOME=/dev/null/x",
        "export XDG_CACHE_HOME=/dev/null/x",
        "export HOME=/proc TMPDIR=/proc",
        "mkdir -p $HOME/.config/whycrash; echo nonsense > $HOME/.config/whycrash/config.toml",
        "mkdir -p $HOME/.config/whycrash/config.toml",
    ] {
        hurt(
            &format!("export TMPDIR=${{TMPDIR:-$PWD/..}}; {without_output}; {state}"),
            "",
            "SIGSEGV",
        );
    }
}

#[test]
fn an_output_that_can_not_be_written_costs_nothing() {
    for output in ["/proc/x", "/dev/null", "/dev/full", "$HOME/a/../b/c"] {
        hurt(
            &format!("export TMPDIR=$PWD/..; RUN=${{RUN/--output * --/--output {output} --}}"),
            "",
            "SIGSEGV",
        );
    }
}

#[test]
fn servers_that_do_not_answer_cost_nothing() {
    // Nobody there, nobody who speaks, no such name.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", silent.local_addr().expect("an address"));
    for server in [
        "http://127.0.0.1:1",
        &address,
        "http://no-such-host.invalid",
        "nonsense",
    ] {
        let start = std::time::Instant::now();
        let state = format!("export WHYCRASH_SERVER={server} WHYCRASH_SERVER_WAIT=1s");
        let attempt = Attempt::run("--no-diagnosis");
        let mut bash = attempt.command("bash");
        let script = format!("{state}; exec $RUN sh -c 'echo out; exit 5'");
        bash.args(["--norc", "-c", &script])
            .env("RUN", attempt.prefix().join(" "));
        let output = bash.output().expect("bash runs");
        assert_eq!(output.status.code(), Some(5), "{server}");
        assert_eq!(output.stdout, b"out\n", "{server}");
        assert!(start.elapsed().as_secs() < 20, "{server}: {:?}", start.elapsed());
    }
}
