//! Signals meant for the job.
//!
//! The job runs in our process group, so that the terminal treats both as one: Ctrl-C, Ctrl-Z and hangup reach it
//! from the kernel, and must not be passed on a second time. A signal sent to our process alone must be. The
//! [`super::recorder`] process, which is in the group and blocks everything, is the witness that tells the two apart.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// Every signal that has another default than to be ignored, can be caught, and is not raised by a fault of the
/// receiving process itself.
const FOR_THE_JOB: &[Signal] = &[
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGVTALRM,
    Signal::SIGPROF,
    Signal::SIGIO,
    Signal::SIGPWR,
    Signal::SIGWINCH,
    Signal::SIGCONT,
    Signal::SIGTSTP,
    Signal::SIGTTIN,
];

/// Signals held back from this process and read from a descriptor instead.
#[derive(Debug)]
pub struct Signals {
    descriptor: SignalFd,
    original_mask: SigSet,
    original_child_action: SigHandler,
}

/// A signal that came.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Which.
    pub signal: Signal,
    /// The process that sent it; 0 for the kernel.
    pub sender: u32,
}

impl Signals {
    /// Holds the signals back from the calling thread and every thread it will start. To be called while there is
    /// no other thread: one that does not hold them back would be killed by them.
    pub fn hold_back() -> nix::Result<Self> {
        let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
        // Whoever started us may ignore SIGCHLD, and then there would be nothing to wait for.
        // SAFETY: the default action runs no code of ours.
        let before = unsafe { sigaction(Signal::SIGCHLD, &default) }?;
        let mut held: SigSet = FOR_THE_JOB.iter().copied().collect();
        held.add(Signal::SIGCHLD);
        let mut original_mask = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&held), Some(&mut original_mask))?;
        let descriptor = SignalFd::with_flags(&held, SfdFlags::SFD_CLOEXEC)?;
        Ok(Self {
            descriptor,
            original_mask,
            original_child_action: before.handler(),
        })
    }

    /// Puts back what the caller of this program had set up. Safe between fork and exec.
    pub fn restore(mask: &SigSet, child_action: SigHandler) -> nix::Result<()> {
        let action = SigAction::new(child_action, SaFlags::empty(), SigSet::empty());
        // SAFETY: the action is the default or "ignore": a program starts with no other.
        unsafe { sigaction(Signal::SIGCHLD, &action) }?;
        sigprocmask(SigmaskHow::SIG_SETMASK, Some(mask), None)
    }

    /// What [`Self::restore`] needs.
    pub fn original(&self) -> (SigSet, SigHandler) {
        (self.original_mask, self.original_child_action)
    }

    /// Waits for the next signal.
    pub fn next(&self) -> nix::Result<Received> {
        loop {
            let Some(info) = self.descriptor.read_signal()? else {
                continue;
            };
            if let Ok(signal) = Signal::try_from(info.ssi_signo as i32) {
                return Ok(Received {
                    signal,
                    sender: info.ssi_pid,
                });
            }
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
