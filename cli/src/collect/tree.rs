//! The processes a job starts, and how each of them ends: a job's workers are what crashes most often, and only their
//! parents are told.
//!
//! Nothing here needs a privilege. `/proc` tells who is whose child, a file descriptor of a process (pidfd_open(2))
//! becomes readable when it ends, and its status is read while it waits for its parent to ask for it, or, from Linux
//! 6.15 on, from that descriptor afterwards. A process that lives for less than a look takes is not seen.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Map, Value, json};

use super::environment;
use super::place::Place;
use super::python::{Program, Python, is_launcher};
use crate::run::{Ending, Signal};

/// First and last pause between two looks. Most processes of a job start early and stay.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// A process says early what it is: until this age it may still become another program.
const YOUNG: Duration = Duration::from_secs(5);
/// Processes that are held at once, and that are remembered; a descriptor each for the first.
const HELD: usize = 256;
const REMEMBERED: usize = 4096;
/// Failures that are told of, the first ones.
const FAILURES: usize = 64;

/// A process of the job.
#[derive(Debug)]
pub struct Process {
    /// Where it was working when it was last seen: relative names of core dumps start there.
    pub folder: Option<PathBuf>,
    /// Its command line.
    pub command: Vec<String>,
    /// The program that it runs.
    program: Program,
    parent: Option<u32>,
    /// Its place in a distributed job, by its environment.
    place: Place,
    since: Instant,
    /// None once it has ended, and where there were too many to hold.
    held: Option<OwnedFd>,
}

/// A process that failed.
#[derive(Debug)]
struct Failure {
    pid: u32,
    ending: Ending,
    at: Timestamp,
    /// Processes that were stopped then: what others waited for in vain.
    stopped: Vec<u32>,
}

/// A job's processes.
#[derive(Debug)]
pub struct Tree {
    root: u32,
    processes: BTreeMap<u32, Process>,
    strangers: HashSet<u32>,
    failures: Vec<Failure>,
    more_failures: u64,
    looked: Instant,
    pause: Duration,
}

impl Tree {
    /// Watches a process and all that descend from it.
    pub fn of(root: u32) -> Self {
        let mut tree = Self {
            root,
            processes: BTreeMap::new(),
            strangers: HashSet::new(),
            failures: Vec::new(),
            more_failures: 0,
            looked: Instant::now(),
            pause: PAUSES.0,
        };
        tree.add(root);
        tree
    }

