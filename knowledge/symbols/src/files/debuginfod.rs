//! Binaries and debug files from debuginfod servers (elfutils' `/buildid/ID/debuginfo` and `/buildid/ID/executable`),
//! kept in a folder.
//!
//! This crate makes no connection of its own: whoever wants one passes a [`Fetch`].

use std::collections::HashMap;
use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::files::build_id::is_build_id;
use crate::files::regular::{MAX_FILE, find_regular};

/// How long a server that could not be reached is left alone.
const PAUSE: Duration = Duration::from_secs(300);
/// How many files that nobody has are noted until notes that are too old are cleared away.
const NOTES: u64 = 1000;

/// Gets what an address holds. The one place where this crate touches a network, through its caller.
pub trait Fetch: Debug + Send + Sync {
    /// Writes the body of a `GET` of `url` to `to`. Gives up when `time` has passed; an error of `to` (which refuses
    /// bytes beyond a limit) ends it too.
    fn fetch(&self, url: &str, time: Duration, to: &mut dyn Write) -> io::Result<Fetched>;
}

/// How a fetch ended that reached a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// All of the body was written.
    Body,
    /// The server does not have it (404).
    Missing,
}

/// Caps on what debuginfod servers may cost.
#[derive(Clone, Debug)]
pub struct DebuginfodLimits {
    /// Bytes of one file. Those of the largest libraries have a few GiB.
    pub file_bytes: u64,
    /// Bytes of the folder; the files used longest ago make room.
    pub cache_bytes: u64,
    /// Time for one file.
    pub file_time: Duration,
    /// Requests for one report.
    pub report_requests: u64,
    /// Bytes of all files of one report.
    pub report_bytes: u64,
    /// Time for all files of one report: a diagnosis without names now is better than one with names next week.
    pub report_time: Duration,
    /// How long it is believed that no server has a file.
    pub missing_for: Duration,
}

impl Default for DebuginfodLimits {
    fn default() -> Self {
        Self {
            file_bytes: 2 << 30,
            cache_bytes: 20 << 30,
            file_time: Duration::from_secs(90),
            report_requests: 500,
            report_bytes: 8 << 30,
            report_time: Duration::from_secs(300),
            missing_for: Duration::from_secs(24 * 60 * 60),
        }
    }
}

/// Servers to ask, and the folder for their answers.
#[derive(Clone, Debug)]
pub struct Debuginfod {
    shared: Arc<Shared>,
    budget: Arc<Mutex<Budget>>,
}

/// What is left for one report.
#[derive(Debug)]
struct Budget {
    requests: u64,
    bytes: u64,
    time: Duration,
    /// Whether something was not asked for because nothing was left.
    is_spent: bool,
}

#[derive(Debug)]
struct Shared {
    servers: Vec<String>,
    folder: PathBuf,
    fetch: Arc<dyn Fetch>,
    limits: DebuginfodLimits,
    /// Servers that could not be reached, and when.
    unreachable: Mutex<HashMap<String, Instant>>,
    /// Files that nobody has, noted by this process.
    notes: AtomicU64,
}

/// The two things that are known by a build id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    DebugInfo,
    Executable,
}

impl Kind {
    /// The name in addresses, and in the folder.
    fn name(self) -> &'static str {
        match self {
            Self::DebugInfo => "debuginfo",
            Self::Executable => "executable",
        }
    }
}

impl Debuginfod {
    /// The servers of a list separated by spaces, as `DEBUGINFOD_URLS` has it; nothing when the list is empty. Files
    /// are kept in `folder`, in the layout of elfutils' own client.
    pub fn new(servers: &str, folder: PathBuf, fetch: Arc<dyn Fetch>, limits: DebuginfodLimits) -> Option<Self> {
        let is_address = |server: &&str| server.starts_with("http://") || server.starts_with("https://");
        let servers: Vec<_> = servers
            .split_ascii_whitespace()
            .filter(is_address)
            .map(|server| server.trim_end_matches('/').to_owned())
            .collect();
        (!servers.is_empty()).then(|| Self {
            budget: Arc::new(Mutex::new(Budget::new(&limits))),
            shared: Arc::new(Shared {
                servers,
                folder,
                fetch,
                limits,
                unreachable: Mutex::default(),
                notes: AtomicU64::new(0),
            }),
        })
    }

