//! The job's life, from its start to its end.

use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::Context as _;
use nix::sys::signal::{
    SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, kill, raise, sigaction, sigprocmask,
};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};

use super::recorder::Recorder;
use super::signals::Signals;
use super::streams::{Direct, Output, Streams};

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal.
    Killed {
        /// Which.
        signal: Signal,
        /// Whether the kernel says that it dumped core.
        core: bool,
    },
}

/// A signal that somebody sent to the job or to us while it ran.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Which.
    pub signal: Signal,
    /// The process that sent it; 0 for the kernel.
    pub sender: u32,
    /// That process's name, where it was still there to ask.
    pub sender_name: Option<String>,
    /// When it arrived.
    pub at: jiff::Timestamp,
}

/// A job that runs.
#[derive(Debug)]
pub struct Job {
    /// Its process id.
    pub pid: u32,
    /// Soft limit on the size of core dumps that it would have had without us, in bytes; none for unlimited.
    pub core_limit: Option<u64>,
    signals: Signals,
    recorder: Recorder,
    direct: Vec<Direct>,
}

/// A job that has ended.
#[derive(Debug)]
pub struct Over {
    /// How.
    pub ending: Ending,
    /// The signals that were sent while it ran.
    pub sent: Vec<Sent>,
    recorder: Recorder,
    direct: Vec<Direct>,
}

impl Job {
    /// Starts a job. To be called while there is no other thread, and before files are opened.
    ///
    /// Its environment gains `PYTHONFAULTHANDLER=1` where that variable is not set, and its soft limit on core dumps
    /// is raised to the hard one. Nothing else differs from what it would be without us.
    pub fn start(command: &[OsString], record_output: bool) -> anyhow::Result<Result<Self, std::io::Error>> {
        let job_only = super::meant_for_the_job();
        let signals = Signals::hold_back().context("can not hold signals back for the job")?;
        let streams = if record_output {
            Streams::arrange()?
        } else {
            Streams::default()
        };
        let Streams {
            out,
            err,
            relays,
            direct,
        } = streams;
        // As long as the recorder held the job's ends of the streams, it would never see them end.
        let ends = [&out, &err].into_iter().flatten().map(AsRawFd::as_raw_fd);
        let not_its_own: Vec<_> = job_only.iter().copied().chain(ends).collect();
        let recorder = Recorder::start(relays, &signals, &not_its_own)?;
        let core_limit = getrlimit(Resource::Core);

        let (program, arguments) = command.split_first().context("no command to run")?;
        let mut spawn = Command::new(program);
        spawn.args(arguments);
        out.map(|end| spawn.stdout(end));
        err.map(|end| spawn.stderr(end));
        if std::env::var_os("PYTHONFAULTHANDLER").is_none() {
            spawn.env("PYTHONFAULTHANDLER", "1");
        }
        let (mask, child_action) = signals.original();
        // SAFETY: between fork and exec, `prepare` only makes system calls.
        unsafe { spawn.pre_exec(move || prepare(&mask, child_action, core_limit)) };
        let child = match spawn.spawn() {
            Ok(child) => child,
            Err(error) => return Ok(Err(error)),
        };
        drop(spawn);
        super::let_go(&job_only);
        super::close_input();
        Output::Out.close();
        Ok(Ok(Self {
            pid: child.id(),
            core_limit: core_limit.current,
            signals,
            recorder,
            direct,
        }))
    }

    /// Waits for the job's end, passing signals on and stopping when it stops.
    pub fn wait(mut self) -> anyhow::Result<Over> {
        let mut sent = Vec::new();
        let ending = loop {
            let received = self.signals.next().context("can not wait for the job")?;
            if received.signal == Signal::SIGCHLD {
                if let Some(ending) = self.look()? {
                    break ending;
                }
                continue;
            }
            let to_all = self.recorder.witnessed(received.signal);
            if !to_all {
                // The job may have ended just now: its SIGCHLD is next.
                let _ = kill(self.process(), received.signal);
            }
            if !matches!(received.signal, Signal::SIGWINCH | Signal::SIGCONT) {
                let (sender, at) = (received.sender, jiff::Timestamp::now());
                sent.push(Sent {
                    signal: received.signal,
                    sender,
                    sender_name: process_name(sender),
                    at,
                });
            }
        };
        let Self {
            signals,
            recorder,
            direct,
            ..
        } = self;
        // From here on, whoever wants us to end wants the job's status.
        std::thread::spawn(move || leave_when_told(&signals, ending));
        Ok(Over {
            ending,
            sent,
            recorder,
            direct,
        })
    }

    /// What became of the job, if anything did.
    fn look(&self) -> anyhow::Result<Option<Ending>> {
        loop {
            match waitpid(self.process(), Some(WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED)) {
                Ok(WaitStatus::Exited(_, code)) => return Ok(Some(Ending::Exited(code))),
                Ok(WaitStatus::Signaled(_, signal, core)) => return Ok(Some(Ending::Killed { signal, core })),
                // Our parent waits for us, not for the job: for it to see the job stop, we have to stop.
                Ok(WaitStatus::Stopped(_, signal)) => stop_of(signal).context("can not stop with the job")?,
                Ok(_) => return Ok(None),
                Err(nix::Error::EINTR) => {}
                Err(error) => return Err(error).context("can not wait for the job"),
            }
        }
    }

