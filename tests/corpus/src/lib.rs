//! The labelled corpus: crashes with their true causes. `README.md` describes the form.
//!
//! In git the texts of a cause's cases stand in one archive. Whoever needs cases finds them laid out below [`folder`],
//! each in a folder of its own, as a crash leaves its artifacts.

pub mod archive;
mod keep;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Deserialize;

pub use keep::{digest, freeze, keep};

/// One labelled crash.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name of its folder.
    pub name: String,
    /// Where it lies.
    pub folder: PathBuf,
    /// What its `case.toml` says.
    pub label: Label,
}

/// How a case came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A program really ended so.
    Real,
    /// Somebody wrote it, after the documented wording of messages or a public report.
    Written,
}

/// What was said of a case before anything was made for it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstAnswer {
    /// The first finding's cause; empty where nothing was found.
    pub cause: String,
    /// How sure it was shown to be, from 0 to 1. Absent where that was not written down.
    pub confidence: Option<f64>,
    /// How sure its rule said it was, before that was made a share of right answers.
    pub said: Option<f64>,
    /// Commit of the program that said it.
    pub commit: String,
}

/// What a `case.toml` says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// Id of the true cause; empty when none should be found.
    pub cause: String,
    /// How the artifacts came to be.
    pub made: String,
    /// Versions of the programs that the artifacts were made with.
    pub versions: String,
    /// File names of the artifacts.
    pub artifacts: Vec<String>,
    /// The day on which it came into the corpus, such as `2026-11-29`.
    pub date: String,
    /// How it came to be.
    pub origin: Origin,
    /// What was said of it first; absent where nobody looked.
    pub first: Option<FirstAnswer>,
    /// Other causes that a fair judge would accept.
    #[serde(default)]
    pub alternatives: Vec<String>,
    /// How it is known that this is the cause, where the artifacts alone do not tell it.
    pub why: Option<String>,
    /// Causes that must not be named.
    #[serde(default)]
    pub expect_not: Vec<String>,
}

impl Case {
    /// The case of a folder.
    ///
    /// # Errors
    /// When the folder has no `case.toml`, or one that is not understood.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join("case.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let label = toml::from_str(&text).with_context(|| format!("parse {}", path.display()))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = folder.to_owned();
        Ok(Self { name, folder, label })
    }

    /// The artifacts: name and path of each.
    pub fn artifacts(&self) -> impl Iterator<Item = (&str, PathBuf)> {
        let names = self.label.artifacts.iter();
        names.map(|name| (name.as_str(), self.folder.join(name)))
    }

    /// Where the crashed program's own binaries are, if the case has them.
    pub fn binaries(&self) -> Option<PathBuf> {
        Some(self.folder.join("bin")).filter(|folder| folder.is_dir())
    }

    /// Whether all that it has is one log. Of these there are thousands, and only their text makes a difference.
    pub fn is_one_log(&self) -> bool {
        let is_log = |name: &String| {
            let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
            ending.is_some_and(|ending| ["log", "txt", "out", "err"].contains(&ending))
        };
        matches!(self.label.artifacts.as_slice(), [name] if is_log(name))
    }
}

/// Where the cases are laid out that causes are made with.
pub fn folder() -> &'static Path {
    Path::new(concat!(env!("OUT_DIR"), "/cases"))
}

/// The cases that answers are judged by, and nothing else: no page, rule or plugin is made or changed for one of them.
/// Only what comes of all together is ever told.
///
/// # Errors
/// On the first folder that is no case.
pub fn frozen() -> anyhow::Result<Vec<Case>> {
    below(Path::new(concat!(env!("OUT_DIR"), "/frozen")))
}

/// The case of this name.
///
/// # Panics
/// When there is none, or its label is not understood: whoever names a case in a test means one that is there.
pub fn case(name: &str) -> Case {
    Case::read(&folder().join(name)).unwrap_or_else(|error| panic!("{error:#}"))
}

/// All cases but the frozen ones, by name.
///
/// # Errors
/// On the first folder that is no case.
pub fn cases() -> anyhow::Result<Vec<Case>> {
    below(folder())
}

fn below(folder: &Path) -> anyhow::Result<Vec<Case>> {
    let folders = fs::read_dir(folder)?;
    let mut cases = folders
        .map(|entry| Case::read(&entry?.path()))
        .collect::<anyhow::Result<Vec<Case>>>()?;
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}
