//! A process that lives, as `/proc` shows it to whoever may trace it. It is not stopped, and nothing about it changes.

use std::fs::File;
use std::time::Duration;

use whycrash_evidence::model::ThreadId;
use whycrash_evidence::readers::elf_core::{CoreThread, LiveProcess, LiveRange, Machine, Registers};

/// Threads of one process that are looked at, and ranges of its memory.
const THREADS: usize = 1024;
const RANGES: usize = 65_536;
/// How often a thread that runs is looked at again, and after how long.
const LOOKS: u32 = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);
/// DWARF numbers of the stack pointer, and of the register with the first argument of a system call.
const STACK_POINTER: usize = if cfg!(target_arch = "x86_64") { 7 } else { 31 };
const FIRST_ARGUMENT: usize = if cfg!(target_arch = "x86_64") { 5 } else { 0 };

/// What a thread does just now.
#[derive(Clone, Debug, Default)]
pub struct Doing {
    /// The system call that it waits in; none where it runs, or waits for something else.
    pub call: Option<i64>,
    /// The first argument of that call, such as the address that `futex` waits for.
    pub argument: Option<u64>,
    /// Stack pointer and instruction; none where it runs.
    pub at: Option<(u64, u64)>,
}

/// A process and what its threads do.
#[derive(Debug)]
pub struct Process {
    pub pid: u32,
    /// As in the third field of `/proc/PID/stat`.
    pub state: Option<String>,
    /// What each thread does, the main one first.
    pub threads: Vec<(u32, Doing)>,
}

impl Process {
    /// Looks at a process: this takes a few reads a thread.
    pub fn look(pid: u32) -> Self {
        let entries = std::fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut threads: Vec<u32> = ids.take(THREADS).collect();
        threads.sort_by_key(|id| (*id != pid, *id));
        let mut process = Self {
            pid,
            state: super::super::tree::stat_field(pid, 3),
            threads: threads.into_iter().map(|id| (id, doing(pid, id))).collect(),
        };
        process.look_again();
        process
    }

    /// A thread that was running may only have looked around, as one does every few milliseconds that wants the lock of
    /// Python's interpreter: it is looked at until it waits.
    fn look_again(&mut self) {
        for _ in 0..LOOKS {
            let runs = |(_, doing): &&mut (u32, Doing)| doing.at.is_none();
            let mut running = self.threads.iter_mut().filter(runs).peekable();
            if running.peek().is_none() {
                return;
            }
            std::thread::sleep(BETWEEN_LOOKS);
            for (id, doing) in running {
                *doing = self::doing(self.pid, *id);
            }
        }
    }

    /// What a thread does.
    pub fn doing(&self, id: &ThreadId) -> Option<&Doing> {
        let mut threads = self.threads.iter();
        threads
            .find(|(known, _)| ThreadId::Os(*known) == *id)
            .map(|(_, doing)| doing)
    }

    /// Whether a thread waits in a system call.
    pub fn waits(&self, id: &ThreadId) -> bool {
        self.doing(id).is_some_and(|doing| doing.call.is_some())
    }

    /// The name that a thread gave itself: those that did not have the name of the process.
    pub fn thread_name(&self, id: u32) -> Option<String> {
        let name = |id: u32| std::fs::read_to_string(format!("/proc/{}/task/{id}/comm", self.pid)).ok();
        let own = name(id)?;
        (name(self.pid).as_ref() != Some(&own)).then(|| own.trim_end().to_owned())
    }

    /// The open file that a thread's call is about: its path, or `pipe` or `socket`.
    pub fn file_of(&self, doing: &Doing) -> Option<String> {
        let number = doing.call.filter(|call| OF_FILES.contains(call)).and(doing.argument)?;
        let target = std::fs::read_link(format!("/proc/{}/fd/{number}", self.pid)).ok()?;
        let target = target.to_string_lossy().into_owned();
        let kind = ["pipe", "socket"]
            .into_iter()
            .find(|kind| target.starts_with(&format!("{kind}:[")));
        Some(kind.map_or(target, str::to_owned))
    }

    /// All that is needed to read its stacks; none where it is gone, or may not be looked at.
    pub fn open(&self) -> Option<LiveProcess> {
        let machine = if cfg!(target_arch = "x86_64") {
            Machine::X86_64
        } else if cfg!(target_arch = "aarch64") {
            Machine::Aarch64
        } else {
            return None;
        };
        let folder = format!("/proc/{}", self.pid);
        let maps = std::fs::read_to_string(format!("{folder}/maps")).ok()?;
        let ranges = maps.lines().filter_map(range).take(RANGES).collect();
        let auxiliary = std::fs::read(format!("{folder}/auxv")).unwrap_or_default();
        Some(LiveProcess {
            machine,
            threads: self.threads.iter().map(|(id, doing)| thread(*id, doing)).collect(),
            ranges,
            auxiliary: auxiliary.chunks_exact(16).filter_map(pair).collect(),
            memory: File::open(format!("{folder}/mem")).ok()?,
        })
    }
}

/// `/proc/PID/task/TID/syscall`: `running`, `-1 SP PC`, or the call's number, its arguments, stack pointer and
/// instruction.
fn doing(pid: u32, id: u32) -> Doing {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{id}/syscall")).unwrap_or_default();
    parse_doing(&text)
}

fn parse_doing(text: &str) -> Doing {
    let words: Vec<&str> = text.split_whitespace().collect();
    let call = words.first().and_then(|word| word.parse::<i64>().ok());
    let address = |word: &&str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let at = match words.as_slice() {
        [_, .., sp, pc] => address(sp).zip(address(pc)),
        _ => None,
    };
    let call = call.filter(|number| *number >= 0);
    Doing {
        call,
        argument: call.and_then(|_| address(words.get(1)?)),
        at,
    }
}

