//! Finding the core dumps that a run left, its workers' included.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::core_owner::{Owner, was_started_with};
use super::core_pattern::{self, Destination, Handler};
use super::left_behind::{is_dumped, is_dying, wait_while};
use super::{Missing, host};
use crate::handler;
use crate::limits::{Resource, limit};

/// How long a handler, or the kernel, that is at work is waited for, how long one that may be about to start, and how
/// often it is looked at.
const PATIENCE: Duration = Duration::from_secs(120);
const STARTING: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(50);

/// What to look for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Search {
    /// Nothing older is of this run.
    pub since: SystemTime,
    /// The job.
    pub job: u32,
    /// Every process of the run that was seen, the job included.
    pub processes: BTreeSet<u32>,
    /// Those of them that went on when the job had ended.
    pub left: BTreeSet<u32>,
    /// Where they were working.
    pub folders: BTreeSet<PathBuf>,
    /// A variable of its environment that no other process has but those that descend from it, where there is one.
    pub mark: Option<String>,
    /// Whether the kernel said that it dumped the job.
    pub dumped: bool,
    /// Whether the job died of a signal whose default is to dump core.
    pub expected: bool,
    /// Whether there would be no core dump without us: then it is ours to take away.
    pub ours: bool,
}

/// A core dump that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// Whose it is, where that is known.
    pub pid: Option<u32>,
}

impl Search {
    /// Takes away files that the kernel wrote into the job's folders, which it would not have without us. What it still
    /// writes is waited for until then.
    pub fn clear_away(&self, deadline: Instant) {
        if !self.ours {
            return;
        }
        if let Some(Destination::File(pattern)) = Destination::of_this_machine() {
            wait_while(&self.left, is_dumped, deadline);
            for core in self.by_pattern(&pattern, &self.folders) {
                let _ = std::fs::remove_file(core.path);
            }
        }
    }

    /// The run's core dumps, and why the job's own is not among them where one was to be expected. `scratch` is
    /// where a handler's copy is put.
    pub fn run(&self, scratch: &Path) -> (Vec<Found>, Option<Missing>) {
        match Destination::of_this_machine() {
            Some(Destination::File(pattern)) => {
                wait_while(&self.left, is_dying, Instant::now() + PATIENCE);
                let found = self.by_pattern_anywhere(&pattern);
                let missing = (self.expected && found.is_empty()).then(|| self.no_file(&pattern));
                (found, missing)
            }
            Some(Destination::Program(handler)) => self.from_handler(&handler, scratch),
            None => (
                Vec::new(),
                Some(Missing::for_good(
                    "core dump",
                    "the kernel does not tell where it puts core dumps",
                )),
            ),
        }
    }

    /// Files that the kernel wrote by this pattern, the job's own first, wherever they may be.
    fn by_pattern_anywhere(&self, pattern: &str) -> Vec<Found> {
        let mut found = self.by_pattern(pattern, &self.folders);
        let has_own = found.iter().any(|core| core.pid == Some(self.job));
        if !has_own && (self.dumped || self.ours) {
            let below = self.folders.iter().flat_map(|folder| folders_below(folder));
            let above = self
                .folders
                .iter()
                .flat_map(|folder| folder.ancestors().skip(1).map(Path::to_owned));
            found.extend(self.by_pattern(pattern, &below.chain(above).collect()));
        }
        found.sort_by_key(|core| (core.pid != Some(self.job), core.path.clone()));
        found.dedup();
        found
    }

    /// Those that a process working in one of these folders would leave.
    fn by_pattern(&self, pattern: &str, folders: &BTreeSet<PathBuf>) -> Vec<Found> {
        let places: BTreeSet<_> = folders
            .iter()
            .map(|folder| core_pattern::split(pattern, folder))
            .collect();
        let mut found: Vec<Found> = Vec::new();
        for (folder, pattern) in places {
            found.extend(self.in_folder(&folder, |name| {
                core_pattern::matches(&pattern, name, &|pid| self.knows(pid))
            }));
        }
        found
    }

