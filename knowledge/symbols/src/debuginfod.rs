//! Binaries and debug files from debuginfod servers (elfutils' `/buildid/ID/debuginfo` and `/buildid/ID/executable`),
//! kept in a folder.
//!
//! This crate makes no connection of its own: whoever wants one passes a [`Fetch`].

use std::collections::HashMap;
use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How long a server that could not be reached is left alone.
const PAUSE: Duration = Duration::from_secs(300);

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
    /// Time for all files of one artifact: a diagnosis without names now is better than one with names next week.
    pub artifact_time: Duration,
    /// How long it is believed that no server has a file.
    pub missing_for: Duration,
}

impl Default for DebuginfodLimits {
    fn default() -> Self {
        Self {
            file_bytes: 2 << 30,
            cache_bytes: 20 << 30,
            file_time: Duration::from_secs(90),
            artifact_time: Duration::from_secs(300),
            missing_for: Duration::from_secs(24 * 60 * 60),
        }
    }
}

/// Servers to ask, and the folder for their answers.
#[derive(Clone, Debug)]
pub struct Debuginfod {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    servers: Vec<String>,
    folder: PathBuf,
    fetch: Arc<dyn Fetch>,
    limits: DebuginfodLimits,
    state: Mutex<State>,
}

/// What this process has learned.
#[derive(Debug, Default)]
struct State {
    /// Servers that could not be reached, and when.
    unreachable: HashMap<String, Instant>,
    /// Time spent on the artifact that is being read.
    spent: Duration,
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
            shared: Arc::new(Shared {
                servers,
                folder,
                fetch,
                limits,
                state: Mutex::default(),
            }),
        })
    }

    /// Starts the clock of [`DebuginfodLimits::artifact_time`] anew.
    pub(crate) fn next_artifact(&self) {
        self.shared.state().spent = Duration::ZERO;
    }

    /// The file of a build id, from the folder or from the first server that has it.
    pub(crate) fn file(&self, build_id: &str, kind: Kind) -> Option<PathBuf> {
        let is_hex = |id: &str| id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex(build_id) {
            return None;
        }
        let path = self.shared.folder.join(build_id).join(kind.name());
        match self.shared.known(&path) {
            Some(true) => Some(path),
            Some(false) => None,
            None => self.shared.ask(build_id, kind, &path).then_some(path),
        }
    }
}

/// Takes a file back that was not what was asked for; it is not asked for again until the folder forgets it.
pub(crate) fn reject(path: &Path) {
    tracing::warn!(path = %path.display(), "a debuginfod server gave a file that is not of the build asked for");
    let _ = File::create(path);
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the folder has a file (`true`), knows that nobody has it (`false`, an empty file that is not too old),
    /// or knows nothing.
    fn known(&self, path: &Path) -> Option<bool> {
        let about = fs::metadata(path).ok()?;
        if about.len() > 0 {
            // The time of use decides what makes room.
            let _ = File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
            return Some(true);
        }
        let age = about.modified().ok()?.elapsed().unwrap_or_default();
        (age < self.limits.missing_for).then_some(false)
    }

    /// Asks the servers, in their order, and says whether the file is there now.
    fn ask(&self, build_id: &str, kind: Kind, path: &Path) -> bool {
        let mut all_answered = true;
        for server in &self.servers {
            if self.is_unreachable(server) {
                all_answered = false;
                continue;
            }
            let Some(time) = self.time_left() else { return false };
            let url = format!("{server}/buildid/{build_id}/{}", kind.name());
            let start = Instant::now();
            let answer = self.fetch_to(&url, time, path);
            self.state().spent += start.elapsed();
            match answer {
                Ok(Fetched::Body) => return true,
                Ok(Fetched::Missing) => {}
                Err(error) => {
                    tracing::warn!(url, %error, "a debuginfod server gave no answer; it is left alone for a while");
                    self.state().unreachable.insert(server.clone(), Instant::now());
                    all_answered = false;
                }
            }
        }
        if all_answered {
            let _ = path.parent().map(fs::create_dir_all);
            let _ = File::create(path);
        }
        false
    }

    fn is_unreachable(&self, server: &str) -> bool {
        let since = self.state().unreachable.get(server).copied();
        since.is_some_and(|since| since.elapsed() < PAUSE)
    }

    fn time_left(&self) -> Option<Duration> {
        let left = self.limits.artifact_time.checked_sub(self.state().spent)?;
        (!left.is_zero()).then(|| left.min(self.limits.file_time))
    }

    /// Fetches to a file beside the final one, and renames it when it is whole.
    fn fetch_to(&self, url: &str, time: Duration, path: &Path) -> io::Result<Fetched> {
        let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        let mut bounded = Bounded {
            file: file.as_file_mut(),
            left: self.limits.file_bytes,
            is_too_long: false,
        };
        let fetched = self.fetch.fetch(url, time, &mut bounded);
        if bounded.is_too_long {
            tracing::warn!(
                url,
                limit = self.limits.file_bytes,
                "a debuginfod server has a file beyond the limit"
            );
            return Ok(Fetched::Missing);
        }
        let fetched = fetched?;
        let bytes = self.limits.file_bytes - bounded.left;
        if fetched == Fetched::Missing || bytes == 0 {
            return Ok(Fetched::Missing);
        }
        make_room(&self.folder, self.limits.cache_bytes.saturating_sub(bytes));
        file.persist(path).map_err(|error| error.error)?;
        tracing::info!(url, bytes, "fetched from a debuginfod server");
        Ok(Fetched::Body)
    }
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

/// Deletes the files used longest ago until the folder holds at most so many bytes.
fn make_room(folder: &Path, bytes: u64) {
    let list = |folder: &Path| {
        fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
    };
    let files = list(folder).flat_map(|folder| list(&folder).collect::<Vec<_>>());
    let mut files: Vec<(SystemTime, u64, PathBuf)> = files
        .filter_map(|path| {
            let about = fs::metadata(&path).ok()?;
            Some((about.modified().ok()?, about.len(), path))
        })
        .collect();
    files.sort();
    let mut held: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, size, path) in files {
        if held <= bytes {
            return;
        }
        // A file that is open stays readable; the next reading fetches it again.
        if size > 0 && fs::remove_file(&path).is_ok() {
            held -= size;
        }
    }
}
