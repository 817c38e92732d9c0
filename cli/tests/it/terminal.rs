//! A job on a terminal sees a terminal.

use std::process::Output;

use crate::support::Home;

/// Runs a command on a terminal of 33 by 111, types what it is told to, and prints what appeared. What hangs is killed,
/// for a test that fails and shows how far things got.
pub const ON_A_TERMINAL: &str = "
import fcntl, os, pty, select, signal, struct, sys, termios, time
typed, command = sys.argv[1].encode(), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    time.sleep(0.2)
    os.execv(command[0], command)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 33, 111, 0, 0))
shown = b''
deadline = time.monotonic() + 120
while True:
    if not select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
        shown += b'[hangs]'
        os.killpg(os.tcgetpgrp(terminal), signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        break
    try:
        read = os.read(terminal, 65536)
    except OSError:
        break
    shown += read
    if typed and b'ready' in shown:
        os.write(terminal, typed)
        typed = b''
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
";

fn on_a_terminal(typed: &str, job: &[&str]) -> Output {
    let home = Home::new();
    let mut command = home.isolated("python3");
    command.args([
        "-c",
        ON_A_TERMINAL,
        typed,
        env!("CARGO_BIN_EXE_whycrash"),
        "run",
        "--output",
        "report",
        "--",
    ]);
    command.args(job).output().expect("python3 runs")
}

fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn all_three_streams_are_terminals_of_the_right_size() {
    let script = "for i in 0 1 2; do test -t $i && echo $i; done; stty size <&1; stty size <&2; echo err >&2";
    let output = on_a_terminal("", &["sh", "-c", script]);
    assert_eq!(shown(&output), "0\r\n1\r\n2\r\n33 111\r\n33 111\r\nerr\r\n");
}

#[test]
fn what_is_typed_reaches_the_job() {
    let output = on_a_terminal("bob\n", &["python3", "-c", "print('hello', input('ready? '))"]);
    assert_eq!(shown(&output), "ready? bob\r\nhello bob\r\n");
}

#[test]
fn control_c_interrupts_the_job_once_and_is_no_crash() {
    let program = "
import time
try:
    print('ready', flush=True)
    time.sleep(20)
except KeyboardInterrupt:
    time.sleep(0.3)
    print('interrupted once')
    raise SystemExit(7)
";
    let output = on_a_terminal("\x03", &["python3", "-c", program]);
    assert_eq!(shown(&output), "ready\r\n^Cinterrupted once\r\n");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn control_z_stops_the_job_and_us_for_the_shell() {
    let whycrash = env!("CARGO_BIN_EXE_whycrash");
    // Not a shell: stopped in the middle of vfork(2), it would wait for its child, which is stopped, for ever.
    let job = r#"import time; print("ready", flush=True); time.sleep(1); print("went on")"#;
    let script = format!("set -m; '{whycrash}' run -- python3 -c '{job}'; echo stopped $?; fg; echo ended $?");
    let home = Home::new();
    let mut command = home.isolated("python3");
    command.args(["-c", ON_A_TERMINAL, "\x1a", "/bin/bash", "--norc", "-ic", &script]);
    let shown = shown(&command.output().expect("python3 runs"));
    for words in ["stopped 148", "went on", "ended 0"] {
        assert!(shown.contains(words), "no {words:?} in {shown}");
    }
}
