//! The recorder: a process of its own that passes the job's output on and remembers it.
//!
//! It is a process and not a thread so that output keeps flowing when this program is killed, or has ended while
//! processes that the job left behind still write. For the same reason it is in a session of its own: what is sent to
//! the job's process group, such as `SIGKILL` and `SIGSTOP`, is not for what the job has printed already.

use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::{Pid, getppid};

use super::helper::{self, Forked};
use super::relay::{Channel, Shared, lock};
use super::streams::{Output, Relay};
use super::transcript::Transcript;

/// How long output may take to be passed on after the job's end. A reader that has stopped reading, or a process
/// left behind that prints without end, must not hold us up.
const DRAIN: Duration = Duration::from_secs(2);
/// How long the recorder may take to be ready.
const START: Duration = Duration::from_secs(5);
/// How often the recorder looks whether the job goes on while we are stopped.
const STOPPED: Duration = Duration::from_millis(50);

/// Messages to the recorder. The one about a stop is followed by the job's number.
const ASK_DRAIN: u8 = b'd';
const ASK_TRANSCRIPT: u8 = b't';
const ASK_COPY: u8 = b'c';
const TELL_STOP: u8 = b's';
const TELL_GO_ON: u8 = b'g';
const TELL_RESIZED: u8 = b'r';
/// Messages from it.
const DRAINED: u8 = 0x80;
const TRANSCRIPT: u8 = 0x81;
const READY: u8 = 0x82;

/// Our end of the link to the recorder.
#[derive(Debug)]
pub struct Recorder {
    process: Pid,
    link: UnixStream,
}

impl Recorder {
    /// Starts the recorder. To be called while there is no other thread. It lets go of `not_its_own`, the
    /// descriptors that are for the job alone. Fails where the machine has no room for it.
    pub fn start(relays: Vec<Relay>, not_its_own: &[RawFd]) -> anyhow::Result<Self> {
        let (ours, theirs) = UnixStream::pair().context("can not make a link to the recorder")?;
        match helper::fork().context("can not start the recorder")? {
            Forked::Parent(process) => {
                drop((theirs, relays));
                let mut recorder = Self { process, link: ours };
                match recorder.wait_for(READY, START) {
                    Ok(()) => Ok(recorder),
                    Err(error) => {
                        recorder.end();
                        Err(error)
                    }
                }
            }
            Forked::Child => {
                drop(ours);
                super::let_go(not_its_own);
                serve(theirs, relays);
                helper::end_here()
            }
        }
    }

    /// Has it end, and waits for that: as if it had not been.
    pub fn end(self) {
        drop(self.link);
        helper::wait_for(self.process);
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

    /// Has pseudo-terminals follow the size of the real one.
    pub fn resized(&mut self) {
        let _ = self.link.write_all(&[TELL_RESIZED]);
    }

    fn wait_for(&mut self, answer: u8, patience: Duration) -> anyhow::Result<()> {
        let deadline = Instant::now() + patience;
        loop {
            let message =
                helper::next_byte(&mut self.link, deadline).context("the recorder of the job's output is gone")?;
            if message == answer {
                return Ok(());
            }
        }
    }
}

/// The recorder's life: until the job and everything it left behind have closed their output, and we are gone.
fn serve(mut link: UnixStream, relays: Vec<Relay>) {
    let group = nix::unistd::getpgrp();
    // Where a sandbox refuses it, it stays in the group.
    let _ = rustix::process::setsid();
    // It may outlive the job by much, and must keep no folder from being unmounted.
    let _ = std::env::set_current_dir("/");
    let transcript: Shared = Arc::new(Mutex::new(Some(Transcript::with_spare())));
    let channels: Vec<_> = relays
        .into_iter()
        .map(|relay| Arc::new(Channel::new(relay, group)))
        .collect();
    let needed = |output: Output| channels.iter().any(|channel| channel.output() == output);
    [Output::Out, Output::Err]
        .into_iter()
        .filter(|output| !needed(*output))
        .for_each(Output::close);
    super::close_input();
    let ready = Arc::new(Barrier::new(channels.len() + 1));
    let mut threads = Vec::new();
    for channel in &channels {
        let (channel, transcript, ready) = (Arc::clone(channel), Arc::clone(&transcript), Arc::clone(&ready));
        let thread = std::thread::Builder::new().stack_size(256 << 10);
        // No room for a thread: without us the job's output goes where it should.
        let Ok(thread) = thread.spawn(move || channel.pass_on(&transcript, &ready)) else {
            return;
        };
        threads.push(thread);
    }
    ready.wait();
    if link.write_all(&[READY]).is_err() {
        return;
    }
    let mut question = [0];
    while link.read_exact(&mut question).is_ok() {
        let [question] = question;
        if question == TELL_RESIZED {
            channels.iter().for_each(|channel| channel.resize());
        } else if answer(question, &mut link, &channels, &transcript).is_err() {
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
            send(&lock(transcript).take().unwrap_or_default(), link)
        }
        ASK_COPY => {
            let copy = lock(transcript).as_ref().and_then(Transcript::copy);
            send(&copy.unwrap_or_default(), link)
        }
        _ => link.write_all(&[DRAINED]),
    }
}

fn send(transcript: &Transcript, link: &mut UnixStream) -> std::io::Result<()> {
    link.write_all(&[TRANSCRIPT])?;
    link.write_all(&transcript.length().to_le_bytes())?;
    transcript.write_to(link)
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
