//! Where core dumps are kept: a folder for each user, which is theirs.

use std::fs::{DirBuilder, File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, openat, renameat, unlinkat};

use super::{Crash, Owner};

/// How long core dumps are kept, and how many bytes of each user's: the oldest go first.
const MAX_AGE: Duration = Duration::from_secs(14 * 24 * 60 * 60);
const MAX_BYTES: u64 = 1 << 30;
/// After so long, one that nobody writes any more is given up.
const ABANDONED: Duration = Duration::from_secs(60);
/// How those are called that are being written.
const PARTIAL: &str = ".core.";
const KEPT: &str = "core.";

/// The folder with the users' folders.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
}

/// A user's folder. It is found again whatever the root directory is.
#[derive(Debug)]
pub struct Folder(OwnedFd);

/// A core dump that is being written. It goes again unless it is finished.
#[derive(Debug)]
pub struct Partial {
    folder: OwnedFd,
    file: File,
    /// Its name when it is finished.
    name: String,
    is_finished: bool,
}

/// Whether an error says that nothing can be kept, whatever it is made of.
pub fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(
        error.kind(),
        StorageFull | QuotaExceeded | FileTooLarge | ReadOnlyFilesystem
    )
}

/// Where a user's core dumps are in a store.
pub fn folder_of(store: &Path, user: u32) -> PathBuf {
    store.join(user.to_string())
}

/// Whether somebody is writing a core dump in a folder of a store.
pub fn is_being_written(folder: &Path) -> bool {
    files(folder).any(|(path, name, _)| name.starts_with(PARTIAL) && is_locked(&path))
}

impl Store {
    /// Opens a store, which is made if it is not there.
    pub fn open(path: &Path) -> io::Result<Self> {
        if !path.is_dir() {
            DirBuilder::new().recursive(true).mode(0o755).create(path)?;
        }
        Ok(Self { path: path.to_owned() })
    }

    /// Takes away what is too old, what is too much, and what killed writers left.
    pub fn expire(&self) {
        let now = SystemTime::now();
        let users = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        for user in users.filter(|user| user.file_type().is_ok_and(|kind| kind.is_dir())) {
            let mut kept = Vec::new();
            for (path, name, about) in files(&user.path()) {
                let age = about
                    .modified()
                    .ok()
                    .and_then(|at| now.duration_since(at).ok())
                    .unwrap_or_default();
                let is_abandoned = name.starts_with(PARTIAL) && age > ABANDONED && !is_locked(&path);
                if is_abandoned || age > MAX_AGE {
                    // A name in a folder of root's: what it stands for is removed, never what a link leads to.
                    let _ = std::fs::remove_file(&path);
                } else if name.starts_with(KEPT) {
                    kept.push((age, about.blocks() * 512, path));
                }
            }
            kept.sort();
            let mut bytes = 0;
            for (_, size, path) in kept {
                bytes += size;
                if bytes > MAX_BYTES {
                    let _ = std::fs::remove_file(&path);
                }
            }
        }
    }

    /// The folder of a user, made if it is not there: theirs, and closed to everybody else.
    pub fn folder_for(&self, owner: Owner) -> io::Result<Folder> {
        let path = folder_of(&self.path, owner.user);
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&path, flags, Mode::empty())?;
        let about = File::from(folder.try_clone()?).metadata()?;
        if about.uid() != owner.user {
            std::os::unix::fs::fchown(&folder, Some(owner.user), Some(owner.group))?;
        }
        if about.permissions().mode() & 0o077 != 0 {
            rustix::fs::fchmod(&folder, Mode::RWXU)?;
        }
        // Pages that are put aside belong on this disk; the temporary folder may be in memory.
        let _ = tempfile::env::override_temp_dir(&path);
        Ok(Folder(folder))
    }
}

impl Folder {
    /// Begins a core dump.
    pub fn partial(self, crash: &Crash<'_>) -> io::Result<Partial> {
        let plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
        let program: String = crash.name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
        let name = format!("{KEPT}{program}.{}.{}", crash.pid, crash.time);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file: File = openat(&self.0, format!(".{name}"), flags, Mode::RUSR | Mode::WUSR)?.into();
        // As long as it is locked, whoever waits for it knows that it is to come.
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Partial {
            folder: self.0,
            file,
            name,
            is_finished: false,
        })
    }
}

impl Partial {
    /// What is written to.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Forgets what was written.
    pub fn restart(&self) -> io::Result<()> {
        self.file.set_len(0)?;
        rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Start(0))?;
        Ok(())
    }

    /// Puts it in its place, once it is on disk.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        renameat(&self.folder, self.partial_name(), &self.folder, &self.name)?;
        self.is_finished = true;
        Ok(())
    }

    fn partial_name(&self) -> String {
        format!(".{}", self.name)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = unlinkat(&self.folder, self.partial_name(), AtFlags::empty());
        }
    }
}

fn files(folder: &Path) -> impl Iterator<Item = (PathBuf, String, Metadata)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let about = entry.metadata().ok().filter(Metadata::is_file)?;
        Some((entry.path(), entry.file_name().to_str()?.to_owned(), about))
    })
}

/// Whether whoever writes a file is still there.
fn is_locked(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
        .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_err())
}
