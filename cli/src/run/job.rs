//! The job's life, from its start to its end.

use std::ffi::OsString;
use std::os::fd::{AsFd as _, AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::fs::Mode;
use rustix::process::{Pid, Resource, Rlimit, WaitOptions, getpid, getppid, setrlimit, umask, wait};
use serde_json::{Value, json};

use super::ending::Ending;
use super::environment::Environment;
use super::recorder::Recorder;
use super::signal::Signal;
use super::signals::{Original, Received, Signals};
use super::streams::{Direct, Output, Streams};
use super::witness::Witness;
use super::{inherited, lifeboat};
use crate::limits::{self, limit};

/// What a job gets that it would not have without us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arming {
    /// Its output is recorded.
    pub output: bool,
    /// Its soft limit on core dumps, where that is 0, is raised to the hard one.
    pub core: bool,
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

/// Something that goes on beside the wait for the job's end.
pub trait Beside {
    /// What it waits for.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;
    /// How long it has nothing to do unless one of these is ready.
    fn pause(&self) -> Duration;
    /// Does what there is to do, shortly.
    fn attend(&mut self, printed: &mut Printed<'_>);
}

/// What a job that runs has printed so far.
#[derive(Debug)]
pub struct Printed<'a> {
    recorder: Option<&'a mut Recorder>,
    direct: &'a [Direct],
}

impl Printed<'_> {
    /// A number that changes when something is printed.
    pub fn mark(&self) -> u64 {
        let relayed = self.recorder.as_ref().map_or(0, |recorder| recorder.wakes());
        let sizes = self.direct.iter().map(Direct::size);
        sizes.fold(relayed, u64::wrapping_add)
    }

    /// What was printed to terminals and pipes; an error where that is not recorded.
    pub fn transcript(&mut self) -> anyhow::Result<Vec<u8>> {
        let recorder = self.recorder.as_mut();
        recorder.context("nobody records it")?.transcript_so_far()
    }
}

/// A job that runs.
#[derive(Debug)]
pub struct Job {
    process: Pid,
    /// Whether the job dumps core only because of us.
    pub core_is_ours: bool,
    signals: Signals,
    witness: Option<Witness>,
    recorder: Option<Recorder>,
    direct: Vec<Direct>,
}

/// A job that has ended.
#[derive(Debug)]
pub struct Over {
    /// How.
    pub ending: Ending,
    /// The signals that were sent while it ran.
    pub sent: Vec<Sent>,
    /// Signals that come from now on.
    pub signals: Signals,
    /// What the job printed to files, from where on.
    pub direct: Vec<Direct>,
    recorder: Option<Recorder>,
}

impl Job {
    /// Starts a job, with these variables. To be called while there is no other thread, and
    /// before files are opened that the job would inherit. Where the machine has no room for both the job and us, we
    /// become the job.
    pub fn start(command: &[OsString], variables: &[(OsString, OsString)], arming: Arming) -> anyhow::Result<Self> {
        if super::children_are_elsewhere() {
            tracing::debug!("what is started here is in another PID namespace, so the job runs without us");
            return Err(become_it(command, None).into());
        }
        let job_only = super::meant_for_the_job();
        let signals = match Signals::hold_back() {
            Ok(signals) => signals,
            Err(error) => {
                tracing::debug!("signals can not be held back for the job, so it runs without us: {error}");
                return Err(become_it(command, None).into());
            }
        };
        // What came before the job is there is the job's, as it would be if it stood in our place.
        let waiting: Vec<Received> = std::iter::from_fn(|| signals.next()).collect();
        let mut streams = if arming.output {
            Streams::arrange()
        } else {
            Streams::default()
        };
        // As long as the recorder held the job's ends of the streams, it would never see them end.
        let ends = [&streams.out, &streams.err]
            .into_iter()
            .flatten()
            .map(AsRawFd::as_raw_fd);
        let not_its_own: Vec<_> = job_only.iter().copied().chain(ends).collect();
        let relays = std::mem::take(&mut streams.relays);
        let ends = relays.iter().map(|relay| relay.source.as_raw_fd());
        let not_the_witness: Vec<_> = not_its_own.iter().copied().chain(ends).collect();
        let witness = Witness::start(&signals, &not_the_witness)
            .inspect_err(|error| tracing::debug!("signals to all count as sent to us: {error:#}"))
            .ok();
        let not_the_recorder: Vec<_> = not_its_own
            .into_iter()
            .chain(witness.as_ref().map(Witness::link))
            .collect();
        let recorder = Recorder::start(relays, &not_the_recorder)
            .inspect_err(|error| tracing::warn!("the job's output is not recorded: {error:#}"))
            .ok();
        if recorder.is_none() {
            streams = streams.inherit();
        }
        let core = limit(limits::Resource::RLIMIT_CORE).filter(|core| core.soft == Some(0) && core.hard != Some(0));
        let core = core.filter(|_| arming.core && core_is_of_use());
        let core_is_ours = core.is_some();
        let start = Start {
            signals: signals.original(),
            parent: getpid(),
            core_limit: core.map(|core| Rlimit {
                current: core.hard,
                maximum: core.hard,
            }),
        };
        let mut spawn = prepared(command)?;
        let of_streams = streams.variables();
        let mut environment = Environment::with(variables.iter().chain(&of_streams));
        streams.out.map(|end| spawn.stdout(end));
        streams.err.map(|end| spawn.stderr(end));
        // SAFETY: between fork and exec, this only makes system calls.
        unsafe { spawn.pre_exec(move || start.prepare(&mut environment)) };
        let child = match spawn.spawn() {
            Ok(child) => child,
            // Where the program itself can not be run, becoming it fails for the same reason.
            Err(error) => {
                tracing::debug!("the job can not be started beside us: {error}");
                drop(spawn);
                recorder.into_iter().for_each(Recorder::end);
                witness.into_iter().for_each(Witness::end);
                return Err(become_it(command, Some(&signals)).into());
            }
        };
        drop(spawn);
        super::let_go(&job_only);
        super::close_input();
        Output::Out.close();
        let process = Pid::from_child(&child);
        lifeboat::started(process);
        let waiting = waiting.iter().filter(|received| received.signal != Signal::CHLD);
        waiting.for_each(|received| received.pass_on(process));
        Ok(Self {
            process,
            core_is_ours,
            signals,
            witness,
            recorder,
            direct: streams.direct,
        })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.as_raw_nonzero().get() as u32
    }

