//! Putting into one place what a crash left. What can not be kept is diagnosed all the same, from where it is or from
//! memory.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustix::fs::SeekFrom;
use whycrash_evidence::Artifact;

use super::folder::Folder;
use super::handover::{in_memory, path_of};
use crate::collect::Missing;

/// What a report is made of.
#[derive(Debug)]
pub struct Artifacts {
    folder: Option<Folder>,
    kept: Vec<Artifact>,
    /// Files that are nowhere but in memory, for as long as they are open.
    in_memory: Vec<File>,
    /// Files that are not ours to leave where they are.
    to_remove: Vec<PathBuf>,
    /// What could not be kept.
    pub problems: Vec<Missing>,
}

/// How a file gets into the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// It stays where it is.
    Copy,
    /// It does not.
    Move,
}

impl Artifacts {
    pub fn new(folder: Option<Folder>) -> Self {
        Self {
            folder,
            kept: Vec::new(),
            in_memory: Vec::new(),
            to_remove: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Where files are put, if there is such a place.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_ref().map(Folder::path)
    }

    /// Keeps bytes under a name.
    pub fn put(&mut self, name: &str, bytes: &[u8]) {
        let written = self.target(name).and_then(|path| write(&path, bytes).map(|()| path));
        let path = written.or_else(|error| {
            self.problems.push(not_kept(name, &error));
            self.remember(name, bytes)
        });
        if let Ok(path) = path {
            self.kept.push(Artifact::new(name.to_owned(), path));
        }
    }

    /// Keeps a file under a name, or under that with a number if there is one of it.
    pub fn take(&mut self, file: &Path, name: &str, how: Keep) {
        let taken = self.kept.iter().map(|artifact| artifact.name.clone()).collect();
        let name = &*crate::inputs::free_name(name, &taken);
        let kept = self.target(name).and_then(|target| {
            if file != target {
                transfer(file, &target, how)?;
            }
            Ok(target)
        });
        let path = kept.unwrap_or_else(|error| {
            self.problems.push(not_kept(name, &error));
            if how == Keep::Move {
                self.to_remove.push(file.to_owned());
            }
            file.to_owned()
        });
        self.kept.push(Artifact::new(name.to_owned(), path));
    }

    /// All of it, in the order of the names.
    pub fn all(&self) -> Vec<Artifact> {
        let mut all = self.kept.clone();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// The core dumps among it that are in the folder.
    pub fn cores(&self) -> impl Iterator<Item = &Artifact> {
        let folder = self.folder();
        let is_core = |name: &str| name == "core" || name.starts_with("core.");
        let cores = self.kept.iter().filter(move |artifact| is_core(&artifact.name));
        cores.filter(move |artifact| folder.is_some_and(|folder| artifact.path.starts_with(folder)))
    }

    /// Gives the folder the report's name; the artifacts as they are then, and the folder, or why there is none.
    pub fn settle(mut self, id: &str) -> (Vec<Artifact>, std::io::Result<PathBuf>, Leftovers) {
        let mut artifacts = self.all();
        let settled = match self.folder.take() {
            Some(folder) => {
                let before = folder.path().to_owned();
                folder
                    .settle(id)
                    .inspect(|after| follow(&mut artifacts, &before, after))
            }
            None => Err(std::io::ErrorKind::StorageFull.into()),
        };
        let leftovers = Leftovers {
            _in_memory: self.in_memory,
            to_remove: self.to_remove,
        };
        (artifacts, settled, leftovers)
    }

    fn target(&self, name: &str) -> std::io::Result<PathBuf> {
        let folder = self.folder().ok_or(std::io::ErrorKind::StorageFull)?;
        Ok(folder.join(name))
    }

    fn remember(&mut self, name: &str, bytes: &[u8]) -> std::io::Result<PathBuf> {
        let mut file = in_memory(name)?;
        file.write_all(bytes)?;
        let path = path_of(&file);
        self.in_memory.push(file);
        Ok(path)
    }
}

/// Tells artifacts that their folder has another name.
fn follow(artifacts: &mut [Artifact], before: &Path, after: &Path) {
    for artifact in artifacts {
        if let Ok(inside) = artifact.path.strip_prefix(before) {
            artifact.path = after.join(inside);
        }
    }
}

/// What goes when nobody needs the artifacts any more.
#[derive(Debug)]
pub struct Leftovers {
    _in_memory: Vec<File>,
    to_remove: Vec<PathBuf>,
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        for path in &self.to_remove {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Nothing of a file that could not be written whole stays.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let written = File::create(path).and_then(|mut file| file.write_all(bytes));
    written.inspect_err(|_| drop(std::fs::remove_file(path)))
}

fn transfer(file: &Path, target: &Path, how: Keep) -> std::io::Result<()> {
    if how == Keep::Move && std::fs::rename(file, target).is_ok() {
        return Ok(());
    }
    copy_sparse(file, target).inspect_err(|_| drop(std::fs::remove_file(target)))?;
    if how == Keep::Move {
        std::fs::remove_file(file)?;
    }
    Ok(())
}

/// Copies a file without filling its holes: most of a core dump is such.
fn copy_sparse(from: &Path, to: &Path) -> std::io::Result<()> {
    use std::io::{Read, Seek as _};
    let mut from = File::open(from)?;
    let mut to = File::create(to)?;
    let end = from.metadata()?.len();
    to.set_len(end)?;
    let mut at = 0;
    while at < end {
        let data = match rustix::fs::seek(&from, SeekFrom::Data(at)) {
            Ok(data) => data,
            Err(rustix::io::Errno::NXIO) => break,
            // A file system that does not know holes has data everywhere.
            Err(_) => at,
        };
        let hole = rustix::fs::seek(&from, SeekFrom::Hole(data)).unwrap_or(end);
        from.seek(std::io::SeekFrom::Start(data))?;
        to.seek(std::io::SeekFrom::Start(data))?;
        std::io::copy(&mut Read::by_ref(&mut from).take(hole - data), &mut to)?;
        at = hole;
    }
    Ok(())
}

fn not_kept(name: &str, error: &std::io::Error) -> Missing {
    Missing::new(
        name,
        format!("it was diagnosed, but could not be kept: {error}"),
        "make room where reports are kept, or give `run` another folder with --output",
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};

    use super::copy_sparse;

    #[test]
    fn holes_stay_holes() {
        let folder = tempfile::tempdir().expect("a folder");
        let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
        let file = std::fs::File::create(&from).expect("a file");
        file.set_len(64 << 20).expect("a hole");
        for place in [0, 5 << 20, (64 << 20) - 6] {
            file.write_at(b"island", place).expect("an island");
        }
        copy_sparse(&from, &to).expect("a copy");
        assert!(std::fs::read(&from).expect("bytes") == std::fs::read(&to).expect("bytes"));
        let taken = to.metadata().expect("it is there").blocks() * 512;
        assert!(taken < 1 << 20, "{taken} bytes on disk");
    }
}
