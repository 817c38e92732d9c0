//! The recorder: a process of its own that passes the job's output on and remembers it.
//!
//! It is a process and not a thread for two reasons. Output keeps flowing when this program is killed, or has ended
//! while processes that the job left behind still write. And it is the witness of [`super::signals`]: a member of the
//! process group that acts on no signal and tells which ones it got.

use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::unistd::{ForkResult, fork};

use super::signals::Signals;
use super::streams::{Output, Relay, copy_size};
use super::transcript::Transcript;

/// Read at once: what a pipe holds.
const CHUNK: usize = 64 << 10;
/// How long a signal's witness may take. A signal to a group reaches all its members in one system call.
const WITNESS: Duration = Duration::from_millis(20);
/// A note this old belongs to another signal of the same number.
const STALE: Duration = Duration::from_millis(200);
/// How long output may take to be passed on after the job's end. A reader that has stopped reading, or a process
/// left behind that prints without end, must not hold us up.
const DRAIN: Duration = Duration::from_secs(2);

/// Messages to the recorder.
const ASK_DRAIN: u8 = b'd';
const ASK_TRANSCRIPT: u8 = b't';
/// Messages from it. Numbers below are signals.
const DRAINED: u8 = 0x80;
const TRANSCRIPT: u8 = 0x81;

/// Our end of the link to the recorder.
#[derive(Debug)]
pub struct Recorder {
    link: UnixStream,
    notes: Vec<(Signal, Instant)>,
}

impl Recorder {
    /// Starts the recorder. To be called while there is no other thread. It lets go of `not_its_own`, the
    /// descriptors that are for the job alone.
    pub fn start(relays: Vec<Relay>, signals: &Signals, not_its_own: &[RawFd]) -> anyhow::Result<Self> {
        let (ours, theirs) = UnixStream::pair().context("can not make a link to the recorder")?;
        // SAFETY: no other thread exists, so the new process may go on like any.
        match unsafe { fork() }.context("can not start the recorder")? {
            ForkResult::Parent { .. } => Ok(Self {
                link: ours,
                notes: Vec::new(),
            }),
            ForkResult::Child => {
                drop(ours);
                super::let_go(not_its_own);
                serve(theirs, relays, signals);
                std::process::exit(0)
            }
        }
    }

    /// Whether the signal that just reached us reached the whole process group.
    pub fn witnessed(&mut self, signal: Signal) -> bool {
        let deadline = Instant::now() + WITNESS;
        loop {
            self.notes.retain(|(_, at)| at.elapsed() < STALE);
            if let Some(index) = self.notes.iter().position(|(noted, _)| *noted == signal) {
                self.notes.remove(index);
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let mut byte = [0];
            // A timeout of zero would be none at all.
            if left.is_zero()
                || self.link.set_read_timeout(Some(left)).is_err()
                || self.link.read_exact(&mut byte).is_err()
            {
                return false;
            }
            self.note(byte[0]);
        }
    }

    fn note(&mut self, message: u8) {
        if let Ok(signal) = Signal::try_from(i32::from(message)) {
            self.notes.push((signal, Instant::now()));
        }
    }

    /// Waits until all output has been passed on.
    pub fn drain(&mut self) -> anyhow::Result<()> {
        self.ask(ASK_DRAIN, DRAINED)
    }

    /// What the job printed, after all of it has been passed on.
    pub fn transcript(&mut self) -> anyhow::Result<Vec<u8>> {
        self.ask(ASK_TRANSCRIPT, TRANSCRIPT)?;
        let mut length = [0; 8];
        self.link.read_exact(&mut length)?;
        let mut bytes = Vec::new();
        (&self.link).take(u64::from_le_bytes(length)).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn ask(&mut self, question: u8, answer: u8) -> anyhow::Result<()> {
        self.link.set_read_timeout(Some(DRAIN * 2))?;
        self.link.write_all(&[question])?;
        loop {
            let mut byte = [0];
            self.link
                .read_exact(&mut byte)
                .context("the recorder is gone, and the job's output with it")?;
            if byte[0] == answer {
                return Ok(());
            }
            self.note(byte[0]);
        }
    }
}

/// What the recorder's threads share.
type Shared = Arc<Mutex<Option<Transcript>>>;

/// The recorder's life: until the job and everything it left behind have closed their output, and we are gone.
fn serve(mut link: UnixStream, relays: Vec<Relay>, signals: &Signals) {
    let needed = |output: Output| relays.iter().any(|relay| relay.to == output);
    [Output::Out, Output::Err]
        .into_iter()
        .filter(|output| !needed(*output))
        .for_each(Output::close);
    super::close_input();
    let transcript: Shared = Arc::new(Mutex::new(Some(Transcript::default())));
    let channels: Vec<_> = relays.into_iter().map(|relay| Arc::new(Channel::new(relay))).collect();
    let threads: Vec<_> = channels
        .iter()
        .map(|channel| {
            let (channel, transcript) = (Arc::clone(channel), Arc::clone(&transcript));
            std::thread::spawn(move || channel.pass_on(&transcript))
        })
        .collect();
    while let Some(question) = next_question(&mut link, &channels, signals) {
        let deadline = Instant::now() + DRAIN;
        channels.iter().for_each(|channel| channel.drain(deadline));
        let answered = match question {
            ASK_TRANSCRIPT => {
                let kept = lock(&transcript).take().unwrap_or_default().finish();
                let mut answer = vec![TRANSCRIPT];
                answer.extend((kept.len() as u64).to_le_bytes());
                answer.extend(kept);
                link.write_all(&answer)
            }
            _ => link.write_all(&[DRAINED]),
        };
        if answered.is_err() {
            break;
        }
    }
    // Nobody will ask for it any more: from here on, output is only passed on.
    lock(&transcript).take();
    for thread in threads {
        let _ = thread.join();
    }
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
        if signalled {
            let signal = signals.next().ok()?.signal;
            if signal == Signal::SIGWINCH {
                channels.iter().for_each(|channel| channel.resize());
            }
            link.write_all(&[signal as u8]).ok()?;
        }
        if asked {
            let mut question = [0];
            return link.read_exact(&mut question).ok().map(|()| question[0]);
        }
    }
}

/// One relay at work.
#[derive(Debug)]
struct Channel {
    to: Output,
    terminal: bool,
    /// Locked from before a chunk is read until it has been written: whoever holds this and finds nothing to read
    /// knows that all has arrived. None once the stream has ended.
    source: Mutex<Option<Arc<OwnedFd>>>,
}

impl Channel {
    fn new(relay: Relay) -> Self {
        Self {
            to: relay.to,
            terminal: relay.terminal,
            source: Mutex::new(Some(Arc::new(relay.source))),
        }
    }

