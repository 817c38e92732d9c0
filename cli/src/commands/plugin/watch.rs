//! Doing something again whenever a file of a plugin's folder changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, SystemTime};

use walkdir::{DirEntry, WalkDir};

use crate::output::{self, Clean};

/// How often the folder is looked at.
const LOOK: Duration = Duration::from_millis(300);
/// What building and testing write themselves, and what tools fetch.
pub const OTHERS: [&str; 8] = [
    "build",
    "target",
    "node_modules",
    ".venv",
    ".git",
    "__pycache__",
    "Cargo.lock",
    "expected.json",
];

/// Does it once, and again after each change, for ever. What goes wrong is told.
pub fn run(folder: &Path, mut again: impl FnMut() -> anyhow::Result<ExitCode>) -> ! {
    loop {
        let before = files(folder);
        if let Err(error) = again() {
            output::tell(&Clean::from(format!("{error:#}")));
        }
        output::tell(&Clean::from("waiting for a change"));
        while files(folder) == before {
            thread::sleep(LOOK);
        }
    }
}

/// The files that are the author's, by what changes when they do.
fn files(folder: &Path) -> BTreeMap<PathBuf, (u64, Option<SystemTime>)> {
    let is_own = |entry: &DirEntry| entry.depth() == 0 || !OTHERS.iter().any(|other| entry.file_name() == *other);
    let entries = WalkDir::new(folder)
        .into_iter()
        .filter_entry(is_own)
        .filter_map(Result::ok);
    let told = entries.filter_map(|entry| {
        let about = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some((entry.path().to_owned(), (about.len(), about.modified().ok())))
    });
    told.collect()
}
