//! Signals reach the job once, whomever they were sent to.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::support::{Home, python, sh};

/// Says that it is ready, then counts the signals of half a second.
const COUNTER: &str = "
import signal, time
count = 0
def handler(*_):
    global count
    count += 1
for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, handler)
print('ready', flush=True)
end = time.monotonic() + 0.5
while time.monotonic() < end:
    time.sleep(0.01)
print(count, flush=True)
";

/// A job in a process group of its own that has said that it is ready.
fn start(home: &Home, job: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut command = home.whycrash(&["run", "--output", "report", "--"]);
    let mut child = command
        .args(job)
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("it runs");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    (child, output)
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id() as i32)
}

#[test]
fn a_signal_is_delivered_once() {
    for signal in [Signal::SIGUSR1, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        for (to, send) in [
            ("us alone", kill::<Signal> as fn(Pid, Signal) -> nix::Result<()>),
            ("the group", killpg::<Signal>),
        ] {
            let home = Home::new();
            let (mut child, mut output) = start(&home, &python(COUNTER));
            send(pid(&child), signal).expect("it can be sent");
            let mut rest = String::new();
            output.read_to_string(&mut rest).expect("text");
            assert_eq!(rest, "1\n", "{signal} to {to}");
            assert!(child.wait().expect("it ends").success());
        }
    }
}

#[test]
fn a_signal_that_kills_the_job_is_how_we_end() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGUSR1] {
        let home = Home::new();
        let (mut child, _output) = start(&home, &sh("echo ready; exec sleep 20"));
        kill(pid(&child), signal).expect("it can be sent");
        assert_eq!(child.wait().expect("it ends").signal(), Some(signal as i32));
        let received = &home.context()["signals_received"][0];
        assert_eq!(received["signal"], signal.as_str());
        assert_eq!(received["sender"]["pid"], std::process::id());
    }
}

#[test]
fn what_kills_us_outright_kills_the_job() {
    let home = Home::new();
    let job = sh("echo ready; echo $$ > pid; exec sleep 60");
    let (mut child, mut output) = start(&home, &job);
    while !home.work().join("pid").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("text: the stream ends");
    assert_eq!(rest, "");
}

#[test]
fn a_job_that_is_continued_behind_our_back_takes_us_along() {
    let home = Home::new();
    let (mut child, mut output) = start(&home, &sh("echo ready; echo $$ > pid; kill -STOP $$; echo went on"));
    let state = |pid: &str| -> Option<char> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    };
    let us = child.id().to_string();
    while state(&us) != Some('T') {
        std::thread::sleep(Duration::from_millis(10));
    }
    let job = std::fs::read_to_string(home.work().join("pid")).expect("a number");
    kill(Pid::from_raw(job.trim().parse().expect("a number")), Signal::SIGCONT).expect("it can be sent");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "went on\n");
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn we_stop_when_the_job_stops() {
    let home = Home::new();
    let (mut child, mut output) = start(&home, &sh("echo ready; sleep 0.1; kill -STOP $$; echo went on"));
    let state = || -> Option<char> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    };
    let mut waited = 0;
    while state() != Some('T') {
        assert!(waited < 100, "we are in state {:?}", state());
        std::thread::sleep(Duration::from_millis(50));
        waited += 1;
    }
    kill(pid(&child), Signal::SIGCONT).expect("it can be sent");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "went on\n");
    assert!(child.wait().expect("it ends").success());
}
