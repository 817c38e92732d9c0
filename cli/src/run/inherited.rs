//! What whoever started this program set up, and Rust's runtime changes before `main`: it opens `/dev/null` in place of
//! a standard stream that is closed, and ignores `SIGPIPE`; and what a process hands on to the program that it becomes,
//! but not to a child: that it adopts the orphans below it. The job gets what was there.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

/// Whether each of the three standard streams was closed.
static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];
/// Whether `SIGPIPE` was ignored.
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);
/// Whether the orphans below this process were to be given to it.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// The loader calls what is in this section before `main`, and so before Rust's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = look;

extern "C" fn look() {
    for (number, closed) in (0..).zip(&CLOSED) {
        // SAFETY: this only asks the kernel about a number.
        let is_closed = unsafe { libc::fcntl(number, libc::F_GETFD) } < 0;
        closed.store(is_closed, Ordering::Relaxed);
        // SAFETY: these take strings that stay. What is opened gets the lowest number that is free, which is this one.
        unsafe {
            // Where there is no such device, the runtime would end this process.
            if is_closed && libc::access(c"/dev/null".as_ptr(), libc::R_OK | libc::W_OK) != 0 {
                libc::open(c"/".as_ptr(), libc::O_RDONLY);
            }
        }
    }
    // SAFETY: all zeros is a valid value of this plain record, which the kernel fills.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is changed, and the record outlives the call.
    let asked = unsafe { libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut action) };
    PIPE_IGNORED.store(asked == 0 && action.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
    let mut adopts: libc::c_int = 0;
    // SAFETY: the kernel fills the number, which outlives the call.
    unsafe { libc::prctl(libc::PR_GET_CHILD_SUBREAPER, &raw mut adopts) };
    ADOPTS.store(adopts != 0, Ordering::Relaxed);
}

/// Whether a standard stream (0, 1 or 2) was closed.
pub fn is_closed(stream: usize) -> bool {
    CLOSED.get(stream).is_some_and(|closed| closed.load(Ordering::Relaxed))
}

/// Puts it back. Makes system calls only, so that it may be called between fork and exec.
pub fn restore() {
    for stream in (0..).take(CLOSED.len()).filter(|stream| is_closed(*stream)) {
        let _ = nix::unistd::close(stream as i32);
    }
    let action = if PIPE_IGNORED.load(Ordering::Relaxed) {
        libc::SIG_IGN
    } else {
        libc::SIG_DFL
    };
    // SAFETY: neither action runs code of ours.
    unsafe { libc::signal(libc::SIGPIPE, action) };
    if ADOPTS.load(Ordering::Relaxed) {
        // SAFETY: this takes a number.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    }
}

/// Has the kernel kill this process when `parent` dies without having ended it, as a killed program is gone. To be
/// called between fork and exec.
pub fn die_with(parent: rustix::process::Pid) {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    // It may have died before that.
    if getppid() != Some(parent) {
        let _ = rustix::process::kill_process(getpid(), Signal::KILL);
    }
}
