//! Running a job so that it does not notice, and keeping what is left of it when it crashes.

mod ending;
mod environment;
mod flood;
mod helper;
mod inherited;
mod job;
pub mod lifeboat;
mod recorder;
mod relay;
mod signal;
mod signals;
mod streams;
mod transcript;
mod witness;

use std::os::fd::{BorrowedFd, RawFd};

pub use ending::Ending;
pub use job::{Arming, Beside, Job, Over, Printed, Sent};
use rustix::io::FdFlags;
pub use signal::Signal;
pub use signals::Signals;
pub use streams::nothing;

/// Descriptors beyond the standard three that whoever started us meant for the job.
///
/// To be called before anything else opens files.
fn meant_for_the_job() -> Vec<RawFd> {
    let Ok(folder) = std::fs::read_dir("/proc/self/fd") else {
        return Vec::new();
    };
    let open: Vec<RawFd> = folder
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    open.into_iter()
        .filter(|descriptor| *descriptor > 2 && is_inherited(*descriptor))
        .collect()
}

fn is_inherited(descriptor: RawFd) -> bool {
    // SAFETY: the borrow ends with this function, which only asks the kernel about the number; one that is not open
    // is an error.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    rustix::io::fcntl_getfd(borrowed).is_ok_and(|flags| !flags.contains(FdFlags::CLOEXEC))
}

/// Whether processes that are started here come into another PID namespace, as unshare(1) without `--fork` has it: the
/// first of them would be its init, whose end is that of all, and none of them the job, which belongs into ours.
fn children_are_elsewhere() -> bool {
    let [here, there] = ["/proc/self/ns/pid", "/proc/self/ns/pid_for_children"].map(std::path::Path::new);
    let link = |path: &std::path::Path| path.read_link().ok();
    // Where there is none yet, the second one can be seen but leads nowhere.
    there.symlink_metadata().is_ok() && link(here).is_some() && link(here) != link(there)
}

/// Closes descriptors that are the job's alone: whoever waits for their end waits for the job, not for us.
fn let_go(descriptors: &[RawFd]) {
    for descriptor in descriptors {
        let _ = nix::unistd::close(*descriptor);
    }
}

/// Lets go of standard input, so that a writer of it notices when the job has closed it.
fn close_input() {
    if let Some(nothing) = streams::nothing() {
        let _ = nix::unistd::dup2_stdin(&nothing);
    }
}

/// Makes this process, which was just forked, one that has nothing to do with the job: without its streams, and gone
/// when its parent is.
pub fn serve_the_parent() {
    if let Some(parent) = rustix::process::getppid() {
        inherited::die_with(parent);
    }
    close_input();
    [streams::Output::Out, streams::Output::Err]
        .into_iter()
        .for_each(streams::Output::close);
}
