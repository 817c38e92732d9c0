//! Why a path leads to nothing that can be read, and what may be meant.

use std::ffi::OsStr;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use whycrash_evidence::nearest;

/// Names of a folder that are looked at.
const NAMES: usize = 10_000;

/// What is wrong with a path, and what to do.
pub fn explain(path: &Path, error: &Error) -> anyhow::Error {
    let shown = path.display();
    match error.kind() {
        ErrorKind::NotFound => anyhow::anyhow!("can not read {shown}: {}", not_found(path)),
        ErrorKind::PermissionDenied => anyhow::anyhow!("can not read {shown}: {}", not_allowed(path)),
        ErrorKind::NotADirectory => {
            anyhow::anyhow!("can not read {shown}: a part of that path is a file and no folder")
        }
        _ => anyhow::anyhow!("can not read {shown}: {error}"),
    }
}

fn not_found(path: &Path) -> String {
    if let Ok(target) = std::fs::read_link(path) {
        return format!("it is a link to {}, which is not there", target.display());
    }
    let folder = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return "there is nothing of that name".to_owned(),
    };
    if !folder.exists() {
        let there = path.ancestors().skip(1).find(|folder| folder.exists());
        let there = there
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        return format!("there is no folder {}; {} is there", folder.display(), there.display());
    }
    if path.to_string_lossy().contains(['*', '?']) {
        return "no file has a name like that".to_owned();
    }
    match path.file_name().and_then(|name| neighbour(folder, name)) {
        Some(other) => format!("there is no such file; did you mean {}?", other.display()),
        None => {
            "there is no such file: give a file that a crash left, a folder of them, or - for standard input".to_owned()
        }
    }
}

/// The file or folder whose name is meant, if one is near enough.
fn neighbour(folder: &Path, name: &OsStr) -> Option<PathBuf> {
    let name = name.to_string_lossy();
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .take(NAMES)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    // A file that was packed meanwhile begins with the old name.
    let is_longer = |other: &&String| other.strip_prefix(&*name).is_some_and(|rest| rest.starts_with('.'));
    let meant = match names.iter().find(is_longer) {
        Some(longer) => longer.as_str(),
        None => nearest(&name, names.iter().map(String::as_str))?,
    };
    let is_here = folder == Path::new(".");
    Some(if is_here {
        PathBuf::from(meant)
    } else {
        folder.join(meant)
    })
}

fn not_allowed(path: &Path) -> String {
    match std::fs::metadata(path) {
        Ok(about) => {
            let (mode, owner) = (about.mode() & 0o7777, about.uid());
            format!(
                "this user may not read it (its mode is {mode:04o}, its owner {owner}): run this as its owner, or with sudo"
            )
        }
        Err(_) => "this user may not look into a folder on the way: run this with sudo".to_owned(),
    }
}