    fn process(&self) -> Pid {
        Pid::from_raw(self.pid as i32)
    }
}

impl Over {
    /// Whether there is anything to report: not when all went well, when a person pressed Ctrl-C, or when the reader
    /// of the job's output had enough.
    pub fn is_crash(&self) -> bool {
        let interrupted = self.sent.iter().any(|sent| sent.signal == Signal::SIGINT);
        match self.ending {
            Ending::Exited(code) => code != 0 && !interrupted,
            Ending::Killed {
                signal: Signal::SIGINT, ..
            } => !interrupted,
            Ending::Killed { signal, .. } => signal != Signal::SIGPIPE,
        }
    }

    /// Waits until all that the job printed has reached its reader.
    pub fn drain(&mut self) {
        if let Err(error) = self.recorder.drain() {
            tracing::warn!("{error:#}");
        }
    }

    /// What the job printed to terminals and pipes.
    pub fn transcript(&mut self) -> anyhow::Result<Vec<u8>> {
        self.recorder.transcript()
    }

    /// What the job printed to files, by the name each is known by.
    pub fn files(&mut self) -> impl Iterator<Item = (&'static str, std::io::Result<Vec<u8>>)> {
        /// As much of a file as of a transcript, roughly: the end is what tells.
        const LIMIT: u64 = 9 << 20;
        self.direct.iter_mut().map(|direct| {
            let name = if direct.stream == Output::Out {
                "stdout.log"
            } else {
                "stderr.log"
            };
            (name, direct.written(LIMIT))
        })
    }
}

impl Sent {
    /// As the context tells it.
    pub fn to_json(&self) -> serde_json::Value {
        let sender = serde_json::json!({"pid": self.sender, "name": self.sender_name});
        serde_json::json!({"signal": self.signal.as_str(), "at": self.at.to_string(), "sender": sender})
    }
}

impl Ending {
    /// Name of the signal, or the exit code.
    pub fn named(self) -> (Option<&'static str>, Option<i32>) {
        match self {
            Self::Exited(code) => (None, Some(code)),
            Self::Killed { signal, .. } => (Some(signal.as_str()), None),
        }
    }

    /// Whether the kernel dumps core for such an end: signal(7).
    pub fn dumps_core(self) -> bool {
        use Signal::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGSYS, SIGTRAP, SIGXCPU, SIGXFSZ};
        let dumping = [
            SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGSYS, SIGTRAP, SIGXCPU, SIGXFSZ,
        ];
        matches!(self, Self::Killed { signal, .. } if dumping.contains(&signal))
    }

    /// Ends this process the way the job ended, for whoever waits for us.
    pub fn imitate(self) -> ! {
        match self {
            Self::Exited(code) => std::process::exit(code),
            Self::Killed { signal, .. } => {
                let _ = die_of(signal);
                // Not reached unless the signal could not kill us; this is a shell's way of saying it.
                std::process::exit(128 + signal as i32)
            }
        }
    }
}

/// What the job gets between fork and exec: the signal state of whoever started us, and core dumps.
fn prepare(mask: &SigSet, child_action: SigHandler, core_limit: Rlimit) -> std::io::Result<()> {
    // A limit that can not be raised costs a core dump, never the job.
    let _ = setrlimit(
        Resource::Core,
        Rlimit {
            current: core_limit.maximum,
            maximum: core_limit.maximum,
        },
    );
    Signals::restore(mask, child_action).map_err(std::io::Error::from)
}

/// Ends the process when it is told to, without waiting for a diagnosis.
fn leave_when_told(signals: &Signals, ending: Ending) {
    while let Ok(received) = signals.next() {
        if matches!(
            received.signal,
            Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP | Signal::SIGQUIT
        ) {
            ending.imitate();
        }
    }
}

/// Dies of a signal, without a core dump of our own: neither to a file nor to a handler.
fn die_of(signal: Signal) -> anyhow::Result<()> {
    setrlimit(
        Resource::Core,
        Rlimit {
            current: Some(0),
            maximum: getrlimit(Resource::Core).maximum,
        },
    )?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    if !matches!(signal, Signal::SIGKILL | Signal::SIGSTOP) {
        let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
        // SAFETY: the default action runs no code of ours.
        unsafe { sigaction(signal, &default) }?;
    }
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
    raise(signal)?;
    Ok(())
}

/// Stops this process the way the job was stopped, until it is told to go on. The terminal may have sent us the same
/// signal: ours waits beside it while both are held back, one of them stops us, and going on drops the other (signal(7)).
/// Raised after the other was let through, it would stop us a second time.
fn stop_of(signal: Signal) -> nix::Result<()> {
    let held_back: SigSet = [signal].into_iter().collect();
    raise(signal)?;
    held_back.thread_unblock()?;
    held_back.thread_block()
}

/// The name of a process that may be gone.
fn process_name(pid: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}