    /// The same servers with all that one report may ask of them.
    pub(crate) fn for_report(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            budget: Arc::new(Mutex::new(Budget::new(&self.shared.limits))),
        }
    }

    /// Whether something was not asked for because the report had no more to ask.
    pub(crate) fn is_spent(&self) -> bool {
        self.budget().is_spent
    }

    /// The file of a build id, from the folder or from the first server that has it.
    pub(crate) fn file(&self, build_id: &str, kind: Kind) -> Option<PathBuf> {
        if !is_build_id(build_id) {
            return None;
        }
        let path = self.shared.folder.join(build_id).join(kind.name());
        match self.shared.known(&path) {
            Some(true) => Some(path),
            Some(false) => None,
            None => self.ask(build_id, kind, &path).then_some(path),
        }
    }

    /// Asks the servers, in their order, and says whether the file is there now.
    fn ask(&self, build_id: &str, kind: Kind, path: &Path) -> bool {
        let shared = &*self.shared;
        let mut all_answered = true;
        for server in &shared.servers {
            if shared.is_unreachable(server) {
                all_answered = false;
                continue;
            }
            let Some((bytes, time)) = self.budget().take(&shared.limits) else {
                return false;
            };
            let url = format!("{server}/buildid/{build_id}/{}", kind.name());
            let start = Instant::now();
            let (answer, came) = shared.fetch_to(&url, bytes, time, path);
            self.budget().pay(came, start.elapsed());
            match answer {
                Ok(Answer::Body) => return true,
                Ok(Answer::Missing) => {}
                // The report's bytes were at an end, and nothing is known of the file.
                Ok(Answer::TooLong) => {
                    all_answered &= bytes == shared.limits.file_bytes;
                    self.budget().is_spent |= bytes < shared.limits.file_bytes;
                }
                // The report's time was at an end, for which the server can do nothing.
                Err(_) if time < shared.limits.file_time && start.elapsed() >= time => {
                    all_answered = false;
                    self.budget().is_spent = true;
                }
                Err(error) => {
                    tracing::warn!(url, %error, "a debuginfod server gave no answer; it is left alone for a while");
                    shared.unreachable().insert(server.clone(), Instant::now());
                    all_answered = false;
                }
            }
        }
        if all_answered {
            shared.note_missing(path);
        }
        false
    }

    fn budget(&self) -> MutexGuard<'_, Budget> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Budget {
    fn new(limits: &DebuginfodLimits) -> Self {
        Self {
            requests: limits.report_requests,
            bytes: limits.report_bytes,
            time: limits.report_time,
            is_spent: false,
        }
    }

    /// Bytes and time for one more request; nothing when that would be too many.
    fn take(&mut self, limits: &DebuginfodLimits) -> Option<(u64, Duration)> {
        if self.requests == 0 || self.bytes == 0 || self.time.is_zero() {
            self.is_spent = true;
            return None;
        }
        self.requests -= 1;
        Some((self.bytes.min(limits.file_bytes), self.time.min(limits.file_time)))
    }

    fn pay(&mut self, bytes: u64, time: Duration) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.time = self.time.saturating_sub(time);
    }
}

/// Takes a file back that was not what was asked for; it is not asked for again until the folder forgets it.
pub(crate) fn reject(path: &Path) {
    tracing::warn!(path = %path.display(), "a debuginfod server gave a file that is not of the build asked for");
    if let Err(error) = put_empty(path) {
        tracing::warn!(path = %path.display(), %error, "can not note that no server has a file");
    }
}

/// Puts an empty file in the place of what is there, which others may have mapped: it is never shortened.
fn put_empty(path: &Path) -> io::Result<()> {
    let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    tempfile::NamedTempFile::new_in(folder)?.persist(path)?;
    Ok(())
}

