//! The files that a plugin is built of, by their digests: what changed since it was built, and one digest of them all.
//!
//! The tools of some languages never write the same bytes twice (a component of Python or JavaScript is a snapshot of an
//! interpreter that had been seeded), so two builds of the same sources are known by what they were built of.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};
use walkdir::{DirEntry, WalkDir};

use super::watch;

/// What of a project's own files is no part of its component, wherever it is: tests, and what they need.
const NOT_BUILT_OF: [&str; 4] = ["cases", "tests", "test", "mock"];
/// Extensions of what lies beside a project's sources for people, or was made of them, such as the result of a test.
const NO_SOURCES: [&str; 5] = ["log", "md", "wasm", "xml", "zip"];
/// What tools write while they build, that says of what they built: digested once they are through.
const LOCKS: [&str; 2] = ["Cargo.lock", "package-lock.json"];
/// Settings of cargo's, which is the one hidden folder that a component depends on.
const CARGO_SETTINGS: &str = ".cargo";
/// The folder of pages, which are packed and not built.
const PAGES: &str = "causes/";
/// The list of what a component was built of, in the form of `sha256sum`, beside it.
pub const LIST: &str = "build/made-of";

/// Files by their paths below a project's folder, each with its SHA-256.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources(BTreeMap<String, String>);

impl Sources {
    /// Sources that a component is built of.
    pub fn of_component(folder: &Path) -> anyhow::Result<Self> {
        Self::of(folder, |path| !path.starts_with(PAGES))
    }

    /// What a package is made of: that, and the pages.
    pub fn of_package(folder: &Path) -> anyhow::Result<Self> {
        Self::of(folder, |_| true)
    }

    fn of(folder: &Path, wanted: impl Fn(&str) -> bool) -> anyhow::Result<Self> {
        let mut files = BTreeMap::new();
        for entry in WalkDir::new(folder).into_iter().filter_entry(is_source) {
            let entry = entry.with_context(|| format!("can not look through {}", folder.display()))?;
            let path = entry.path().strip_prefix(folder).unwrap_or(entry.path());
            let path = path.to_string_lossy().into_owned();
            if entry.path().is_file() && wanted(&path) {
                let bytes =
                    fs::read(entry.path()).with_context(|| format!("can not read {}", entry.path().display()))?;
                files.insert(path, digest_of(&bytes));
            }
        }
        Ok(Self(files))
    }

    /// Those of a list that [`Self::list`] made; none where it can not be read.
    pub fn read(list: &Path) -> Option<Self> {
        let text = fs::read_to_string(list).ok()?;
        let rows = text.lines().map(|line| {
            let (sha256, path) = line.split_once("  ")?;
            Some((path.to_owned(), sha256.to_owned()))
        });
        rows.collect::<Option<_>>().map(Self)
    }

    /// These, with the locks as they are in others: what a build was made of, once it is through.
    #[must_use]
    pub fn with_locks_of(mut self, after: &Self) -> Self {
        let is_lock = |path: &str| LOCKS.contains(&path);
        self.0.retain(|path, _| !is_lock(path));
        let locks = after.0.iter().filter(|(path, _)| is_lock(path));
        self.0
            .extend(locks.map(|(path, sha256)| (path.clone(), sha256.clone())));
        self
    }

    /// What is other than it was, in words for a sentence; none where nothing is.
    pub fn changed_since(&self, before: &Self) -> Option<String> {
        let gone = before.0.keys().filter(|path| !self.0.contains_key(*path));
        let other = self
            .0
            .iter()
            .filter(|(path, sha256)| before.0.get(*path) != Some(sha256))
            .map(|(path, _)| path);
        let mut changed: Vec<_> = gone.chain(other).collect();
        changed.sort();
        let first = changed.first()?;
        Some(match changed.len() {
            1 => format!("{first} changed"),
            count => format!("{first} and {} more changed", count - 1),
        })
    }

    /// One digest for all of them.
    pub fn digest(&self) -> String {
        digest_of(self.list().as_bytes())
    }

    /// The list, in the form of `sha256sum`.
    pub fn list(&self) -> String {
        self.0.iter().fold(String::new(), |mut list, (path, sha256)| {
            let _ = writeln!(list, "{sha256}  {path}");
            list
        })
    }
}

/// SHA-256, lower-case hex.
pub fn digest_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Whether a component may depend on this file, or on files of this folder.
fn is_source(entry: &DirEntry) -> bool {
    if entry.depth() == 0 {
        return true;
    }
    let name = entry.file_name().to_string_lossy();
    let extension = entry.path().extension().unwrap_or_default();
    let is_beside = entry.depth() == 1 && NO_SOURCES.iter().any(|no_source| extension == *no_source);
    let is_tools = watch::OTHERS.contains(&name.as_ref()) && !LOCKS.contains(&name.as_ref());
    let is_hidden = name.starts_with('.') && name != CARGO_SETTINGS;
    !(is_beside || is_tools || is_hidden || NOT_BUILT_OF.contains(&name.as_ref()))
}
