//! A signal by its number: the real-time ones have no other name.

use std::borrow::Cow;

/// A signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal(i32);

impl Signal {
    pub const CHLD: Self = Self(libc::SIGCHLD);
    pub const CONT: Self = Self(libc::SIGCONT);
    pub const HUP: Self = Self(libc::SIGHUP);
    pub const INT: Self = Self(libc::SIGINT);
    pub const PIPE: Self = Self(libc::SIGPIPE);
    pub const QUIT: Self = Self(libc::SIGQUIT);
    pub const TERM: Self = Self(libc::SIGTERM);
    pub const WINCH: Self = Self(libc::SIGWINCH);

    /// The signal of a number that the kernel gave.
    pub fn of(number: i32) -> Self {
        Self(number)
    }

    /// Its number.
    pub fn number(self) -> i32 {
        self.0
    }

    /// Its name, such as `SIGSEGV` or `SIGRTMIN+3`.
    pub fn name(self) -> Cow<'static, str> {
        if let Ok(known) = nix::sys::signal::Signal::try_from(self.0) {
            return known.as_str().into();
        }
        match self.0 - libc::SIGRTMIN() {
            0 => "SIGRTMIN".into(),
            above @ 1.. => format!("SIGRTMIN+{above}").into(),
            _ => format!("signal {}", self.0).into(),
        }
    }

    /// Whether the kernel dumps core of a process that it ends: signal(7).
    pub fn dumps_core(self) -> bool {
        [
            libc::SIGABRT,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGQUIT,
            libc::SIGSEGV,
            libc::SIGSYS,
            libc::SIGTRAP,
            libc::SIGXCPU,
            libc::SIGXFSZ,
        ]
        .contains(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Signal;

    #[test]
    fn every_signal_has_a_name() {
        let cases = [
            (11, "SIGSEGV"),
            (libc::SIGRTMIN(), "SIGRTMIN"),
            (libc::SIGRTMAX(), "SIGRTMIN+30"),
            (32, "signal 32"),
        ];
        for (number, name) in cases {
            assert_eq!(Signal::of(number).name(), name);
        }
    }
}
