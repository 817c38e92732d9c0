//! What becomes of the job when this program itself fails: when it has no memory or stack left, or has a defect.
//!
//! Until the job is started we become it, as if we had not been there. From then on, all that is left to do is to wait for
//! its end and to end like it. Nothing here takes memory, so that it may be done in a handler of signals.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

use rustix::process::Pid;

use super::ending::Ending;
use super::inherited;

/// The job's command as execvp(3) wants it; null where it is not known.
static COMMAND: AtomicPtr<*const c_char> = AtomicPtr::new(std::ptr::null_mut());
/// The job's process; 0 as long as there is none.
static JOB: AtomicI32 = AtomicI32::new(0);
/// The job's status as wait(2) has it, once it has ended.
static STATUS: AtomicI32 = AtomicI32::new(RUNS);
const RUNS: c_int = -1;
/// The signals that were blocked at the start, of which the kernel knows 64.
static BLOCKED: AtomicUsize = AtomicUsize::new(0);
/// A stack for handlers, which are wanted when there is no room on the usual one. execvp(3) puts paths on it.
const STACK: usize = 64 << 10;

/// Signals by which a program that fails is ended. The second one is that of Rust's own end, where memory has run out.
const FAILURES: [c_int; 5] = [libc::SIGSEGV, libc::SIGABRT, libc::SIGBUS, libc::SIGILL, libc::SIGTRAP];

/// Has these words become the job if we fail. To be called before anything is changed that the job would inherit.
pub fn prepare(command: &[std::ffi::OsString]) {
    use std::os::unix::ffi::OsStrExt as _;
    let words = command.iter().map(|word| std::ffi::CString::new(word.as_bytes()));
    let Ok(words) = words.collect::<Result<Vec<_>, _>>() else {
        return;
    };
    let pointers = words.iter().map(|word| word.as_ptr());
    let pointers: Vec<_> = pointers.chain([std::ptr::null()]).collect();
    if words.is_empty() {
        return;
    }
    std::mem::forget(words);
    COMMAND.store(pointers.leak().as_mut_ptr(), Ordering::Release);
    let stack = libc::stack_t {
        ss_sp: vec![0_u8; STACK].leak().as_mut_ptr().cast::<c_void>(),
        ss_flags: 0,
        ss_size: STACK,
    };
    // SAFETY: the stack and the handler stay for as long as the process lives; records are filled before they are read.
    unsafe {
        let mut blocked = std::mem::zeroed();
        libc::sigprocmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut blocked);
        let is_blocked = |signal: &c_int| libc::sigismember(&raw const blocked, *signal) == 1;
        let bits = (1..=64)
            .filter(is_blocked)
            .fold(0, |bits, signal| bits | 1 << (signal - 1));
        BLOCKED.store(bits, Ordering::Relaxed);
        libc::sigaltstack(&raw const stack, std::ptr::null_mut());
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = failed as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND;
        for signal in FAILURES
            .into_iter()
            .filter(|signal| handler_of(*signal) != libc::SIG_IGN)
        {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// What a signal is met with now.
fn handler_of(signal: c_int) -> libc::sighandler_t {
    // SAFETY: all zeros is a valid value of this plain record, which the kernel fills; nothing is changed.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        action.sa_sigaction
    }
}

/// Notes that the job runs.
pub fn started(job: Pid) {
    JOB.store(job.as_raw_nonzero().get(), Ordering::Release);
}

/// Notes how it ended.
pub fn ended(ending: Ending) {
    STATUS.store(ending.to_raw(), Ordering::Release);
}

/// Has a failure end this process as it would any, because it is a helper that was just forked.
pub fn give_up() {
    COMMAND.store(std::ptr::null_mut(), Ordering::Release);
    let ours = failed as *const () as usize;
    for signal in FAILURES.into_iter().filter(|signal| handler_of(*signal) == ours) {
        // SAFETY: the default action runs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

extern "C" fn failed(signal: c_int, about: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel hands in a record that lives as long as this call.
    let (code, sender) = unsafe { ((*about).si_code, (*about).si_pid()) };
    // What somebody else sends is meant for the job, which is not there yet: it would end of it.
    let is_sent = code <= 0 && sender != std::process::id().cast_signed();
    if !is_sent {
        leave();
    }
    // SAFETY: the action is the default by now, and the signal comes when this returns.
    unsafe { libc::raise(signal) };
}

/// Leaves the job to itself; returns where there is none.
pub fn leave() {
    if COMMAND.load(Ordering::Acquire).is_null() {
        return;
    }
    if let Some(ending) = Ending::of_raw(STATUS.load(Ordering::Acquire)).filter(|_| is_over()) {
        ending.imitate();
    }
    match JOB.load(Ordering::Acquire) {
        0 => become_it(),
        job => wait_for(job),
    }
}

fn is_over() -> bool {
    STATUS.load(Ordering::Acquire) != RUNS
}

/// Becomes the job; returns where that fails.
fn become_it() {
    const WORDS: &[u8] = b"whycrash: no room to run beside the job: it runs alone, and nothing is recorded\n";
    // SAFETY: system calls on records that are filled here, and what `prepare` left for ever.
    unsafe {
        libc::write(2, WORDS.as_ptr().cast(), WORDS.len());
        inherited::restore();
        let bits = BLOCKED.load(Ordering::Relaxed);
        let mut blocked = std::mem::zeroed();
        libc::sigemptyset(&raw mut blocked);
        for signal in (1..=64).filter(|signal| bits >> (signal - 1) & 1 == 1) {
            libc::sigaddset(&raw mut blocked, signal);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const blocked, std::ptr::null_mut());
        let command = COMMAND.load(Ordering::Acquire);
        libc::execvp(*command, command);
    }
}

fn wait_for(job: c_int) {
    let mut status = 0;
    loop {
        // SAFETY: the kernel fills the number, which outlives the call.
        let ended = unsafe { libc::waitpid(job, &raw mut status, 0) };
        if ended == job {
            if let Some(ending) = Ending::of_raw(status) {
                ending.imitate();
            }
        } else if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return;
        }
    }
}
