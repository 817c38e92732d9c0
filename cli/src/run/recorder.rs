//! The recorder: a process of its own that passes the job's output on and remembers it.
//!
//! It is a process and not a thread for two reasons. Output keeps flowing when this program is killed, or has ended
//! while processes that the job left behind still write. And it is the witness of [`super::signals`]: a member of the
//! process group that acts on no signal and tells which ones it got.

use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{ForkResult, fork};
use rustix::process::{Pid, WaitOptions, getppid, waitpid};

use super::relay::{Channel, Shared, lock};
use super::signal::Signal;
use super::signals::Signals;
use super::streams::{Output, Relay};
use super::transcript::Transcript;

/// How long a signal's witness may take. A signal to a group reaches all its members in one system call. What a witness
/// that sleeps again has told is there already.
const WITNESS: Duration = Duration::from_millis(20);
const TOLD: Duration = Duration::from_millis(1);
/// A note this old belongs to another signal of the same number.
const STALE: Duration = Duration::from_millis(200);
/// How long output may take to be passed on after the job's end. A reader that has stopped reading, or a process
/// left behind that prints without end, must not hold us up.
const DRAIN: Duration = Duration::from_secs(2);
/// How long the recorder may take to be ready, and to say what it witnessed.
const START: Duration = Duration::from_secs(5);
/// How often the recorder looks whether the job goes on while we are stopped.
const STOPPED: Duration = Duration::from_millis(50);

/// Messages to the recorder. The one about a stop is followed by the job's number.
const ASK_DRAIN: u8 = b'd';
const ASK_TRANSCRIPT: u8 = b't';
const ASK_COPY: u8 = b'c';
const TELL_STOP: u8 = b's';
const TELL_GO_ON: u8 = b'g';
/// Messages from it. Numbers below are signals.
const DRAINED: u8 = 0x80;
const TRANSCRIPT: u8 = 0x81;
const READY: u8 = 0x82;

/// Our end of the link to the recorder.
#[derive(Debug)]
pub struct Recorder {
    process: Pid,
    link: UnixStream,
    notes: Vec<(Signal, Instant)>,
}

impl Recorder {
    /// Starts the recorder. To be called while there is no other thread. It lets go of `not_its_own`, the
    /// descriptors that are for the job alone. Fails where the machine has no room for it.
    pub fn start(relays: Vec<Relay>, signals: &Signals, not_its_own: &[RawFd]) -> anyhow::Result<Self> {
        let (ours, theirs) = UnixStream::pair().context("can not make a link to the recorder")?;
        // SAFETY: no other thread exists, so the new process may go on like any.
        match unsafe { fork() }.context("can not start the recorder")? {
            ForkResult::Parent { child } => {
                drop((theirs, relays));
                let process = Pid::from_raw(child.as_raw()).context("the recorder has no number")?;
                let mut recorder = Self {
                    process,
                    link: ours,
                    notes: Vec::new(),
                };
                match recorder.wait_for(READY, START) {
                    Ok(()) => Ok(recorder),
                    Err(error) => {
                        recorder.end();
                        Err(error)
                    }
                }
            }
            ForkResult::Child => {
                drop(ours);
                super::let_go(not_its_own);
                serve(theirs, relays, signals);
                // SAFETY: this ends the process; what would be run on the way out is our parent's to run.
                unsafe { libc::_exit(0) }
            }
        }
    }

    /// Has it end, and waits for that: as if it had not been.
    pub fn end(self) {
        drop(self.link);
        while let Err(rustix::io::Errno::INTR) = waitpid(Some(self.process), WaitOptions::empty()) {}
    }

    /// For each of the signals that just reached us, whether it reached the whole process group. On a busy machine the
    /// witness may not have come to its turn: as long as it has something to do, it is waited for. Many signals take no
    /// longer than one.
    pub fn witnessed(&mut self, signals: &[Signal]) -> Vec<bool> {
        let mut witnessed = vec![false; signals.len()];
        let end = Instant::now() + START;
        let mut patience = WITNESS;
        loop {
            let deadline = Instant::now() + patience;
            loop {
                for (signal, witnessed) in signals.iter().zip(&mut witnessed) {
                    *witnessed = *witnessed || self.has_noted(*signal);
                }
                if witnessed.iter().all(|witnessed| *witnessed) {
                    return witnessed;
                }
                let Some(message) = self.message(deadline) else { break };
                self.note(message);
            }
            if patience == TOLD || Instant::now() > end {
                return witnessed;
            }
            if self.is_idle() {
                patience = TOLD;
            }
        }
    }

