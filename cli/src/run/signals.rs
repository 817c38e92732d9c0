//! Signals meant for the job.
//!
//! The job runs in our process group, so that the terminal treats both as one: Ctrl-C, Ctrl-Z and hangup reach it
//! from the kernel, and must not be passed on a second time. A signal sent to our process alone must be. The
//! [`super::witness`], a process in the group that blocks everything, tells the two apart.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, sigaction, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::process::Pid;

use super::signal::Signal;

/// All signals that can be, held back from this process and read from a descriptor instead. A fault of our own ends us
/// all the same: the kernel does not hold those back.
#[derive(Debug)]
pub struct Signals {
    descriptor: SignalFd,
    original: Original,
}

/// What whoever started us had set up.
#[derive(Clone, Copy, Debug)]
pub struct Original {
    mask: SigSet,
    child_action: SigHandler,
}

/// A signal that came.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Which.
    pub signal: Signal,
    /// The process that sent it; 0 for the kernel.
    pub sender: u32,
    /// How it was sent: `si_code` of sigaction(2).
    code: i32,
    /// What sigqueue(3) sent with it.
    value: u64,
}

impl Signals {
    /// Holds the signals back from the calling thread and every thread it will start. To be called while there is
    /// no other thread: one that does not hold them back would be killed by them.
    pub fn hold_back() -> nix::Result<Self> {
        // First what may fail for lack of room: then nothing has been changed.
        let held = SigSet::all();
        let descriptor = SignalFd::with_flags(&held, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
        // Whoever started us may ignore SIGCHLD, and then there would be nothing to wait for.
        // SAFETY: the default action runs no code of ours.
        let before = unsafe { sigaction(nix::sys::signal::Signal::SIGCHLD, &default) }?;
        let mut mask = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&held), Some(&mut mask))?;
        let original = Original {
            mask,
            child_action: before.handler(),
        };
        Ok(Self { descriptor, original })
    }

    /// What was set up before.
    pub fn original(&self) -> Original {
        self.original
    }

    /// The next signal, if one came.
    pub fn next(&self) -> Option<Received> {
        loop {
            let info = match self.descriptor.read_signal() {
                Ok(info) => info?,
                Err(nix::Error::EINTR) => continue,
                Err(_) => return None,
            };
            return Some(Received {
                signal: Signal::of(info.ssi_signo as i32),
                sender: info.ssi_pid,
                code: info.ssi_code,
                value: info.ssi_ptr,
            });
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Original {
    /// Puts it back. Safe between fork and exec.
    pub fn restore(&self) -> nix::Result<()> {
        let action = SigAction::new(self.child_action, SaFlags::empty(), SigSet::empty());
        // SAFETY: the action is the default or "ignore": a program starts with no other.
        unsafe { sigaction(nix::sys::signal::Signal::SIGCHLD, &action) }?;
        sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.mask), None)
    }
}

impl Received {
    /// Whether it tells of something that we did ourselves, such as a write to a pipe that nobody reads: blocked
    /// signals wait even where they are ignored.
    pub fn is_our_own(&self) -> bool {
        self.sender == std::process::id()
    }

    /// Whether a process sent it, not the kernel.
    pub fn is_sent(&self) -> bool {
        self.code <= 0
    }

    /// Sends it on, with the value that came with it.
    pub fn pass_on(&self, to: Pid) {
        let (process, signal) = (to.as_raw_nonzero().get(), self.signal.number());
        // The process may have ended just now: its SIGCHLD is next.
        if self.code == libc::SI_QUEUE {
            let value = libc::sigval {
                sival_ptr: std::ptr::with_exposed_provenance_mut(self.value as usize),
            };
            // SAFETY: the value is a number to us and to the kernel.
            unsafe { libc::sigqueue(process, signal, value) };
        } else {
            // SAFETY: this takes two numbers.
            unsafe { libc::kill(process, signal) };
        }
    }
}
