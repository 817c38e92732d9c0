//! Signals: of the job's own, from outside to us, to the job, and to all.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Output, Stdio};

use super::{Attempt, Left, Report, compare_all, exit_of, reported, way};

/// Every signal that ends a process, and some that do not.
const ENDING: [i32; 30] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 24, 25, 26, 27, 29, 30, 31, 34, 35, 40, 49, 50, 63, 64,
];

#[test]
fn a_job_that_signals_itself_ends_the_same() {
    let scripts: Vec<String> = ENDING
        .iter()
        .chain(&[17, 18, 23, 28])
        .map(|signal| format!("exec $RUN bash -c 'kill -{signal} $$; echo still here'"))
        .collect();
    let ways: Vec<_> = scripts
        .into_iter()
        .map(|script| {
            let report = if script.contains("-13 ") {
                Report::None
            } else {
                Report::AsStatus
            };
            reported(script.leak(), report)
        })
        .collect();
    compare_all(&ways);
}

/// To whom a signal goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    /// The process that was started: the job, or us.
    Started,
    /// The job.
    Job,
    /// The process group of both.
    Group,
}

/// A job that has said its first line.
struct Started {
    child: Child,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Started {
    /// Starts a Python program and waits for its first line.
    fn python(attempt: &Attempt, program: &str) -> Self {
        let mut child = attempt
            .job(&["python3", "-c", program])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        Self { child, output, line }
    }

    /// Sends a signal.
    fn send(&self, signal: i32, to: To) {
        let process = match to {
            To::Started => self.child.id() as i32,
            To::Job => self.line.trim().parse().expect("the job's number"),
            To::Group => -(self.child.id() as i32),
        };
        // SAFETY: this takes two numbers.
        assert_eq!(unsafe { libc::kill(process, signal) }, 0, "{signal} to {to:?}");
    }

    /// Waits for its end, and says what is left but for the first line.
    fn left(mut self, attempt: &Attempt) -> Left {
        let status = self.child.wait().expect("it ends");
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.output.read_to_end(&mut stdout).expect("text");
        let mut errors = self.child.stderr.take().expect("a pipe");
        errors.read_to_end(&mut stderr).expect("text");
        attempt.left(Output { status, stdout, stderr }, 0)
    }
}

/// Starts a job that waits, sends it a signal, and says what is left.
fn signalled(attempt: &Attempt, job: &str, signal: i32, to: To) -> Left {
    let started = Started::python(attempt, job);
    started.send(signal, to);
    started.left(attempt)
}

fn compare_signalled(job: &str, signal: i32, to: To, reported: impl Fn(&Left) -> Report) {
    let bare = signalled(&Attempt::bare(), job, signal, to);
    let attempt = Attempt::run("--quiet --no-diagnosis");
    let under = signalled(&attempt, job, signal, to);
    let what = format!("signal {signal} to {to:?}: {job}");
    assert_eq!(under, bare, "{what}");
    // Killed with us, it leaves nobody to tell.
    let killed = signal == libc::SIGKILL && to != To::Job;
    let expected = if killed {
        None
    } else {
        exit_of(reported(&bare), bare.status)
    };
    assert_eq!(
        attempt.context().map(|context| context["exit"].clone()),
        expected,
        "{what}"
    );
}

/// Says its number, and waits.
const WAITS: &str = "import os, signal, time
signal.signal(signal.SIGINT, signal.SIG_DFL); signal.signal(signal.SIGPIPE, signal.SIG_DFL); signal.signal(25, signal.SIG_DFL)
print(os.getpid(), flush=True)
time.sleep(60)";

fn unless_a_person_did(signal: i32, to: To) -> Report {
    let interrupted = signal == libc::SIGINT && to != To::Job;
    if interrupted || signal == libc::SIGPIPE {
        Report::None
    } else {
        Report::AsStatus
    }
}

#[test]
fn a_signal_to_us_is_the_jobs() {
    for signal in ENDING {
        compare_signalled(WAITS, signal, To::Started, |_| unless_a_person_did(signal, To::Started));
    }
}

#[test]
fn a_signal_to_the_job_ends_it() {
    for signal in ENDING {
        compare_signalled(WAITS, signal, To::Job, |_| unless_a_person_did(signal, To::Job));
    }
}

#[test]
fn a_signal_to_the_group_reaches_the_job_once() {
    for signal in [1, 2, 6, 9, 11, 12, 15, 34, 64] {
        compare_signalled(WAITS, signal, To::Group, |_| unless_a_person_did(signal, To::Group));
    }
}

#[test]
fn a_job_that_handles_a_signal_gets_it_once() {
    for to in [To::Started, To::Job, To::Group] {
        for signal in [1, 2, 3, 10, 12, 15, 17, 18, 23, 28, 34, 40, 64] {
            let job = format!(
                "import os, signal, sys, time
got = []
signal.signal({signal}, lambda *_: got.append(1))
print(os.getpid(), flush=True)
def wait(seconds, until):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not until(): time.sleep(0.01)
wait(20, lambda: got)
wait(0.2, lambda: False)
print('got', len(got))
sys.exit(len(got))"
            );
            let report = |_: &Left| {
                if signal == 2 && to != To::Job {
                    Report::None
                } else {
                    Report::AsStatus
                }
            };
            compare_signalled(&job, signal, to, report);
        }
    }
}

#[test]
fn what_was_ignored_or_blocked_is_so_for_the_job() {
    const SHOW: &str = "grep -E '^(SigBlk|SigIgn|SigCgt|ShdPnd)' /proc/self/status; exit 3";
    compare_all(&[
        way("exec $RUN sh -c \"grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status; exit 3\""),
        way("trap '' PIPE; exec $RUN grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status"),
        way("trap '' HUP; exec $RUN grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status"),
        way("trap '' CHLD; exec $RUN grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status"),
        way("trap '' INT QUIT TERM; exec $RUN grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status"),
        way("trap '' USR1 34 64; exec $RUN grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status"),
        way("exec nohup $RUN sh -c 'kill -HUP $$; echo still here; exit 4' 2>/dev/null"),
        way("exec nohup $RUN sh -c 'kill -SEGV $$' 2>/dev/null"),
        way("trap '' TERM; exec $RUN sh -c 'kill $$; echo still here; exit 4'"),
        way("trap '' SEGV; exec $RUN sh -c 'kill -SEGV $$; echo still here; exit 4'"),
    ]);
    for block in [
        "signal.SIGUSR1",
        "signal.SIGTERM",
        "signal.SIGCHLD",
        "signal.SIGRTMIN + 3",
        "signal.SIGPIPE",
    ] {
        let program = format!(
            "import os, signal, sys\nsignal.pthread_sigmask(signal.SIG_BLOCK, [{block}])\nos.execvp(sys.argv[1], sys.argv[1:])"
        );
        let [bare, under] = [Attempt::bare(), Attempt::run("--quiet --no-diagnosis")].map(|attempt| {
            let mut python = attempt.command("python3");
            python
                .args(["-c", &program])
                .args(attempt.prefix())
                .args(["sh", "-c", SHOW]);
            let output = python.output().expect("python3 runs");
            attempt.left(output, 0)
        });
        assert_eq!(under, bare, "{block}");
    }
}

#[test]
fn a_value_sent_with_a_signal_arrives() {
    const JOB: &str = "import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
print(os.getpid(), flush=True)
info = signal.sigwaitinfo([signal.SIGRTMIN])
print(info.si_signo - signal.SIGRTMIN, info.si_code, flush=True)";
    let [bare, under] = [Attempt::bare(), Attempt::run("--quiet")].map(|attempt| {
        let started = Started::python(&attempt, JOB);
        let value = libc::sigval {
            sival_ptr: std::ptr::without_provenance_mut(4711),
        };
        // SAFETY: the value is a number to everybody.
        let sent = unsafe { libc::sigqueue(started.child.id() as i32, libc::SIGRTMIN(), value) };
        assert_eq!(sent, 0);
        started.left(&attempt)
    });
    assert_eq!(under, bare);
}

#[test]
fn signals_that_queue_arrive_all_and_in_order() {
    const JOB: &str = "import os, signal, time
wanted = [signal.SIGRTMIN + n for n in range(3)]
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
print(os.getpid(), flush=True)
time.sleep(1)
got = []
while (info := signal.sigtimedwait(wanted, 0)) is not None:
    got.append(info.si_signo - signal.SIGRTMIN)
print(got, flush=True)";
    let [bare, under] = [Attempt::bare(), Attempt::run("--quiet")].map(|attempt| {
        let started = Started::python(&attempt, JOB);
        // Several senders at the same moment.
        let send = |sender: i32| {
            for number in 0..25 {
                started.send(libc::SIGRTMIN() + (sender + number) % 3, To::Started);
            }
        };
        std::thread::scope(|scope| {
            for sender in 0..4 {
                scope.spawn(move || send(sender));
            }
        });
        started.left(&attempt)
    });
    assert_eq!(under, bare);
    assert_eq!(bare.stdout.matches(',').count(), 99, "{}", bare.stdout);
}

#[test]
fn a_group_that_is_stopped_and_goes_on_ends_the_same() {
    const JOB: &str = "import os, sys, time
print(os.getpid(), flush=True)
end = time.monotonic() + 1
while time.monotonic() < end: time.sleep(0.01)
print('on', flush=True)
sys.exit(4)";
    let left = [Attempt::bare(), Attempt::run("--quiet --no-diagnosis")].map(|attempt| {
        let started = Started::python(&attempt, JOB);
        for (signal, milliseconds) in [
            (libc::SIGSTOP, 200),
            (libc::SIGCONT, 0),
            (libc::SIGTSTP, 100),
            (libc::SIGCONT, 0),
        ] {
            started.send(signal, To::Group);
            std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        }
        let left = started.left(&attempt);
        (left, attempt.context().map(|context| context["exit"]["code"].clone()))
    });
    let [(bare, _), (under, code)] = left;
    assert_eq!(under, bare);
    assert_eq!(code, Some(4.into()));
}