    /// Passes on and records until the stream ends at either side. Then both sides are closed: the job gets its
    /// `SIGPIPE` when nobody reads any more, and a reader its end of file when nobody writes any more.
    fn pass_on(&self, transcript: &Shared) {
        let Some(source) = lock(&self.source).clone() else {
            return;
        };
        let mut chunk = vec![0; CHUNK];
        while wait_for(source.as_fd(), PollFlags::POLLIN, PollTimeout::NONE) {
            let _passing = lock(&self.source);
            let length = match rustix::io::read(&source, &mut chunk) {
                Ok(0) => break,
                Ok(length) => length,
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => continue,
                // A pseudo-terminal that nobody has open any more answers EIO.
                Err(_) => break,
            };
            let bytes = chunk.get(..length).unwrap_or_default();
            if let Some(transcript) = lock(transcript).as_mut() {
                transcript.push(bytes);
            }
            if write_all(self.to.descriptor(), bytes).is_err() {
                break;
            }
        }
        lock(&self.source).take();
        self.to.close();
    }

    /// Waits until what the source holds has been passed on, or the deadline.
    fn drain(&self, deadline: Instant) {
        while Instant::now() < deadline {
            let passed_on = match self.source.try_lock() {
                Ok(source) => source
                    .as_ref()
                    .is_none_or(|source| !wait_for(source.as_fd(), PollFlags::POLLIN, PollTimeout::ZERO)),
                Err(_) => false,
            };
            if passed_on {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Follows the real terminal's size. The job may have asked for it before we did: it is told once more.
    fn resize(&self) {
        let source = lock(&self.source).clone();
        let changed = source.is_some_and(|source| self.terminal && copy_size(self.to.descriptor(), source.as_fd()));
        if changed {
            let _ = nix::sys::signal::killpg(nix::unistd::getpgrp(), Signal::SIGWINCH);
        }
    }
}

/// A panic of another thread leaves a transcript that is still worth having.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True when the descriptor is ready, or has come to its end.
fn wait_for(descriptor: BorrowedFd<'_>, what: PollFlags, timeout: PollTimeout) -> bool {
    loop {
        match poll(&mut [PollFd::new(descriptor, what)], timeout) {
            Ok(ready) => return ready > 0,
            Err(nix::Error::EINTR) => {}
            Err(_) => return false,
        }
    }
}

/// Writes everything. Whoever gave us the descriptor may have made it non-blocking.
fn write_all(to: BorrowedFd<'_>, mut bytes: &[u8]) -> rustix::io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => {
                wait_for(to, PollFlags::POLLOUT, PollTimeout::NONE);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
