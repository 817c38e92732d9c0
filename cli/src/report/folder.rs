//! Where a report is put together and kept.

use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};

use crate::config;

/// How the folders are called in which reports are put together.
const PARTIAL: &str = ".partial-";
/// A file in each of them, locked by whoever works there.
const LOCK: &str = ".lock";
/// Where locks do not work, whoever has written nothing for so long is gone.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder of one report.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Where it goes when it has a name; none for the one that was asked for.
    reports: Option<PathBuf>,
    lock: File,
}

impl Folder {
    /// A folder with nothing in it: the one that was asked for, one in there when that has something in it, one of
    /// ours, or a temporary one. With it why a better one could not be had. None where nothing can be written at all.
    pub fn create(asked: Option<&Path>) -> (Option<Self>, Vec<String>) {
        let mut problems = Vec::new();
        let mut note = |path: &Path, error: std::io::Error| {
            problems.push(format!("can not keep the report in {}: {error}", path.display()));
        };
        if let Some(asked) = asked {
            match Self::claim(asked).or_else(|_| Self::within(asked)) {
                Ok(folder) => return (Some(folder), problems),
                Err(error) => note(asked, error),
            }
        }
        let places = config::state_folder().into_iter().chain([temporary()]);
        for reports in places {
            match Self::within(&reports) {
                Ok(folder) => return (Some(folder), problems),
                Err(error) => note(&reports, error),
            }
        }
        (None, problems)
    }

    /// The folder itself, if nothing is in it and nobody else claims it.
    fn claim(path: &Path) -> std::io::Result<Self> {
        std::fs::create_dir_all(path)?;
        let lock = File::options().write(true).create_new(true).open(path.join(LOCK))?;
        let alone = std::fs::read_dir(path)?.count() == 1;
        if !alone {
            std::fs::remove_file(path.join(LOCK))?;
            return Err(ErrorKind::AlreadyExists.into());
        }
        Self::probe(path)?;
        Ok(Self {
            path: path.to_owned(),
            reports: None,
            lock,
        })
    }

    /// A new one among others. No two have the same name, whatever machine or container they are made from.
    fn within(reports: &Path) -> std::io::Result<Self> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(reports)?;
        let path = reports.join(format!("{PARTIAL}{}", unique_name()));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        let create = || {
            let lock = File::create(path.join(LOCK))?;
            // A file system without locks knows by age who is gone.
            let _ = flock(&lock, FlockOperation::NonBlockingLockExclusive);
            Self::probe(&path)?;
            Ok(lock)
        };
        match create() {
            Ok(lock) => Ok(Self {
                path,
                reports: Some(reports.to_owned()),
                lock,
            }),
            Err(error) => {
                let _ = std::fs::remove_dir_all(&path);
                Err(error)
            }
        }
    }

    /// Whether there is room to write at all.
    fn probe(path: &Path) -> std::io::Result<()> {
        let probe = path.join(".probe");
        let wrote = File::create(&probe).and_then(|mut file| file.write_all(&[0; 4096]));
        std::fs::remove_file(&probe).and(wrote)
    }

    /// Where it is now.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its report's name, or that name with a number when there is one; where it is then. All that was
    /// written is on the disk before that.
    pub fn settle(self, id: &str) -> std::io::Result<PathBuf> {
        std::fs::remove_file(self.path.join(LOCK))?;
        if let Ok(folder) = File::open(&self.path) {
            let _ = rustix::fs::syncfs(&folder);
        }
        let Some(reports) = self.reports else {
            return Ok(self.path);
        };
        let settled = settle(&self.path, &reports, id)?;
        drop(self.lock);
        Ok(settled)
    }
}

/// Renames to the first free name: a rename never replaces a folder that has something in it.
fn settle(path: &Path, reports: &Path, id: &str) -> std::io::Result<PathBuf> {
    let numbered = (2_u32..1000).map(|number| format!("{id}-{number}"));
    let mut last = ErrorKind::AlreadyExists.into();
    for name in std::iter::once(id.to_owned()).chain(numbered) {
        let folder = reports.join(name);
        match std::fs::rename(path, &folder) {
            Ok(()) => return Ok(folder),
            Err(error) if folder.exists() => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Takes care of what killed runs left among the reports: what they had kept becomes a report of its own.
pub fn adopt(reports: &Path) {
    let entries = std::fs::read_dir(reports).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let Some(name) = name.to_str().and_then(|name| name.strip_prefix(PARTIAL)) else {
            continue;
        };
        let path = entry.path();
        if !is_abandoned(&path) {
            continue;
        }
        let _ = std::fs::remove_file(path.join(LOCK));
        if std::fs::remove_dir(&path).is_err() {
            let _ = settle(&path, reports, name);
        }
    }
}

/// Whether nobody works there any more.
fn is_abandoned(path: &Path) -> bool {
    let Ok(lock) = File::open(path.join(LOCK)) else {
        let about = path.metadata().and_then(|about| about.modified());
        let age = about.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
        return age.is_ok_and(|age| age > ABANDONED);
    };
    flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Where reports go when there is no home for them: a folder that nobody else can have made.
pub fn temporary() -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    let folder = std::env::temp_dir().join(format!("whycrash-{user}"));
    let foreign = folder
        .symlink_metadata()
        .is_ok_and(|about| about.uid() != user || !about.is_dir());
    match foreign {
        true => std::env::temp_dir().join(format!("whycrash-{user}-{}", unique_name())),
        false => folder,
    }
}

/// A name that nobody else gets, wherever they are: 128 random bits.
pub fn unique_name() -> String {
    let random = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", random(), random())
}
