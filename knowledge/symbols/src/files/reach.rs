//! Which files a crash may lead to.

use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use crate::files::regular::{self, MAX_FILE, RegularFile};

/// Folders that hold no binaries, whatever a crash says.
const NO_FILES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The symbol folders, and this machine's own files where they may be used.
#[derive(Debug)]
pub(crate) struct Reach {
    folders: Vec<PathBuf>,
    /// How many of the folders are listed; the last may be a store, whose files are found by their ids.
    listed: usize,
    local_files: bool,
}

impl Reach {
    /// These folders, and where `local_files` allows it any other place too.
    pub(crate) fn new(folders: Vec<PathBuf>, store: Option<PathBuf>, local_files: bool) -> Self {
        // An empty part of a list of folders is not the working directory.
        let folders = folders.into_iter().filter(|folder| !folder.as_os_str().is_empty());
        // A relative folder is one of the working directory that the program was started in.
        let absolute = |folder: PathBuf| std::path::absolute(&folder).unwrap_or(folder);
        let mut folders: Vec<PathBuf> = folders.map(absolute).collect();
        let listed = folders.len();
        folders.extend(store.map(absolute));
        Self {
            folders,
            listed,
            local_files,
        }
    }

    /// The symbol folders in which files are found by name too.
    pub(crate) fn listed_folders(&self) -> &[PathBuf] {
        self.folders.get(..self.listed).unwrap_or_default()
    }

    /// The symbol folders, the store included.
    pub(crate) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Whether this machine's own files may be used.
    pub(crate) fn local_files(&self) -> bool {
        self.local_files
    }

    /// Whether a path is in one of the symbol folders.
    pub(crate) fn is_in_folders(&self, path: &Path) -> bool {
        let below = |folder: &PathBuf| path.strip_prefix(folder).is_ok_and(is_plain);
        self.folders.iter().any(below)
    }

    /// Looks up a binary or debug file that may be used.
    ///
    /// # Errors
    /// When it is out of reach, which is told without looking at it, or is none that [`regular::find_regular`] takes.
    pub(crate) fn find(&self, path: &Path) -> io::Result<RegularFile> {
        if !self.allows(path) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let file = regular::find_regular(path, MAX_FILE)?;
        // Links in the folders are the administrator's, but where they lead is this machine's again.
        if !self.local_files && !self.is_really_in_folders(&file) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        Ok(file)
    }

    fn allows(&self, path: &Path) -> bool {
        let is_file = || is_plain(path) && !NO_FILES.iter().any(|folder| path.starts_with(folder));
        self.is_in_folders(path) || self.local_files && path.is_absolute() && is_file()
    }

    fn is_really_in_folders(&self, file: &RegularFile) -> bool {
        let Ok(real) = file.real_path() else { return false };
        let mut folders = self.folders.iter().filter_map(|folder| folder.canonicalize().ok());
        folders.any(|folder| real.starts_with(folder))
    }
}

/// Whether every part of a path goes down: one that the kernel tells has no `..`.
fn is_plain(path: &Path) -> bool {
    path.components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

/// A path without its `.` and `..`, as debug files write those of others.
pub(crate) fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                tidy.pop();
            }
            Component::CurDir => {}
            part => tidy.push(part),
        }
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_below_a_folder_is_in_reach_without_local_files() {
        let reach = |local_files| Reach::new(vec!["/srv/symbols".into(), PathBuf::new()], None, local_files);
        let cases = [
            ("/srv/symbols/a/b.debug", true, true),
            ("/srv/symbols/../a.debug", false, false),
            ("/srv/symbols2/a.debug", false, true),
            ("/usr/lib/libc.so.6", false, true),
            ("/usr/lib/../lib/libc.so.6", false, false),
            ("libc.so.6", false, false),
            ("", false, false),
            ("/proc/self/exe", false, false),
            ("/dev/zero", false, false),
            ("/sys/kernel/notes", false, false),
        ];
        for (path, given, local) in cases {
            assert_eq!(reach(false).allows(Path::new(path)), given, "{path}");
            assert_eq!(reach(true).allows(Path::new(path)), local, "{path}");
        }
    }

    #[test]
    fn paths_are_tidied() {
        let cases = [
            ("/usr/lib/debug/ab/../../x", "/usr/lib/x"),
            ("/a/./b//c", "/a/b/c"),
            ("/../../etc/passwd", "/etc/passwd"),
        ];
        for (path, expected) in cases {
            assert_eq!(tidy(Path::new(path)), Path::new(expected), "{path}");
        }
    }
}
