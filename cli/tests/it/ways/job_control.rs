//! Jobs that a shell with job control stops, puts into the background and brings back, and that lose their shell.

use super::terminals::typed_at_a_terminal;
use super::{Report, compare_all, way};

const STOP: &str = r#"b"\x1a""#;
const INTERRUPT: &str = r#"b"\x03""#;
const QUIT: &str = r#"b"\x1c""#;

/// An interactive shell runs a script, while something is typed.
fn shell(typed: &str, script: &str, report: Report) -> super::Way {
    // What the shell tells of jobs has their command lines, which differ.
    let command = format!("bash --norc -ic 'exec 2>/dev/null; {script}'");
    typed_at_a_terminal(typed, &command, report)
}

#[test]
fn a_job_that_is_stopped_at_a_terminal_goes_on_or_ends_as_it_would() {
    compare_all(&[
        shell(
            STOP,
            "$RUN sh -c \"echo ready; sleep 1; exit 3\"; echo stopped $?; fg >/dev/null; echo $?",
            Report::Code(3),
        ),
        shell(
            STOP,
            "$RUN sh -c \"echo ready; sleep 1; exit 3\"; echo stopped $?; bg >/dev/null; wait %1; echo $?",
            Report::Code(3),
        ),
        shell(
            STOP,
            "$RUN sh -c \"echo ready; sleep 9\"; kill -TERM %1; kill -CONT %1; while kill -0 %1; do sleep 0.1; done; wait %1; echo $?",
            Report::Signal("SIGTERM"),
        ),
        shell(
            STOP,
            "$RUN sh -c \"echo ready; sleep 9\"; kill -KILL %1; while kill -0 %1; do sleep 0.1; done; wait %1; echo $?",
            Report::None,
        ),
        shell(
            STOP,
            "$RUN sh -c \"trap \\\"echo no; exit 4\\\" TSTP; echo ready; sleep 9 & wait\"; echo $?",
            Report::Code(4),
        ),
        shell(
            STOP,
            "$RUN sh -c \"trap : CONT; echo ready; sleep 1; exit 5\" | cat; echo stopped; fg >/dev/null; \
             echo $?",
            Report::Code(5),
        ),
        // Stopped twice.
        shell(
            STOP,
            "$RUN sh -c \"echo ready; sleep 1; kill -STOP \\$\\$; exit 6\"; echo stopped $?; fg >/dev/null; \
             echo stopped $?; fg >/dev/null; echo $?",
            Report::Code(6),
        ),
    ]);
}

#[test]
fn a_job_in_the_background_meets_the_terminal_as_it_would() {
    compare_all(&[
        // It reads, and is stopped until it is in front.
        shell(
            "b\"words\\n\"",
            "$RUN sh -c \"read x; echo got \\$x; exit 4\" & \
             until jobs -s | grep -q .; do sleep 0.1; done; echo ready; fg >/dev/null; echo $?",
            Report::Code(4),
        ),
        // It changes the terminal, and is stopped too.
        shell(
            "None",
            "$RUN sh -c \"stty -echo </dev/tty; stty echo </dev/tty; exit 5\" & \
             until jobs -s | grep -q .; do sleep 0.1; done; fg >/dev/null; echo $?",
            Report::Code(5),
        ),
        // It does so all the same.
        shell(
            "None",
            "$RUN sh -c \"trap \\\"\\\" TTOU; stty -echo </dev/tty; stty echo </dev/tty; exit 6\" & wait $!; echo $?",
            Report::Code(6),
        ),
        shell(
            "None",
            "$RUN sh -c \"sleep 0.3; exit 7\" & wait $!; echo $?",
            Report::Code(7),
        ),
        shell(
            "None",
            "$RUN sh -c \"exec sleep 9\" & sleep 1; kill -HUP %1; wait %1; echo $?",
            Report::Signal("SIGHUP"),
        ),
    ]);
}

#[test]
fn keys_reach_all_of_a_pipeline() {
    compare_all(&[
        shell(
            INTERRUPT,
            "$RUN sh -c \"echo ready >/dev/tty; exec sleep 9\" | cat; echo ${PIPESTATUS[@]}",
            Report::None,
        ),
        shell(
            QUIT,
            "ulimit -c 0; cat </dev/zero | $RUN sh -c \"echo ready >/dev/tty; exec sleep 9\"; echo ${PIPESTATUS[@]}",
            Report::Signal("SIGQUIT"),
        ),
        shell(
            INTERRUPT,
            "$RUN sh -c \"trap : INT; echo ready; sleep 9; echo on; exit 6\"; echo $?",
            Report::None,
        ),
        shell(
            "None",
            "$RUN stty raw -echo </dev/tty; stty -a </dev/tty | grep -o .icanon; stty sane </dev/tty",
            Report::None,
        ),
    ]);
}

/// Nobody can bring these back: the kernel does not stop them, or ends them.
#[test]
fn a_job_whose_group_nobody_controls_ends_the_same() {
    compare_all(&[
        way("exec setsid -w $RUN sh -c 'kill -TSTP $$; exit 3'"),
        way("exec setsid -w $RUN sh -c 'kill -TTIN $$; kill -TTOU $$; exit 3'"),
        typed_at_a_terminal(
            "None",
            "bash --norc -ic 'exec 2>/dev/null; \
             $RUN sh -c \"trap \\\"echo > hung-up; exit 7\\\" HUP; kill -STOP \\$\\$; sleep 9\" & \
             until jobs -s | grep -q .; do sleep 0.1; done; kill -KILL $$'; \
             for i in $(seq 100); do [ -e hung-up ] && break; sleep 0.1; done; ls hung-up; sleep 0.3",
            Report::Code(7),
        ),
    ]);
}

/// Whoever started it is told when it stops, each time.
#[test]
fn a_parent_is_told_of_each_stop() {
    const PARENT: &str = "import os, signal, sys
child = os.fork()
if child == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    _, status = os.waitpid(child, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        print(\"stopped\", os.WSTOPSIG(status), flush=True)
        os.kill(child, signal.SIGCONT)
    else:
        break
print(os.waitstatus_to_exitcode(status))
sys.exit(9)";
    let jobs = [
        ("kill -STOP $$; exit 3", Report::Code(3)),
        ("kill -STOP $$; kill -STOP $$; kill -STOP $$; exit 4", Report::Code(4)),
        (
            "kill -TSTP $$; kill -TTIN $$; kill -TTOU $$; kill -SEGV $$",
            Report::Signal("SIGSEGV"),
        ),
    ];
    let ways = jobs.map(|(job, report)| {
        let script = format!("exec python3 -c '{PARENT}' $RUN sh -c '{job}'");
        super::reported(script.leak(), report)
    });
    compare_all(&ways);
}
