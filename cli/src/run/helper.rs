//! Processes that help, forked from this one.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use nix::unistd::ForkResult;
use rustix::process::{Pid, WaitOptions, waitpid};

/// On which side of a fork we are.
#[derive(Clone, Copy, Debug)]
pub enum Forked {
    /// The old one, with the number of the new one.
    Parent(Pid),
    /// The new one.
    Child,
}

/// Forks. To be called while there is no other thread: then the new process may go on like any.
pub fn fork() -> nix::Result<Forked> {
    // SAFETY: no other thread exists.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child } => Pid::from_raw(child.as_raw())
            .map(Forked::Parent)
            .ok_or(nix::Error::ESRCH),
        ForkResult::Child => {
            super::lifeboat::give_up();
            Ok(Forked::Child)
        }
    }
}

/// Ends a process that was forked; what would be run on the way out is its parent's to run.
pub fn end_here() -> ! {
    // SAFETY: this ends the process.
    unsafe { libc::_exit(0) }
}

/// Waits for the end of one.
pub fn wait_for(process: Pid) {
    while let Err(rustix::io::Errno::INTR) = waitpid(Some(process), WaitOptions::empty()) {}
}

/// The next byte that one sends, unless none comes in time.
pub fn next_byte(link: &mut UnixStream, deadline: Instant) -> Option<u8> {
    let left = deadline.saturating_duration_since(Instant::now());
    // A timeout of zero would be none at all.
    if left.is_zero() || link.set_read_timeout(Some(left)).is_err() {
        return None;
    }
    let mut byte = [0];
    link.read_exact(&mut byte).is_ok().then_some(byte[0])
}