/// How a fetch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Body,
    Missing,
    TooLong,
}

impl Shared {
    fn unreachable(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.unreachable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_unreachable(&self, server: &str) -> bool {
        let since = self.unreachable().get(server).copied();
        since.is_some_and(|since| since.elapsed() < PAUSE)
    }

    /// Whether the folder has a file (`true`), knows that nobody has it (`false`, an empty file that is not too old),
    /// or knows nothing.
    fn known(&self, path: &Path) -> Option<bool> {
        let found = find_regular(path, MAX_FILE).ok()?;
        if found.bytes() > 0 {
            // The time of use decides what makes room.
            let _ = found.open().and_then(|file| file.set_modified(SystemTime::now()));
            return Some(true);
        }
        let age = fs::metadata(path).ok()?.modified().ok()?.elapsed().unwrap_or_default();
        (age < self.limits.missing_for).then_some(false)
    }

    /// Notes that nobody has a file. Notes are bounded by their age, and by what reports may ask for in that time.
    fn note_missing(&self, path: &Path) {
        if let Err(error) = put_empty(path) {
            tracing::warn!(path = %path.display(), %error, "can not note that no server has a file");
        }
        if self.notes.fetch_add(1, Ordering::Relaxed) % NOTES == NOTES - 1 {
            self.make_room(None);
        }
    }

    /// Fetches to a file beside the final one, and renames it when it is whole. How that ended, and the bytes that
    /// came.
    fn fetch_to(&self, url: &str, bytes: u64, time: Duration, path: &Path) -> (io::Result<Answer>, u64) {
        let mut came = 0;
        (self.try_fetch(url, bytes, time, path, &mut came), came)
    }

    fn try_fetch(&self, url: &str, bytes: u64, time: Duration, path: &Path, came: &mut u64) -> io::Result<Answer> {
        let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        let mut bounded = Bounded {
            file: file.as_file_mut(),
            left: bytes,
            is_too_long: false,
        };
        let fetched = self.fetch.fetch(url, time, &mut bounded);
        *came = bytes - bounded.left;
        if bounded.is_too_long {
            tracing::warn!(url, limit = bytes, "a debuginfod server has a file beyond the limit");
            return Ok(Answer::TooLong);
        }
        if fetched? == Fetched::Missing || *came == 0 {
            return Ok(Answer::Missing);
        }
        file.persist(path).map_err(|error| error.error)?;
        self.make_room(Some(path));
        tracing::info!(url, bytes = *came, "fetched from a debuginfod server");
        Ok(Answer::Body)
    }

    /// Deletes notes that are too old, and the files used longest ago until the folder holds no more than it may; never
    /// the one that just came.
    fn make_room(&self, new: Option<&Path>) {
        let mut files = list_files(&self.folder);
        files.sort();
        let mut held: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (used, size, path) in files {
            let is_old_note = size == 0 && used.elapsed().is_ok_and(|age| age >= self.limits.missing_for);
            let is_surplus = size > 0 && held > self.limits.cache_bytes && new != Some(&path);
            // A file that is open stays readable; the next reading fetches it again.
            if (is_old_note || is_surplus) && fs::remove_file(&path).is_ok() {
                held -= size;
                // Only the last file of a folder takes the folder along.
                let _ = path.parent().map(fs::remove_dir);
            }
        }
    }
}

/// The files of a cache: when each was used, its size and its path.
fn list_files(folder: &Path) -> Vec<(SystemTime, u64, PathBuf)> {
    let list = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let files = list(folder).flat_map(|folder| list(&folder.path()).collect::<Vec<_>>());
    files
        .filter_map(|file| {
            let about = file.metadata().ok()?;
            Some((about.modified().ok()?, about.len(), file.path()))
        })
        .collect()
}

/// Takes so many bytes and no more.
struct Bounded<'a> {
    file: &'a mut File,
    left: u64,
    is_too_long: bool,
}

impl Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(left) = self.left.checked_sub(bytes.len() as u64) else {
            self.is_too_long = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        };
        self.file.write_all(bytes)?;
        self.left = left;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