    /// Waits for the job's end, passing signals on and stopping when it stops.
    pub fn wait(mut self, beside: &mut impl Beside) -> Over {
        let mut sent = Vec::new();
        let ending = loop {
            self.sleep(beside);
            let waiting = std::iter::from_fn(|| self.signals.next()).collect();
            sent.extend(self.receive(waiting));
            if let Some(ending) = self.look() {
                lifeboat::ended(ending);
                break ending;
            }
            beside.attend(&mut Printed {
                recorder: self.recorder.as_mut(),
                direct: &self.direct,
            });
        };
        Over {
            ending,
            sent,
            signals: self.signals,
            direct: self.direct,
            recorder: self.recorder,
        }
    }

    /// Sleeps until there is something to do.
    fn sleep(&self, beside: &impl Beside) {
        let others = beside.descriptors();
        let all = std::iter::once(self.signals.as_fd()).chain(others);
        let mut ready: Vec<_> = all.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        let pause = PollTimeout::try_from(beside.pause()).unwrap_or(PollTimeout::MAX);
        // Woken too early, we look once more than is needed.
        let _ = poll(&mut ready, pause);
    }

    /// Passes signals on, but for those that the job got too; what is worth telling about them.
    fn receive(&mut self, mut waiting: Vec<Received>) -> Vec<Sent> {
        waiting.retain(|received| {
            let of_an_end = received.signal == Signal::CHLD && !received.is_sent();
            !received.is_our_own() && !of_an_end
        });
        let signals: Vec<Signal> = waiting.iter().map(|received| received.signal).collect();
        if signals.contains(&Signal::WINCH) {
            self.recorder.iter_mut().for_each(Recorder::resized);
        }
        let witness = self.witness.as_mut();
        let to_all = witness.map_or_else(Vec::new, |witness| witness.witnessed(&signals));
        for (index, received) in waiting.iter().enumerate() {
            if !to_all.get(index).is_some_and(|to_all| *to_all) {
                received.pass_on(self.meant(received.sender));
            }
        }
        let untold = [Signal::WINCH, Signal::CONT, Signal::CHLD];
        let told = waiting
            .into_iter()
            .filter(|received| !untold.contains(&received.signal));
        told.map(Sent::of).collect()
    }

    /// Whom a signal is meant for that came to us: the job, in whose place we are; and where the job itself sent it, its
    /// parent, in whose place we are too.
    fn meant(&self, sender: u32) -> Pid {
        let parent = getppid().filter(|_| sender == self.pid());
        parent.unwrap_or(self.process)
    }

    /// What became of the job, if anything did. Others that end here were left to us by the kernel.
    fn look(&mut self) -> Option<Ending> {
        loop {
            match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
                Ok(Some((process, status))) if process == self.process => {
                    if let Some(ending) = Ending::of(status) {
                        return Some(ending);
                    }
                    // Our parent waits for us, not for the job: for it to see the job stop, we have to stop.
                    if let Some(signal) = status.stopping_signal() {
                        self.stop_of(signal);
                    }
                }
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return None,
                // Nobody is left to wait for: that the job ended is all there is to know.
                Err(_) => return Some(Ending::Exited(1)),
            }
        }
    }

    fn stop_of(&mut self, signal: i32) {
        match &mut self.recorder {
            Some(recorder) => recorder.beside_stop(self.process, || stop_of(signal)),
            None => stop_of(signal),
        }
    }
}