    /// Whether a note of the signal is there, which is then used up.
    fn has_noted(&mut self, signal: Signal) -> bool {
        self.notes.retain(|(_, at)| at.elapsed() < STALE);
        let index = self.notes.iter().position(|(noted, _)| *noted == signal);
        index.map(|index| self.notes.remove(index)).is_some()
    }

    /// Whether the recorder sleeps, and no signal waits for it.
    fn is_idle(&self) -> bool {
        let status = format!("/proc/{}/status", self.process.as_raw_nonzero());
        let status = std::fs::read_to_string(status).unwrap_or_default();
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let waits = field("ShdPnd:").is_some_and(|mask| mask.bytes().any(|digit| digit != b'0'));
        !waits && field("State:").is_none_or(|state| !state.starts_with('R'))
    }

    /// The next message, unless none comes in time.
    fn message(&mut self, deadline: Instant) -> Option<u8> {
        let left = deadline.saturating_duration_since(Instant::now());
        // A timeout of zero would be none at all.
        if left.is_zero() || self.link.set_read_timeout(Some(left)).is_err() {
            return None;
        }
        let mut byte = [0];
        self.link.read_exact(&mut byte).is_ok().then_some(byte[0])
    }

    fn note(&mut self, message: u8) {
        if message < DRAINED {
            self.notes.push((Signal::of(i32::from(message)), Instant::now()));
        }
    }

    /// Waits until all output has been passed on.
    pub fn drain(&mut self) -> anyhow::Result<()> {
        self.ask(ASK_DRAIN, DRAINED)
    }

    /// What the job printed, after all of it has been passed on.
    pub fn transcript(&mut self) -> anyhow::Result<Vec<u8>> {
        self.ask(ASK_TRANSCRIPT, TRANSCRIPT)?;
        self.receive()
    }

    /// What it has printed so far, while it runs.
    pub fn transcript_so_far(&mut self) -> anyhow::Result<Vec<u8>> {
        self.ask(ASK_COPY, TRANSCRIPT)?;
        self.receive()
    }