    /// What becomes readable when a process ends.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.processes
            .iter()
            .filter(|(pid, _)| **pid != self.root)
            .filter_map(|(_, process)| Some(process.held.as_ref()?.as_fd()))
            .collect()
    }

    /// How long there is nothing to look for.
    pub fn pause(&self) -> Duration {
        self.pause.saturating_sub(self.looked.elapsed())
    }

    /// Takes note of processes that ended, and looks for new ones when it is time.
    pub fn attend(&mut self) {
        self.note_ends();
        if self.pause().is_zero() {
            self.look();
            self.pause = (self.pause * 2).min(PAUSES.1);
            self.looked = Instant::now();
        }
    }

    /// Every process seen so far, the root included.
    pub fn pids(&self) -> BTreeSet<u32> {
        self.processes.keys().copied().collect()
    }

    /// Where they were working.
    pub fn folders(&self) -> BTreeSet<PathBuf> {
        self.processes
            .values()
            .filter_map(|process| process.folder.clone())
            .collect()
    }

    /// Their command lines.
    pub fn commands(&self) -> impl Iterator<Item = &[String]> {
        self.processes.values().map(|process| process.command.as_slice())
    }

    /// The Python that the job ran: of the process that failed first, of a rank, or of the first process that runs any
    /// and does not only start others.
    pub fn python(&self) -> Option<Python> {
        let failed = self.failures.iter().map(|failure| failure.pid);
        let ranks = self.processes.keys().copied().filter(|pid| self.leads(*pid));
        let started = self.processes.keys().copied();
        let mut pids: Vec<u32> = failed.chain(ranks).chain(started).collect();
        let launches = |pid: &u32| {
            self.processes
                .get(pid)
                .is_some_and(|process| is_launcher(&process.command))
        };
        pids.sort_by_key(launches);
        let processes = pids.iter().filter_map(|pid| self.processes.get(pid));
        let mut pythons = processes.filter(|process| process.program.is_python());
        pythons.find_map(|process| Python::seen(&process.program, &process.command))
    }

    /// The processes that failed, in the order in which they did, without the root.
    pub fn failures(&self) -> Value {
        self.failures.iter().map(|failure| self.told(failure)).collect()
    }

    /// Those that live, ranks' own processes first.
    pub fn living(&self) -> Vec<u32> {
        let living = self.processes.iter().filter(|(pid, _)| self.lives(**pid));
        let mut living: Vec<u32> = living.map(|(pid, _)| *pid).collect();
        living.sort_by_key(|pid| (!self.leads(*pid), *pid));
        living
    }

    /// What there is to say of a process, whoever asks.
    pub fn about(&self, pid: u32) -> Map<String, Value> {
        let process = self.processes.get(&pid);
        let place = process.map(|process| process.place).unwrap_or_default();
        let mut about = Map::new();
        about.insert("pid".to_owned(), json!(pid));
        about.insert("parent".to_owned(), json!(process.and_then(|process| process.parent)));
        about.insert("rank".to_owned(), json!(place.rank));
        about.insert("attempt".to_owned(), json!(place.attempt));
        about.insert("leads".to_owned(), json!(self.leads(pid)));
        let command = process.map(|process| environment::command(&process.command));
        about.insert("command".to_owned(), json!(command));
        about
    }

    /// Whether a process is a rank's own, and not one that this has started.
    fn leads(&self, pid: u32) -> bool {
        let rank_of = |pid: u32| self.processes.get(&pid)?.place.rank;
        let parent = || self.processes.get(&pid)?.parent;
        rank_of(pid).is_some_and(|rank| parent().and_then(rank_of) != Some(rank))
    }

    /// Failures that there was no room for.
    pub fn more_failures(&self) -> u64 {
        self.more_failures
    }

    fn told(&self, failure: &Failure) -> Value {
        let (signal, code) = failure.ending.named();
        let mut told = self.about(failure.pid);
        let mut add = |name: &str, value: Value| told.insert(name.to_owned(), value);
        add("signal", json!(signal));
        add("code", json!(code));
        add(
            "core",
            json!(matches!(failure.ending, Ending::Killed { core: true, .. })),
        );
        add("at", json!(failure.at.to_string()));
        add("stopped", failure.stopped.iter().map(|pid| self.named(*pid)).collect());
        Value::Object(told)
    }

    fn named(&self, pid: u32) -> Value {
        json!({"pid": pid, "rank": self.processes.get(&pid).and_then(|process| process.place.rank)})
    }

    fn note_ends(&mut self) {
        let held: Vec<(u32, BorrowedFd<'_>)> = self
            .processes
            .iter()
            .filter(|(pid, _)| **pid != self.root)
            .filter_map(|(pid, process)| Some((*pid, process.held.as_ref()?.as_fd())))
            .collect();
        let mut ready: Vec<_> = held
            .iter()
            .map(|(_, descriptor)| PollFd::new(*descriptor, PollFlags::POLLIN))
            .collect();
        if !poll(&mut ready, PollTimeout::ZERO).is_ok_and(|count| count > 0) {
            return;
        }
        let over: Vec<u32> = held
            .iter()
            .zip(&ready)
            .filter(|(_, ready)| ready.any().unwrap_or(false))
            .map(|((pid, _), _)| *pid)
            .collect();
        let mut ends = Vec::new();
        for pid in over {
            let held = self.processes.get_mut(&pid).and_then(|process| process.held.take());
            ends.extend(held.and_then(|held| Some((pid, ending_of(pid, &held)?))));
        }
        // Nobody knows which of those came first that are seen at once: the likelier cause goes before what follows.
        ends.sort_by_key(|(_, ending)| consequence(*ending));
        for (pid, ending) in ends {
            self.note(pid, ending);
        }
    }

    fn note(&mut self, pid: u32, ending: Ending) {
        if ending == Ending::Exited(0) {
            return;
        }
        if self.failures.len() == FAILURES {
            self.more_failures += 1;
            return;
        }
        let at = Timestamp::now();
        let held = self.processes.iter().filter(|(_, process)| process.held.is_some());
        let stopped = held.map(|(pid, _)| *pid).filter(|pid| is_stopped(*pid)).collect();
        self.failures.push(Failure {
            pid,
            ending,
            at,
            stopped,
        });
    }

    /// Takes in the processes that are new, and what has changed about the others.
    pub fn look(&mut self) {
        for (pid, process) in &mut self.processes {
            if process.held.is_some() {
                process.refresh(*pid);
            }
        }
        let present: HashSet<u32> = all_processes().collect();
        self.strangers.retain(|pid| present.contains(pid));
        let unknown = present
            .iter()
            .filter(|pid| !self.strangers.contains(pid) && !self.lives(**pid));
        let parents: HashMap<u32, u32> = unknown.filter_map(|pid| Some((*pid, parent_of(*pid)?))).collect();
        for pid in parents.keys() {
            match self.descends(*pid, &parents) {
                true => self.add(*pid),
                false => drop(self.strangers.insert(*pid)),
            }
        }
        // Where one has come others may follow, and it will soon say what it is.
        if parents.keys().any(|pid| self.processes.contains_key(pid)) {
            self.pause = PAUSES.0 * 2;
        }
        self.forget();
    }

    fn lives(&self, pid: u32) -> bool {
        pid == self.root || self.processes.get(&pid).is_some_and(|process| process.held.is_some())
    }

    fn descends(&self, pid: u32, parents: &HashMap<u32, u32>) -> bool {
        /// No line of descent is longer; a number that came back while we looked could make one go round.
        const GENERATIONS: usize = 64;
        let line = std::iter::successors(parents.get(&pid), |parent| parents.get(parent));
        line.take(GENERATIONS).any(|ancestor| self.lives(*ancestor))
    }

    fn add(&mut self, pid: u32) {
        let room = self.processes.values().filter(|process| process.held.is_some()).count() < HELD;
        let number = Pid::from_raw(pid as i32).filter(|_| room);
        let mut process = Process {
            folder: None,
            command: Vec::new(),
            program: Program::default(),
            parent: parent_of(pid),
            place: Place::default(),
            since: Instant::now(),
            held: number.and_then(|number| pidfd_open(number, PidfdFlags::empty()).ok()),
        };
        process.refresh(pid);
        self.processes.insert(pid, process);
    }

    /// Keeps what is remembered bounded: of those that are gone, the ones with the lowest numbers go first.
    fn forget(&mut self) {
        let excess = self.processes.len().saturating_sub(REMEMBERED);
        let failed: HashSet<u32> = self.failures.iter().map(|failure| failure.pid).collect();
        let gone = |(pid, process): (&u32, &Process)| (process.held.is_none() && !failed.contains(pid)).then_some(*pid);
        let gone: Vec<u32> = self.processes.iter().filter_map(gone).take(excess).collect();
        for pid in gone {
            self.processes.remove(&pid);
        }
    }
}

