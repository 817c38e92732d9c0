//! A folder for what a job writes because it was asked to.

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

/// How they are called, in the temporary folder.
const NAME: &str = "whycrash-run-";
/// A file in each of them, locked by whoever watches the job.
const LOCK: &str = ".lock";
/// Whoever makes the report of a job that has ended needs its folder for a while.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// A folder of one run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Scratch {
    path: PathBuf,
    #[serde(skip)]
    _lock: Option<File>,
}

impl Scratch {
    /// A new one, which nobody else can look into. Those of runs that were killed are removed.
    ///
    /// # Errors
    /// When the temporary folder can not be written.
    pub fn create() -> std::io::Result<Self> {
        let folder = std::env::temp_dir();
        remove_abandoned(&folder);
        let path = tempfile::Builder::new().prefix(NAME).tempdir_in(folder)?.keep();
        let lock = File::create(path.join(LOCK))?;
        let _ = flock(&lock, FlockOperation::NonBlockingLockExclusive);
        Ok(Self {
            path,
            _lock: Some(lock),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files that the job left in it. What begins with a dot is not whole.
    pub fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let whole = files.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
        let mut files: Vec<PathBuf> = whole.map(|entry| entry.path()).collect();
        files.sort();
        files
    }

    /// Removes it with all that is in it.
    pub fn remove(&self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn remove_abandoned(folder: &Path) {
    let user = rustix::process::geteuid().as_raw();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(NAME.as_bytes())) {
        let path = entry.path();
        let is_ours = path
            .symlink_metadata()
            .is_ok_and(|about| about.is_dir() && about.uid() == user);
        let is_old = path
            .metadata()
            .and_then(|about| about.modified())
            .is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > ABANDONED));
        let is_free = || {
            let lock = File::open(path.join(LOCK));
            lock.is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok())
        };
        if is_ours && is_old && is_free() {
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}
