//! Processes that go on when the job has ended. Where it could dump core only because of us, so can they, now or in a
//! week, and nobody would take that away: they get back the limit that they would have had.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{environment, host, tree};
use crate::run::Signal;

/// How often those that are at it are looked at.
const PAUSE: Duration = Duration::from_millis(5);

/// Which they are.
#[derive(Clone, Debug, Default)]
pub struct LeftBehind {
    pids: BTreeSet<u32>,
}

impl LeftBehind {
    /// Those that are known, and those that nobody has seen: what has started since we did with a variable (`NAME=value`)
    /// that only the job and what it starts have.
    pub fn of(known: impl IntoIterator<Item = u32>, mark: Option<&str>) -> Self {
        let mut pids: BTreeSet<u32> = known.into_iter().collect();
        if let (Some((name, value)), Some(since)) =
            (mark.and_then(|mark| mark.split_once('=')), started(std::process::id()))
        {
            let is_marked = |pid: &u32| environment::of_process(*pid).get(name).is_some_and(|has| has == value);
            let new = tree::all_processes().filter(|pid| started(*pid).is_some_and(|at| at >= since));
            pids.extend(new.filter(is_marked));
        }
        Self { pids }
    }

    /// Their numbers.
    pub fn pids(&self) -> impl Iterator<Item = u32> {
        self.pids.iter().copied()
    }

    /// Where they are working: what they dump is put there.
    pub fn folders(&self) -> impl Iterator<Item = PathBuf> {
        self.pids().filter_map(tree::folder_of)
    }

    /// Has those of them dump no core from now on that would not have without us.
    pub fn dump_no_more(&self) {
        self.pids().for_each(restore_limit);
    }

    /// The same, but for those that are dying already: what they leave is wanted.
    pub fn dump_no_more_after_this(&self) {
        self.pids().filter(|pid| !is_dying(*pid)).for_each(restore_limit);
    }
}

/// Waits while any of them is in a state, until then.
pub fn wait_while(pids: &BTreeSet<u32>, state: fn(u32) -> bool, deadline: Instant) {
    while pids.iter().any(|pid| state(*pid)) && Instant::now() < deadline {
        std::thread::sleep(PAUSE);
    }
}

/// Whether the kernel writes the core of a process: a signal has ended a thread of it, which has not gone on to exit.
pub fn is_dumped(pid: u32) -> bool {
    threads(pid).any(|thread| host::read(thread.join("stat")).is_some_and(|stat| ends_by_signal(&stat)))
}

/// Whether it does, or will because of a signal that waits for a thread.
pub fn is_dying(pid: u32) -> bool {
    let doomed = |thread: PathBuf| host::read(thread.join("status")).is_some_and(|status| has_fatal_signal(&status));
    is_dumped(pid) || threads(pid).any(doomed)
}

fn threads(pid: u32) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter();
    entries.flatten().flatten().map(|entry| entry.path())
}

/// By the flags of a thread's proc_pid_stat(5).
fn ends_by_signal(stat: &str) -> bool {
    /// `PF_EXITING` and `PF_SIGNALED` of linux/sched.h: between the two lies the dump, and else hardly anything.
    const EXITING: u64 = 0x4;
    const SIGNALED: u64 = 0x400;
    let flags = stat
        .rsplit_once(')')
        .and_then(|(_, fields)| fields.split_whitespace().nth(6));
    let flags: u64 = flags.and_then(|flags| flags.parse().ok()).unwrap_or_default();
    flags & (SIGNALED | EXITING) == SIGNALED
}

/// Whether a signal waits that nothing keeps from dumping core, by a thread's proc_pid_status(5). Who is stopped may
/// stay so for ever.
fn has_fatal_signal(status: &str) -> bool {
    let set = |name: &str| {
        let digits = field(status, name).unwrap_or_default();
        u64::from_str_radix(digits, 16).unwrap_or_default()
    };
    let waits = set("SigPnd") | set("ShdPnd");
    let harmless = set("SigBlk") | set("SigIgn") | set("SigCgt");
    let is_fatal = |number: i32| (waits & !harmless) >> (number - 1) & 1 == 1 && Signal::of(number).dumps_core();
    let is_stopped = field(status, "State").is_some_and(|state| state.starts_with(['T', 't']));
    !is_stopped && (1..32).any(is_fatal)
}

fn field<'s>(status: &'s str, name: &str) -> Option<&'s str> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim())
}

/// When a process started, in ticks of the machine's clock.
fn started(pid: u32) -> Option<u64> {
    tree::stat_field(pid, 22)?.parse().ok()
}

/// Puts the soft limit on core dumps back to 0, unless the process has set another than what we gave to the job.
fn restore_limit(pid: u32) {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: no limit is given, and the record for what is set lives longer than the call.
    let read = unsafe { libc::prlimit(pid as i32, libc::RLIMIT_CORE, std::ptr::null(), &raw mut limit) };
    if read != 0 || limit.rlim_cur != limit.rlim_max || limit.rlim_cur == 0 {
        return;
    }
    limit.rlim_cur = 0;
    // SAFETY: the record lives longer than the call, and what was set before is not asked for.
    unsafe { libc::prlimit(pid as i32, libc::RLIMIT_CORE, &raw const limit, std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::{ends_by_signal, has_fatal_signal};

    const QUIET: &str = "Name:\ta\nState:\tR (running)\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\n\
        SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n";

    #[test]
    fn who_has_a_signal_that_nothing_holds_is_dying() {
        let with = |set: &str, name: &str, mask: &str| {
            set.replace(&format!("{name}:\t0000000000000000"), &format!("{name}:\t{mask}"))
        };
        let segv = with(QUIET, "ShdPnd", "0000000000000400");
        assert!(has_fatal_signal(&segv));
        assert!(has_fatal_signal(&with(QUIET, "SigPnd", "0000000000000020")));
        assert!(!has_fatal_signal(&with(QUIET, "ShdPnd", "0000000000004000")));
        for harmless in ["SigBlk", "SigIgn", "SigCgt"] {
            assert!(
                !has_fatal_signal(&with(&segv, harmless, "0000000000000400")),
                "{harmless}"
            );
        }
        assert!(!has_fatal_signal(&segv.replace("R (running)", "T (stopped)")));
        assert!(!has_fatal_signal(QUIET) && !has_fatal_signal("") && !has_fatal_signal("SigPnd:\tnonsense\n"));
    }

    #[test]
    fn a_thread_that_a_signal_ended_is_dumped_until_it_exits() {
        let stat = |flags: u64| format!("7 (a) name) D 1 7 7 0 -1 {flags} 0 0");
        assert!(ends_by_signal(&stat(0x40_0400)));
        assert!(!ends_by_signal(&stat(0x40_0404)));
        assert!(!ends_by_signal(&stat(0x40_0000)) && !ends_by_signal("7 (a) D") && !ends_by_signal(""));
    }
}
