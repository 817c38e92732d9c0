//! Finding the core dumps that a run left, its workers' included.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::core_pattern::{self, Destination, Handler};
use super::{Missing, host};
use crate::handler;

/// How long a handler that is at work is waited for, how long one that may be about to start, and how often it is looked
/// at.
const PATIENCE: Duration = Duration::from_secs(120);
const STARTING: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(50);
/// How long the kernel is waited for, which makes the file first, and then writes whose it is.
const WRITING: Duration = Duration::from_millis(500);

/// What to look for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Search {
    /// Nothing older is of this run.
    pub since: SystemTime,
    /// The job.
    pub job: u32,
    /// Every process of the run that was seen, the job included.
    pub processes: BTreeSet<u32>,
    /// Where they were working.
    pub folders: BTreeSet<PathBuf>,
    /// The process group of the run, where there is one to see.
    pub group: Option<u32>,
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
    /// Takes away files that the kernel wrote into the job's folders, which it would not have without us.
    pub fn clear_away(&self) {
        if !self.ours {
            return;
        }
        if let Some(Destination::File(pattern)) = Destination::of_this_machine() {
            for core in self.by_pattern(&pattern) {
                let _ = std::fs::remove_file(core.path);
            }
        }
    }

    /// The run's core dumps, and why the job's own is not among them where one was to be expected. `scratch` is
    /// where a handler's copy is put.
    pub fn run(&self, scratch: &Path) -> (Vec<Found>, Option<Missing>) {
        match Destination::of_this_machine() {
            Some(Destination::File(pattern)) => {
                let found = self.by_pattern(&pattern);
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

    /// Files that the kernel wrote by this pattern.
    fn by_pattern(&self, pattern: &str) -> Vec<Found> {
        let places: BTreeSet<_> = self
            .folders
            .iter()
            .map(|folder| core_pattern::split(pattern, folder))
            .collect();
        let mut found: Vec<Found> = Vec::new();
        for (folder, pattern) in places {
            found.extend(self.in_folder(&folder, |name| {
                core_pattern::matches(&pattern, name, &|pid| self.knows(pid))
            }));
        }
        // The job's own first.
        found.sort_by_key(|core| (core.pid != Some(self.job), core.path.clone()));
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
                let owner = Owner::when_written(&path)?;
                self.owns(&owner).then_some(Found {
                    path,
                    pid: Some(owner.pid),
                })
            })
            .collect()
    }

    /// Workers that came and went unseen are known by the process group they share with us.
    fn owns(&self, owner: &Owner) -> bool {
        self.knows(owner.pid) || self.knows(owner.parent) || self.group == Some(owner.group)
    }

    fn knows(&self, pid: u32) -> bool {
        self.processes.contains(&pid)
    }

    fn no_file(&self, pattern: &str) -> Missing {
        const WHAT: &str = "core dump";
        let hard_limit = rustix::process::getrlimit(rustix::process::Resource::Core).maximum;
        if hard_limit == Some(0) {
            let mend = "raise it: `ulimit -Hc unlimited` as root, LimitCORE=infinity in a unit, --ulimit core=-1 for a container";
            return Missing::new(WHAT, "the hard limit on core dumps is 0", mend);
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

/// Whose core dump a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    pid: u32,
    parent: u32,
    group: u32,
}

impl Owner {
    /// The same as [`Owner::of`], of a file that the kernel may have only begun.
    fn when_written(path: &Path) -> Option<Self> {
        let end = Instant::now() + WRITING;
        loop {
            let owner = Self::of(path);
            if owner.is_some() || !is_begun(path) || Instant::now() > end {
                return owner;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Reads the `NT_PRPSINFO` note of a 64-bit little-endian ELF core dump; none for anything else. The layout is
    /// that of `Elf64_Ehdr`, `Elf64_Phdr` (elf.h) and `elf_prpsinfo` (linux/elfcore.h).
    fn of(path: &Path) -> Option<Self> {
        const CORE: u16 = 4;
        const NOTE: u32 = 4;
        const PRPSINFO: u32 = 3;
        const HEADERS: u16 = 16;
        let mut file = File::open(path).ok()?;
        let header = read_at(&mut file, 0, 64)?;
        if !header.starts_with(b"\x7fELF\x02\x01") || u16_at(&header, 16)? != CORE {
            return None;
        }
        let (table, size, count) = (u64_at(&header, 32)?, u16_at(&header, 54)?, u16_at(&header, 56)?);
        for index in 0..count.min(HEADERS) {
            let header = read_at(&mut file, table.checked_add(u64::from(index) * u64::from(size))?, 56)?;
            if u32_at(&header, 0)? != NOTE {
                continue;
            }
            let notes = read_at(
                &mut file,
                u64_at(&header, 8)?,
                u64_at(&header, 32)?.min(1 << 20) as usize,
            )?;
            let mut rest = notes.as_slice();
            while let (Some(name), Some(length), Some(kind)) = (u32_at(rest, 0), u32_at(rest, 4), u32_at(rest, 8)) {
                let start = 12 + (name as usize).next_multiple_of(4);
                if kind == PRPSINFO {
                    let info = rest.get(start..)?;
                    return Some(Self {
                        pid: u32_at(info, 24)?,
                        parent: u32_at(info, 28)?,
                        group: u32_at(info, 32)?,
                    });
                }
                rest = rest.get(start.checked_add((length as usize).next_multiple_of(4))?..)?;
            }
        }
        None
    }
}

/// Whether a file is empty, or begins as core dumps do.
fn is_begun(path: &Path) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    read_at(&mut file, 0, 1).is_none_or(|first| first == b"\x7f")
}

fn read_at(file: &mut File, offset: u64, length: usize) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes).ok().map(|()| bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// The headers of a core dump of this process, parent and group, with nothing of its memory.
    fn headers(pid: u32, parent: u32, group: u32) -> Vec<u8> {
        let mut file = vec![0; 64 + 56];
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, b"\x7fELF\x02\x01");
        put(16, &4_u16.to_le_bytes());
        put(32, &64_u64.to_le_bytes());
        put(54, &56_u16.to_le_bytes());
        put(56, &1_u16.to_le_bytes());
        put(64, &4_u32.to_le_bytes());
        put(72, &120_u64.to_le_bytes());
        put(96, &(12 + 8 + 136_u64).to_le_bytes());
        let mut info = [0; 136];
        for (at, number) in [(24, pid), (28, parent), (32, group)] {
            info[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        file.extend([5_u32, 136, 3].iter().flat_map(|number| number.to_le_bytes()));
        file.extend(b"CORE\0\0\0\0");
        file.extend(info);
        file
    }

    #[test]
    fn a_core_that_the_kernel_has_only_begun_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("core");
        let mut file = File::create(&path).unwrap();
        let kernel = std::thread::spawn(move || {
            for part in headers(7, 3, 5).chunks(140) {
                std::thread::sleep(PAUSE);
                file.write_all(part).unwrap();
            }
        });
        assert_eq!(Owner::of(&path), None);
        let owner = Owner::when_written(&path);
        kernel.join().unwrap();
        assert_eq!(
            owner,
            Some(Owner {
                pid: 7,
                parent: 3,
                group: 5
            })
        );
    }

    #[test]
    fn a_file_that_is_no_core_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("core");
        std::fs::write(&path, "notes").unwrap();
        assert!(!is_begun(&path));
        assert_eq!(Owner::when_written(&path), None);
    }
}