    fn receive(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut length = [0; 8];
        self.link.read_exact(&mut length)?;
        let mut bytes = Vec::new();
        (&self.link).take(u64::from_le_bytes(length)).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// A number that grows when something is printed: how often its threads woke up for it.
    pub fn wakes(&self) -> u64 {
        let process = self.process.as_raw_nonzero().get();
        let threads = std::fs::read_dir(format!("/proc/{process}/task"))
            .into_iter()
            .flatten()
            .flatten();
        let of_thread = |path: std::path::PathBuf| {
            let status = std::fs::read_to_string(path.join("status")).ok()?;
            let count = status
                .lines()
                .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
            count.trim().parse::<u64>().ok()
        };
        let relays = threads.filter(|thread| *thread.file_name() != *process.to_string());
        relays.filter_map(|thread| of_thread(thread.path())).sum()
    }

    /// Stops this process with the job by what `stop` does. The job may be told to go on behind our back: then the
    /// recorder tells us.
    pub fn beside_stop<T>(&mut self, job: Pid, stop: impl FnOnce() -> T) -> T {
        let mut message = vec![TELL_STOP];
        message.extend(job.as_raw_nonzero().get().to_le_bytes());
        let _ = self.link.write_all(&message);
        let stopped = stop();
        let _ = self.link.write_all(&[TELL_GO_ON]);
        stopped
    }

    fn ask(&mut self, question: u8, answer: u8) -> anyhow::Result<()> {
        self.link.write_all(&[question])?;
        self.wait_for(answer, DRAIN * 2)
    }

    fn wait_for(&mut self, answer: u8, patience: Duration) -> anyhow::Result<()> {
        let deadline = Instant::now() + patience;
        loop {
            let message = self
                .message(deadline)
                .context("the recorder of the job's output is gone")?;
            if message == answer {
                return Ok(());
            }
            self.note(message);
        }
    }
}

/// The recorder's life: until the job and everything it left behind have closed their output, and we are gone.
fn serve(mut link: UnixStream, relays: Vec<Relay>, signals: &Signals) {
    let transcript: Shared = Arc::new(Mutex::new(Some(Transcript::default())));
    let channels: Vec<_> = relays.into_iter().map(|relay| Arc::new(Channel::new(relay))).collect();
    let needed = |output: Output| channels.iter().any(|channel| channel.output() == output);
    [Output::Out, Output::Err]
        .into_iter()
        .filter(|output| !needed(*output))
        .for_each(Output::close);
    super::close_input();
    let mut threads = Vec::new();
    for channel in &channels {
        let (channel, transcript) = (Arc::clone(channel), Arc::clone(&transcript));
        let thread = std::thread::Builder::new().stack_size(256 << 10);
        // No room for a thread: without us the job's output goes where it should.
        let Ok(thread) = thread.spawn(move || channel.pass_on(&transcript)) else {
            return;
        };
        threads.push(thread);
    }
    if link.write_all(&[READY]).is_err() {
        return;
    }
    while let Some(question) = next_question(&mut link, &channels, signals) {
        if answer(question, &mut link, &channels, &transcript).is_err() {
            break;
        }
    }
    // Nobody will ask for it any more: from here on, output is only passed on.
    lock(&transcript).take();
    for thread in threads {
        let _ = thread.join();
    }
}

fn answer(question: u8, link: &mut UnixStream, channels: &[Arc<Channel>], transcript: &Shared) -> std::io::Result<()> {
    match question {
        TELL_STOP => return watch_over(link),
        TELL_GO_ON => return Ok(()),
        _ => {}
    }
    // Of a job that runs, what is on its way may come later.
    if question != ASK_COPY {
        let deadline = Instant::now() + DRAIN;
        channels.iter().for_each(|channel| channel.drain(deadline));
    }
    match question {
        ASK_TRANSCRIPT => {
            channels.iter().for_each(|channel| channel.settle(transcript));
            send(lock(transcript).take().unwrap_or_default(), link)
        }
        ASK_COPY => send(lock(transcript).clone().unwrap_or_default(), link),
        _ => link.write_all(&[DRAINED]),
    }
}

fn send(transcript: Transcript, link: &mut UnixStream) -> std::io::Result<()> {
    let kept = transcript.finish();
    let mut answer = vec![TRANSCRIPT];
    answer.extend((kept.len() as u64).to_le_bytes());
    answer.extend(kept);
    link.write_all(&answer)
}

/// While our parent is stopped with the job, wakes it when the job goes on or ends.
fn watch_over(link: &mut UnixStream) -> std::io::Result<()> {
    let mut number = [0; 4];
    link.read_exact(&mut number)?;
    let job = i32::from_le_bytes(number);
    loop {
        let mut asked = [PollFd::new(link.as_fd(), PollFlags::POLLIN)];
        let pause = PollTimeout::try_from(STOPPED).unwrap_or(PollTimeout::ZERO);
        if !matches!(poll(&mut asked, pause), Ok(0) | Err(nix::Error::EINTR)) {
            return Ok(());
        }
        let goes_on = state(job) != Some('T');
        if let Some(parent) = getppid().filter(|parent| goes_on && state(parent.as_raw_nonzero().get()) == Some('T')) {
            let _ = rustix::process::kill_process(parent, rustix::process::Signal::CONT);
        }
    }
}

/// The third field of `/proc/PID/stat`: `T` for a stopped process.
fn state(process: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Tells of signals until a question comes; none when the asker is gone.
fn next_question(link: &mut UnixStream, channels: &[Arc<Channel>], signals: &Signals) -> Option<u8> {
    loop {
        let mut ready = [
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(link.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut ready, PollTimeout::NONE) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(_) => return None,
        }
        let [signalled, asked] = ready.map(|fd| fd.any().unwrap_or(false));
        while let Some(received) = signals.next().filter(|_| signalled) {
            if received.is_our_own() {
                continue;
            }
            if received.signal == Signal::WINCH {
                channels.iter().for_each(|channel| channel.resize());
            }
            link.write_all(&[received.signal.number() as u8]).ok()?;
        }
        if asked {
            let mut question = [0];
            return link.read_exact(&mut question).ok().map(|()| question[0]);
        }
    }
}
