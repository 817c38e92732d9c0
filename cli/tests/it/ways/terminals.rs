//! Jobs at a terminal of their own, as a person sits at one.

use super::{Report, compare_all, reported};

/// Starts what is named at a new terminal, types, and says what came and how it ended.
const AT_A_TERMINAL: &str = r#"
import fcntl, os, pty, select, struct, sys, termios, time
typed = eval(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 111, 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
said = b""
status = None
while status is None:
    if select.select([terminal], [], [], 0.05)[0]:
        try:
            said += os.read(terminal, 65536)
        except OSError:
            pass
    if b"ready" in said and typed is not None:
        if typed == "hang up":
            os.close(terminal)
            status = os.waitpid(pid, 0)[1]
            break
        time.sleep(0.2)
        if typed == "resize":
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 122, 0, 0))
        else:
            os.write(terminal, typed)
        typed = None
    ended, state = os.waitpid(pid, os.WNOHANG)
    if ended:
        status = state
try:
    while typed != "hang up" and select.select([terminal], [], [], 0.2)[0]:
        said += os.read(terminal, 65536)
except OSError:
    pass
print(ascii(said), os.waitstatus_to_exitcode(status))
"#;

fn at_a_terminal(typed: &str, job: &str, report: Report) -> super::Way {
    typed_at_a_terminal(typed, &format!("$RUN {job}"), report)
}

/// The same of any command, in which `$RUN` stands before the job.
pub fn typed_at_a_terminal(typed: &str, command: &str, report: Report) -> super::Way {
    let script = format!("cat > t.py <<'P'{AT_A_TERMINAL}P\npython3 t.py '{typed}' {command}; rm t.py");
    reported(script.leak(), report)
}

#[test]
fn a_job_at_a_terminal_ends_the_same() {
    compare_all(&[
        at_a_terminal("None", "sh -c \"test -t 1 && echo terminal; exit 3\"", Report::Code(3)),
        at_a_terminal(
            "None",
            "sh -c \"sleep 0.3; stty size; kill -SEGV \\$\\$\"",
            Report::Signal("SIGSEGV"),
        ),
        at_a_terminal(
            "None",
            "sh -c \"stty -a | grep -o onlcr; printf \\\"a\\\\nb\\\\n\\\"; exit 3\"",
            Report::Code(3),
        ),
        at_a_terminal("b\"\\x03\"", "sh -c \"echo ready; exec sleep 60\"", Report::None),
        at_a_terminal(
            "b\"\\x1c\"",
            "sh -c \"echo ready; exec sleep 60\"",
            Report::Signal("SIGQUIT"),
        ),
        // A child that is not another program yet may miss the signal: it is not waited for long.
        at_a_terminal(
            "b\"\\x03\"",
            "sh -c \"trap \\\"echo no; exit 4\\\" INT; echo ready; sleep 5 & wait\"",
            Report::None,
        ),
        at_a_terminal(
            "b\"words\\n\"",
            "sh -c \"echo ready; read x; echo got \\$x; exit 5\"",
            Report::Code(5),
        ),
        at_a_terminal("b\"\\x04\"", "sh -c \"echo ready; cat; exit 5\"", Report::Code(5)),
        at_a_terminal(
            "\"hang up\"",
            "sh -c \"echo ready; exec sleep 60\"",
            Report::Signal("SIGHUP"),
        ),
        at_a_terminal(
            "\"hang up\"",
            "sh -c \"trap \\\"\\\" HUP; echo ready; sleep 0.5; exit 6\"",
            Report::Code(6),
        ),
        at_a_terminal(
            "\"hang up\"",
            "sh -c \"trap \\\"exit 7\\\" HUP; echo ready; sleep 5 & wait\"",
            Report::Code(7),
        ),
        at_a_terminal("None", "setsid -w sh -c \"echo out; exit 3\"", Report::Code(3)),
        at_a_terminal(
            "b\"x\"",
            "sh -c \"stty raw -echo; echo ready; dd bs=1 count=1 status=none; stty -a | grep -o icanon; sleep 0.5; stty sane; exit 3\"",
            Report::Code(3),
        ),
        at_a_terminal(
            "\"resize\"",
            "bash -c \"trap \\\"stty size; exit 4\\\" WINCH; echo ready; sleep 5 & wait\"",
            Report::Code(4),
        ),
        at_a_terminal(
            "None",
            "sh -c \"(sleep 0.3; echo late) & echo early; sleep 0.6; exit 3\"",
            Report::Code(3),
        ),
        at_a_terminal("None", "sh -c \"echo direct > /dev/tty; exit 3\"", Report::Code(3)),
        // The same terminal by another name: what comes from both keeps its order.
        typed_at_a_terminal(
            "None",
            "sh -c \"exec $RUN sh -c \\\"for i in 1 2 3 4 5 6 7 8; do echo \\\\\\$i; echo e\\\\\\$i >&2; done; exit 3\\\" 2>/dev/tty\"",
            Report::Code(3),
        ),
        at_a_terminal("None", "bash -c \"seq 20000 | tail -1; exit 3\"", Report::Code(3)),
        at_a_terminal(
            "None",
            "sh -c \"exec >/dev/null 2>&1 </dev/null; kill -ABRT \\$\\$\"",
            Report::Signal("SIGABRT"),
        ),
    ]);
}
