//! How a job ended, and how to end the same way.

use std::borrow::Cow;

use rustix::process::{DumpableBehavior, Resource, Rlimit, WaitStatus, set_dumpable_behavior, setrlimit};

use super::signal::Signal;
use crate::limits::{self, limit};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal.
    Killed {
        /// Its number.
        signal: i32,
        /// Whether the kernel says that it dumped core.
        core: bool,
    },
}

impl Ending {
    /// What a wait status says, unless the process lives.
    pub fn of(status: WaitStatus) -> Option<Self> {
        Self::of_raw(status.as_raw())
    }

    /// The same of a status as wait(2) encodes it.
    pub fn of_raw(raw: i32) -> Option<Self> {
        if libc::WIFEXITED(raw) {
            Some(Self::Exited(libc::WEXITSTATUS(raw)))
        } else if libc::WIFSIGNALED(raw) {
            Some(Self::Killed {
                signal: libc::WTERMSIG(raw),
                core: libc::WCOREDUMP(raw),
            })
        } else {
            None
        }
    }

    /// As wait(2) encodes it.
    pub fn to_raw(self) -> i32 {
        match self {
            Self::Exited(code) => code << 8,
            Self::Killed { signal, core } => signal | (i32::from(core) << 7),
        }
    }

    /// The signal, if one it was.
    pub fn signal(self) -> Option<Signal> {
        match self {
            Self::Exited(_) => None,
            Self::Killed { signal, .. } => Some(Signal::of(signal)),
        }
    }

    /// Name of the signal, or the exit code.
    pub fn named(self) -> (Option<Cow<'static, str>>, Option<i32>) {
        match self {
            Self::Exited(code) => (None, Some(code)),
            Self::Killed { signal, .. } => (Some(Signal::of(signal).name()), None),
        }
    }

    /// Whether the kernel dumps core for such an end.
    pub fn dumps_core(self) -> bool {
        self.signal().is_some_and(Signal::dumps_core)
    }

    /// Ends this process the way the job ended, for whoever waits for us. Nothing is run on the way out that could fail
    /// or take time.
    pub fn imitate(self) -> ! {
        let code = match self {
            Self::Exited(code) => code,
            Self::Killed { signal, .. } => {
                die_of(signal);
                // Not reached unless the signal could not kill us; this is a shell's way of saying it.
                128 + signal
            }
        };
        // SAFETY: this ends the process.
        unsafe { libc::_exit(code) }
    }
}

/// Dies of a signal, without a core dump of our own: neither to a file nor to a handler.
fn die_of(signal: i32) {
    // Where the kernel does not tell the hard limit, it refuses to change it too, and this returns.
    let none = Rlimit {
        current: Some(0),
        maximum: limit(limits::Resource::RLIMIT_CORE).map_or(Some(0), |core| core.hard),
    };
    if setrlimit(Resource::Core, none).is_err() || set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
        return;
    }
    // SAFETY: the default action runs no code of ours; the set is filled before it is read. Others that wait stay held
    // back: they must not be what ends us.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
    }
}
