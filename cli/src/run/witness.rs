//! The witness of [`super::signals`]: a process that stays in the job's process group, acts on no signal and tells which
//! ones it got.

use std::io::Write as _;
use std::os::fd::{AsFd as _, AsRawFd as _, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::Pid;

use super::helper::{self, Forked};
use super::signal::Signal;
use super::signals::Signals;

/// How long a signal's witness may take. A signal to a group reaches all its members in one system call. What a witness
/// that sleeps again has told is there already.
const PATIENCE: Duration = Duration::from_millis(20);
const TOLD: Duration = Duration::from_millis(1);
/// As long as it has something to do, it is waited for, but no longer than this.
const BUSY: Duration = Duration::from_secs(5);
/// A note this old belongs to another signal of the same number.
const STALE: Duration = Duration::from_millis(200);

/// Our end of the link to the witness.
#[derive(Debug)]
pub struct Witness {
    process: Pid,
    link: UnixStream,
    notes: Vec<(Signal, Instant)>,
}

impl Witness {
    /// Starts it. To be called while there is no other thread. It lets go of `not_its_own`, the descriptors that are for
    /// others alone. Fails where the machine has no room for it.
    pub fn start(signals: &Signals, not_its_own: &[RawFd]) -> anyhow::Result<Self> {
        let (ours, theirs) = UnixStream::pair().context("can not make a link to the witness of signals")?;
        match helper::fork().context("can not start the witness of signals")? {
            Forked::Parent(process) => Ok(Self {
                process,
                link: ours,
                notes: Vec::new(),
            }),
            Forked::Child => {
                drop(ours);
                super::let_go(not_its_own);
                super::serve_the_parent();
                testify(theirs, signals);
                helper::end_here()
            }
        }
    }

    /// The descriptor of our end, which other processes of ours have no use for.
    pub fn link(&self) -> RawFd {
        self.link.as_raw_fd()
    }

    /// Has it end, and waits for that: as if it had not been.
    pub fn end(self) {
        drop(self.link);
        helper::wait_for(self.process);
    }

    /// For each of the signals that just reached us, whether it reached the whole process group. On a busy machine the
    /// witness may not have come to its turn: as long as it has something to do, it is waited for. Many signals take no
    /// longer than one.
    pub fn witnessed(&mut self, signals: &[Signal]) -> Vec<bool> {
        let mut witnessed = vec![false; signals.len()];
        let end = Instant::now() + BUSY;
        let mut patience = PATIENCE;
        loop {
            let deadline = Instant::now() + patience;
            loop {
                for (signal, witnessed) in signals.iter().zip(&mut witnessed) {
                    *witnessed = *witnessed || self.has_noted(*signal);
                }
                if witnessed.iter().all(|witnessed| *witnessed) {
                    return witnessed;
                }
                let Some(signal) = helper::next_byte(&mut self.link, deadline) else {
                    break;
                };
                self.notes.push((Signal::of(i32::from(signal)), Instant::now()));
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

    /// Whether it sleeps, and no signal waits for it.
    fn is_idle(&self) -> bool {
        let status = format!("/proc/{}/status", self.process.as_raw_nonzero());
        let status = std::fs::read_to_string(status).unwrap_or_default();
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let waits = field("ShdPnd:").is_some_and(|mask| mask.bytes().any(|digit| digit != b'0'));
        !waits && field("State:").is_none_or(|state| !state.starts_with('R'))
    }
}

/// The witness's life: tells of signals until nobody listens.
fn testify(mut link: UnixStream, signals: &Signals) {
    loop {
        while let Some(received) = signals.next() {
            if link.write_all(&[received.signal.number() as u8]).is_err() {
                return;
            }
        }
        let mut ready = [
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(link.as_fd(), PollFlags::POLLIN),
        ];
        let failed = poll(&mut ready, PollTimeout::NONE).is_err_and(|error| error != nix::Error::EINTR);
        // Nobody says anything to the witness: all that can be heard is the end.
        let [_, heard] = ready.map(|fd| fd.any().unwrap_or(false));
        if heard || failed {
            return;
        }
    }
}