    fn in_folder(&self, folder: &Path, named: impl Fn(&str) -> bool) -> Vec<Found> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let recent = |path: &Path| {
            path.metadata()
                .and_then(|about| about.modified())
                .is_ok_and(|at| at >= self.since)
        };
        entries
            .filter(|entry| entry.file_name().to_str().is_some_and(&named))
            .map(|entry| entry.path())
            .filter(|path| recent(path))
            .filter_map(|path| {
                let owner = Owner::of(&path)?;
                self.owns(owner, &path).then_some(Found {
                    path,
                    pid: Some(owner.pid),
                })
            })
            .collect()
    }

    /// Workers that came and went unseen are known by their parent, or by what they were started with. That they share
    /// a process group with us says nothing: a script starts several jobs in one.
    fn owns(&self, owner: Owner, core: &Path) -> bool {
        let is_marked = |mark: &String| was_started_with(mark, core);
        self.knows(owner.pid) || self.knows(owner.parent) || self.mark.as_ref().is_some_and(is_marked)
    }

    fn knows(&self, pid: u32) -> bool {
        self.processes.contains(&pid)
    }

    fn no_file(&self, pattern: &str) -> Missing {
        const WHAT: &str = "core dump";
        let limit = limit(Resource::RLIMIT_CORE);
        if limit.is_some_and(|limit| limit.hard == Some(0)) {
            let mend = "raise it: `ulimit -Hc unlimited` as root, LimitCORE=infinity in a unit, --ulimit core=-1 for a container";
            return Missing::new(WHAT, "the hard limit on core dumps is 0", mend);
        }
        if limit.is_some_and(|limit| limit.soft == Some(0)) && !self.ours {
            let why = "the soft limit on core dumps is 0, and is left so where --no-core says it, or where a file would \
                       be written over";
            return Missing::new(
                WHAT,
                why,
                format!("`ulimit -c unlimited`; move away the file {pattern:?} that is there"),
            );
        }
        if self.dumped {
            let why =
                format!("the kernel wrote one by the pattern {pattern:?}, but not where it can be seen from here");
            return Missing::new(
                WHAT,
                why,
                "set kernel.core_pattern to a path that the job can see, such as core.%p",
            );
        }
        let why = format!(
            "the kernel wrote none by the pattern {pattern:?}: folder not writable, disk full, or a process that may not be dumped"
        );
        Missing::new(
            WHAT,
            why,
            "set kernel.core_pattern to a folder that the job can write, such as /tmp/core.%p",
        )
    }

    fn from_handler(&self, handler: &Handler, scratch: &Path) -> (Vec<Found>, Option<Missing>) {
        let result = match handler {
            Handler::Whycrash(own) => self.from_store(&own.store),
            Handler::Systemd => self.from_systemd(scratch),
            Handler::Apport => self.from_apport(),
            Handler::Other(command) => Err(Missing::new(
                "core dump",
                format!("the kernel hands core dumps to {command:?}, which keeps them for itself"),
                "let whycrash have them: `whycrash doctor` prints the kernel.core_pattern for it",
            )),
        };
        match result {
            Ok(found) => (found, None),
            Err(missing) => (Vec::new(), self.expected.then_some(missing)),
        }
    }

    fn from_store(&self, store: &Path) -> Result<Vec<Found>, Missing> {
        let user = rustix::process::geteuid();
        let folders: Vec<PathBuf> = if user.is_root() {
            let users = std::fs::read_dir(store).into_iter().flatten().flatten();
            users.map(|user| user.path()).collect()
        } else {
            vec![handler::folder_of(store, user.as_raw())]
        };
        // A handler that reads its pipe to the end works on when the process has gone.
        let end = Instant::now() + PATIENCE;
        while folders.iter().any(|folder| handler::is_being_written(folder)) && Instant::now() < end {
            std::thread::sleep(PAUSE);
        }
        let folders = folders.iter();
        let found: Vec<Found> = folders
            .flat_map(|folder| self.in_folder(folder, |name| name.starts_with("core.")))
            .collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let place = store.display();
        Err(if store.is_dir() {
            let why = format!("whycrash core-handler left none in {place}");
            Missing::new("core dump", why, "see the kernel log for what it said")
        } else {
            let why = format!("whycrash core-handler keeps them in {place}, which is not to be seen from here");
            let mend = format!("in a container, mount that folder of the host: -v {place}:{place}");
            Missing::new("core dump", why, mend)
        })
    }

    /// `systemd-coredump` works on after the process has gone: as long as one of it is there, there is more to come.
    fn from_systemd(&self, scratch: &Path) -> Result<Vec<Found>, Missing> {
        let began = Instant::now();
        loop {
            let is_at_work = systemd_is_at_work();
            let (found, said) = self.dumped_by_systemd(scratch);
            let has_own = found.first().is_some_and(|core| core.pid == Some(self.job));
            let patience = if is_at_work {
                PATIENCE
            } else if has_own || !self.dumped {
                Duration::ZERO
            } else {
                STARTING
            };
            if began.elapsed() < patience {
                std::thread::sleep(PAUSE);
                continue;
            }
            if found.is_empty() {
                let why = format!("coredumpctl did not give it: {said}");
                let mend = "install systemd-coredump's coredumpctl, and let this user read the journal (group \
                            systemd-journal)";
                return Err(Missing::new("core dump", why, mend));
            }
            return Ok(found);
        }
    }

    /// The core dumps of this run that are in the journal by now, the job's own first, and what was said about others.
    fn dumped_by_systemd(&self, scratch: &Path) -> (Vec<Found>, String) {
        let since = self.since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let since = format!("--since=@{}", since.as_secs());
        let (list, mut said) = coredumpctl(&["list", "--json=short", &since]);
        let listed: Vec<Listed> = serde_json::from_slice(&list).unwrap_or_default();
        let mut pids: Vec<u32> = listed
            .iter()
            .map(|core| core.pid)
            .filter(|pid| self.knows(*pid))
            .collect();
        // One that knows no JSON can be asked for a process all the same.
        if !pids.contains(&self.job) {
            pids.push(self.job);
        }
        pids.sort_by_key(|pid| (*pid != self.job, *pid));
        pids.dedup();
        let mut found = Vec::new();
        for pid in pids {
            let path = scratch.join(format!(".systemd.{pid}"));
            let is_there = || path.metadata().is_ok_and(|about| about.len() > 0);
            if !is_there() {
                let output = path.to_string_lossy();
                said = coredumpctl(&["dump", &pid.to_string(), "--output", &output]).1;
            }
            if is_there() {
                found.push(Found { path, pid: Some(pid) });
            } else {
                let _ = std::fs::remove_file(&path);
            }
        }
        (found, said)
    }

    /// Apport keeps plain core files for programs that belong to no package.
    fn from_apport(&self) -> Result<Vec<Found>, Missing> {
        let folder = Path::new("/var/lib/apport/coredump");
        let found = self.in_folder(folder, |name| name.starts_with("core."));
        let mend = "turn apport off: `systemctl stop apport`, or set kernel.core_pattern to core.%p";
        let why = || format!("apport left none in {}", folder.display());
        if found.is_empty() {
            Err(Missing::new("core dump", why(), mend))
        } else {
            Ok(found)
        }
    }
}

