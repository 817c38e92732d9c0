//! The one way in which this crate opens files.
//!
//! What is opened here has names that a crash, a binary or a debug file gave. Such a name may lead to a FIFO that
//! nobody writes to, to a device that does something when it is opened, to what the kernel makes up while it is read,
//! or to terabytes of nothing. So a path is looked up without opening what it leads to, and only a regular file of
//! bounded size, on a file system that keeps files, is opened then: the very one that was looked at.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::libc;
use nix::sys::statfs::fstatfs;

/// Longest binary or debug file that is opened; debug builds of the largest libraries have some 10 GiB.
pub(crate) const MAX_FILE: u64 = 16 << 30;

/// File systems whose regular files are no files, but the kernel answering: `linux/magic.h`.
const PSEUDO: [i64; 14] = [
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0x6265_6570, // configfs
    0x6165_676c, // pstore
    0xde5e_81e4, // efivarfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0xcafe_4a11, // bpf
    0x4249_4e4d, // binfmt_misc
    0xf97c_ff8c, // selinux
    0x0bad_1dea, // futexfs
];

/// Which file it is, and which version of it: another one at the same path has another identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A regular file of bounded size, known but not opened for reading yet.
#[derive(Debug)]
pub(crate) struct RegularFile {
    path: PathBuf,
    /// Opened with `O_PATH`: it stands for the file and can not be read.
    handle: File,
    identity: Identity,
}

impl Identity {
    fn of(about: &Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            bytes: about.len(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }
}

/// Looks a path up, and refuses what is no regular file, or one of more than `limit` bytes
/// ([`ErrorKind::FileTooLarge`]). Nothing is opened yet: [`RegularFile::open`] does that.
pub(crate) fn find_regular(path: &Path, limit: u64) -> io::Result<RegularFile> {
    let handle = open(path, libc::O_PATH)?;
    let about = handle.metadata()?;
    if !about.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    let kind = fstatfs(&handle)?.filesystem_type().0;
    if PSEUDO.contains(&kind) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no file of a disk"));
    }
    if about.len() > limit {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok(RegularFile {
        path: path.to_owned(),
        identity: Identity::of(&about),
        handle,
    })
}

impl RegularFile {
    /// The path it was asked for by.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Which file it is.
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// Its size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.identity.bytes
    }

    /// Where it is once every link is followed; nothing where `/proc` is not there to tell.
    pub(crate) fn real_path(&self) -> io::Result<PathBuf> {
        std::fs::read_link(self.in_proc())
    }

    /// Opens it for reading.
    pub(crate) fn open(&self) -> io::Result<File> {
        // Nobody can put another file in its place here, as at its path.
        match open(&self.in_proc(), libc::O_NONBLOCK | libc::O_NOCTTY) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.open_by_path(),
            opened => opened,
        }
    }

    /// Where there is no `/proc`: by its path, and only if that still leads to it.
    fn open_by_path(&self) -> io::Result<File> {
        let file = open(&self.path, libc::O_NONBLOCK | libc::O_NOCTTY)?;
        if Identity::of(&file.metadata()?) != self.identity {
            return Err(io::Error::new(ErrorKind::NotFound, "another file took its place"));
        }
        Ok(file)
    }

    fn in_proc(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that opens files")]
fn open(path: &Path, flags: i32) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(flags | libc::O_CLOEXEC)
        .open(path)
}