impl Process {
    /// What `/proc` says about it now; what it said before where it says nothing any more.
    fn refresh(&mut self, pid: u32) {
        if let Some(folder) = folder_of(pid) {
            self.folder = Some(folder);
        }
        if !self.command.is_empty() && self.since.elapsed() > YOUNG {
            return;
        }
        if let Some(command) = command_of(pid) {
            self.command = command;
        }
        if let Some(program) = Program::of(pid, &self.command) {
            self.program = program;
        }
        if let Some(place) = Place::of(pid) {
            self.place = place;
        }
    }
}

/// How likely an end only follows from another: what a defect ends comes first, what is asked to end comes last.
fn consequence(ending: Ending) -> u8 {
    match ending.signal() {
        Some(Signal::TERM | Signal::HUP | Signal::PIPE) => 3,
        Some(signal) if signal.dumps_core() => 0,
        Some(_) => 1,
        None => 2,
    }
}

fn is_stopped(pid: u32) -> bool {
    stat_field(pid, 3).is_some_and(|state| state == "T")
}

fn command_of(pid: u32) -> Option<Vec<String>> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = bytes.strip_suffix(&[0])?.split(|byte| *byte == 0);
    Some(words.map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

/// Where a process is working.
pub fn folder_of(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// All processes that can be seen.
pub fn all_processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The parent of a process that has not ended.
pub fn parent_of(pid: u32) -> Option<u32> {
    let stat = stat(pid)?;
    let lives = !has_ended(stat.first()?);
    stat.get(4 - 3)?.parse().ok().filter(|_| lives)
}

/// A field of `/proc/PID/stat` by its number in proc(5), from the third on.
pub fn stat_field(pid: u32, number: usize) -> Option<String> {
    stat(pid)?.into_iter().nth(number.checked_sub(3)?)
}

/// The fields of `/proc/PID/stat` from the third on; the second is a name in parentheses that may hold anything.
pub fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after_name = stat.rsplit_once(')')?.1;
    Some(after_name.split_whitespace().map(str::to_owned).collect())
}

/// Whether a process of this state (proc_pid_stat(5)) has ended: its parent has not asked yet, or is just asking. The
/// latter is short, but on a busy machine whoever asks may be held up in it.
fn has_ended(state: &str) -> bool {
    ["Z", "X", "x"].contains(&state)
}

/// How a process ended: from its number until its parent has asked, and from the descriptor after that.
fn ending_of(pid: u32, held: &OwnedFd) -> Option<Ending> {
    let waiting = || {
        let stat = stat(pid)?;
        let has_ended = has_ended(stat.first()?);
        let status = stat.get(52 - 3)?.parse().ok()?;
        has_ended.then(|| Ending::of_raw(status)).flatten()
    };
    reaped(held).or_else(waiting).or_else(|| reaped(held))
}

/// `struct pidfd_info` of linux/pidfd.h, as far as it goes back.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    ids: [u32; 11],
    exit_code: i32,
}

/// What the kernel remembers of a process whose parent has asked (Linux 6.15 and newer).
fn reaped(held: &OwnedFd) -> Option<Ending> {
    /// `PIDFD_GET_INFO` for the record above, and the bit for its last member.
    const GET_INFO: libc::c_ulong = 0xC040_FF0B;
    const EXIT: u64 = 1 << 3;
    let mut info = PidfdInfo {
        mask: EXIT,
        ..PidfdInfo::default()
    };
    // SAFETY: the record has the size that is part of the request's number, and lives longer than the call.
    let asked = unsafe { libc::ioctl(held.as_raw_fd(), GET_INFO as _, &raw mut info) };
    (asked == 0 && info.mask & EXIT != 0)
        .then(|| Ending::of_raw(info.exit_code))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::has_ended;

    #[test]
    fn who_is_being_asked_after_has_ended() {
        assert!(["Z", "X", "x"].into_iter().all(has_ended));
        assert!(!["R", "S", "D", "T", "t", "I", ""].into_iter().any(has_ended));
    }
}