fn thread(id: u32, doing: &Doing) -> CoreThread {
    let (sp, pc) = doing.at.unwrap_or_default();
    let mut registers = Registers {
        pc,
        ..Registers::default()
    };
    if let Some(register) = registers.general.get_mut(STACK_POINTER) {
        *register = sp;
    }
    if let Some(register) = registers.general.get_mut(FIRST_ARGUMENT) {
        *register = doing.argument.unwrap_or_default();
    }
    CoreThread {
        id,
        signal: 0,
        registers,
        thread_pointer: 0,
    }
}

/// `7f00-8f00 r-xp 00001000 08:01 42  /usr/lib/libc.so.6`.
fn range(line: &str) -> Option<LiveRange> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let flags = words.next()?;
    let file_offset = u64::from_str_radix(words.next()?, 16).ok()?;
    let name = words.nth(2).unwrap_or_default().trim_start();
    // Reading what a device has mapped may do something to the device.
    let is_device = name.starts_with("/dev/") && !name.starts_with("/dev/shm/");
    let is_kernels = name.starts_with("[v") && name != "[vdso]";
    Some(LiveRange {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        readable: flags.starts_with('r') && !is_device && !is_kernels,
        writable: flags.get(1..2) == Some("w"),
        executable: flags.get(2..3) == Some("x"),
        file_offset,
        path: name.starts_with('/').then(|| name.to_owned()),
    })
}

fn pair(bytes: &[u8]) -> Option<(u64, u64)> {
    let (key, value) = bytes.split_at_checked(8)?;
    let word = |bytes: &[u8]| Some(u64::from_ne_bytes(bytes.try_into().ok()?));
    Some((word(key)?, word(value)?))
}

/// System calls whose first argument is an open file.
const OF_FILES: &[libc::c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_pread64,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_ioctl,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_flock,
    libc::SYS_fcntl,
];

/// The name of a system call, of those that a process may wait in for long.
pub fn call_name(number: i64) -> String {
    let known = CALLS.iter().find(|(call, _)| *call == number);
    known.map_or_else(|| format!("system call {number}"), |(_, name)| (*name).to_owned())
}

const CALLS: &[(libc::c_long, &str)] = &[
    (libc::SYS_read, "read"),
    (libc::SYS_write, "write"),
    (libc::SYS_futex, "futex"),
    (libc::SYS_nanosleep, "nanosleep"),
    (libc::SYS_clock_nanosleep, "clock_nanosleep"),
    (libc::SYS_ppoll, "ppoll"),
    (libc::SYS_pselect6, "pselect6"),
    (libc::SYS_epoll_pwait, "epoll_pwait"),
    (libc::SYS_wait4, "wait4"),
    (libc::SYS_waitid, "waitid"),
    (libc::SYS_recvfrom, "recvfrom"),
    (libc::SYS_recvmsg, "recvmsg"),
    (libc::SYS_sendto, "sendto"),
    (libc::SYS_sendmsg, "sendmsg"),
    (libc::SYS_accept, "accept"),
    (libc::SYS_accept4, "accept4"),
    (libc::SYS_connect, "connect"),
    (libc::SYS_ioctl, "ioctl"),
    (libc::SYS_openat, "openat"),
    (libc::SYS_fsync, "fsync"),
    (libc::SYS_fdatasync, "fdatasync"),
    (libc::SYS_flock, "flock"),
    (libc::SYS_fcntl, "fcntl"),
    (libc::SYS_pread64, "pread64"),
    (libc::SYS_semop, "semop"),
    (libc::SYS_msgrcv, "msgrcv"),
    (libc::SYS_rt_sigtimedwait, "rt_sigtimedwait"),
    (libc::SYS_io_getevents, "io_getevents"),
    (libc::SYS_restart_syscall, "restart_syscall"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_poll, "poll"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_select, "select"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_epoll_wait, "epoll_wait"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_pause, "pause"),
];

#[cfg(test)]
mod tests {
    use super::{parse_doing, range};

    #[test]
    fn what_a_thread_waits_in_is_read() {
        let waits = parse_doing("202 0x1 0x189 0x0 0x0 0x0 0x0 0x7ffc00001000 0x7f0000002000\n");
        assert_eq!(
            (waits.call, waits.at),
            (Some(202), Some((0x7ffc_0000_1000, 0x7f00_0000_2000)))
        );
        let outside = parse_doing("-1 0x7ffc00001000 0x7f0000002000\n");
        assert_eq!(
            (outside.call, outside.at),
            (None, Some((0x7ffc_0000_1000, 0x7f00_0000_2000)))
        );
        let runs = parse_doing("running\n");
        assert_eq!((runs.call, runs.at), (None, None));
    }

    #[test]
    fn devices_and_what_the_kernel_maps_are_left_alone() {
        let code = range("7f00-8f00 r-xp 00001000 08:01 42                         /opt/a b.so").expect("a range");
        assert_eq!((code.start, code.end, code.file_offset), (0x7f00, 0x8f00, 0x1000));
        assert_eq!(code.path.as_deref(), Some("/opt/a b.so"));
        assert!(code.readable && code.executable && !code.writable);
        let plain = range("1000-2000 rw-p 00000000 00:00 0").expect("a range");
        assert!(plain.path.is_none() && plain.readable);
        for left_alone in ["/dev/nvidia0", "[vvar]", "[vsyscall]"] {
            let range = range(&format!("1000-2000 rw-s 00000000 00:06 9 {left_alone}")).expect("a range");
            assert!(!range.readable, "{left_alone}");
        }
    }
}