impl Over {
    /// Whether there is anything to report: not when all went well, when a person pressed Ctrl-C, or when the reader
    /// of the job's output had enough.
    pub fn is_crash(&self) -> bool {
        let interrupted = self.sent.iter().any(|sent| sent.signal == Signal::INT);
        match self.ending.signal() {
            None => self.ending != Ending::Exited(0) && !interrupted,
            Some(Signal::INT) => !interrupted,
            Some(signal) => signal != Signal::PIPE,
        }
    }

    /// When somebody first asked the job to end, by a signal that people and schedulers send for that.
    pub fn asked_to_end(&self) -> Option<jiff::Timestamp> {
        let polite = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];
        let first = self.sent.iter().find(|sent| polite.contains(&sent.signal))?;
        Some(first.at)
    }

    /// Waits until all that the job printed has reached its reader.
    pub fn drain(&mut self) {
        if let Some(Err(error)) = self.recorder.as_mut().map(Recorder::drain) {
            tracing::warn!("{error:#}");
        }
    }

    /// What the job printed to terminals and pipes; an error where that was not recorded.
    pub fn transcript(&mut self) -> anyhow::Result<Vec<u8>> {
        let recorder = self.recorder.as_mut();
        recorder
            .context("there was no room for a process that records it")?
            .transcript()
    }
}

impl Sent {
    fn of(received: Received) -> Self {
        Self {
            signal: received.signal,
            sender: received.sender,
            sender_name: process_name(received.sender),
            at: jiff::Timestamp::now(),
        }
    }

    /// As the context tells it.
    pub fn to_json(&self) -> Value {
        let sender = json!({"pid": self.sender, "name": self.sender_name});
        json!({"signal": self.signal.name(), "at": self.at.to_string(), "sender": sender})
    }
}

/// What is done in the job's process before it is the job.
#[derive(Clone, Copy, Debug)]
struct Start {
    signals: Original,
    parent: Pid,
    /// The limit on core dumps to set, if any.
    core_limit: Option<Rlimit>,
}

impl Start {
    /// Gives the job what whoever started us had set up, and core dumps. Safe between fork and exec.
    fn prepare(self, environment: &mut Environment) -> std::io::Result<()> {
        environment.take_effect();
        if let Some(limit) = self.core_limit {
            // A limit that can not be raised costs a core dump, never the job.
            let _ = setrlimit(Resource::Core, limit);
        }
        inherited::die_with(self.parent);
        inherited::restore();
        self.signals.restore().map_err(std::io::Error::from)
    }
}

/// The job's command.
fn prepared(command: &[OsString]) -> anyhow::Result<Command> {
    let (program, arguments) = command.split_first().context("no command to run")?;
    let mut prepared = Command::new(program);
    prepared.args(arguments);
    Ok(prepared)
}

/// Becomes the job; returns only if that is not possible either.
fn become_it(command: &[OsString], signals: Option<&Signals>) -> std::io::Error {
    let Ok(mut job) = prepared(command) else {
        return std::io::ErrorKind::InvalidInput.into();
    };
    let original = signals.map(Signals::original);
    let restore = move || {
        inherited::restore();
        original.map_or(Ok(()), |original| original.restore().map_err(std::io::Error::from))
    };
    // SAFETY: this only makes system calls.
    unsafe { job.pre_exec(restore) }.exec()
}

/// Whether a core dump would be whole, and where it goes is known: one that is not found is not taken away either.
fn core_is_of_use() -> bool {
    limit(limits::Resource::RLIMIT_FSIZE).is_some_and(|files| files.soft.is_none())
        && std::path::Path::new("/proc/sys/kernel/core_pattern").exists()
        && lets_the_owner_in()
        && has_room()
}

/// Bytes of memory with which we are sure to take a core dump away that the job left. With less we may be gone by then.
const ROOM: u64 = 512 << 20;

/// Whether this process may have as much.
fn has_room() -> bool {
    [limits::Resource::RLIMIT_AS, limits::Resource::RLIMIT_DATA]
        .into_iter()
        .all(|memory| limit(memory).is_some_and(|memory| memory.soft.is_none_or(|bytes| bytes >= ROOM)))
}

/// Whether files that are made here may be read and written by their owner. Where that is masked, the kernel leaves a core
/// dump empty.
fn lets_the_owner_in() -> bool {
    let owner = Mode::RUSR | Mode::WUSR;
    let masked = umask(owner);
    umask(masked);
    !masked.intersects(owner)
}

/// Stops this process the way the job was stopped, until it is told to go on. The terminal may have sent us the same
/// signal: ours waits beside it while both are held back, one of them stops us, and going on drops the other
/// (signal(7)). Raised after the other was let through, it would stop us a second time.
fn stop_of(signal: i32) {
    // SAFETY: the set is filled before it is read, and lives longer than the calls.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::raise(signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// The name of a process that may be gone.
fn process_name(pid: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}
