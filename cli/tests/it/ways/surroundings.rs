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