/// The folders below one, nearest first, as far as is quickly found out: a process that was gone before anybody looked at
/// it may have gone into any of them.
fn folders_below(top: &Path) -> Vec<PathBuf> {
    const ENTRIES: usize = 20_000;
    let mut below = Vec::new();
    let mut left = ENTRIES;
    let mut next = Some(top.to_owned());
    let mut read = 0;
    while let Some(folder) = next {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(left);
        let entries: Vec<_> = entries.collect();
        left -= entries.len();
        let folders = entries
            .iter()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        below.extend(folders.map(std::fs::DirEntry::path));
        next = below.get(read).cloned();
        read += 1;
    }
    below
}

/// A line of what `coredumpctl list` answers.
#[derive(Deserialize)]
struct Listed {
    pid: u32,
}

/// What `coredumpctl` answers, and what it says on standard error or why it can not be run.
fn coredumpctl(arguments: &[&str]) -> (Vec<u8>, String) {
    let mut ask = Command::new("coredumpctl");
    ask.arg("--quiet").args(arguments).stdin(Stdio::null());
    match ask.output() {
        Ok(answer) => (answer.stdout, String::from_utf8_lossy(&answer.stderr).trim().to_owned()),
        Err(error) => (Vec::new(), format!("it can not be run: {error}")),
    }
}

/// Whether a `systemd-coredump` is at work, whoever's core dump it is; the kernel cuts names at 15 bytes.
fn systemd_is_at_work() -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut names = processes.filter_map(|process| host::read(process.path().join("comm")));
    names.any(|name| name == "systemd-coredum")
}
