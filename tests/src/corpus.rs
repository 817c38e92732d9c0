//! The labelled corpus: real crashes, each in a folder of its own with its true cause. `tests/corpus/README.md`
//! describes the form.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Deserialize;
use whycrash_evidence::Artifact;

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

/// What a `case.toml` says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// Id of the true cause; empty when none should be found.
    pub cause: String,
    /// How the artifacts came to be.
    pub made: String,
    /// What they were made with.
    pub versions: String,
    /// File names of the artifacts.
    pub artifacts: Vec<String>,
    /// Whether the artifacts were written from the documented grammar of messages, and no crash left them.
    #[serde(default)]
    pub synthetic: bool,
    /// Causes that must not be named.
    #[serde(default)]
    pub expect_not: Vec<String>,
    /// What was said first of it before any rule was written or changed for it: a cause, or `""` for nothing. Absent
    /// where nobody looked.
    pub first_try: Option<String>,
}

impl Case {
    /// The artifacts, ready to be read.
    pub fn artifacts(&self) -> Vec<Artifact> {
        self.label
            .artifacts
            .iter()
            .map(|name| Artifact::new(name, self.folder.join(name)))
            .collect()
    }

    /// Where the crashed program's own binaries are, if the case has them.
    pub fn binaries(&self) -> Option<PathBuf> {
        Some(self.folder.join("bin")).filter(|folder| folder.is_dir())
    }
}

/// The folder of the corpus in this checkout.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// All cases, by name. Fails on the first folder that is no case.
pub fn cases() -> anyhow::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for entry in fs::read_dir(folder())? {
        let folder = entry?.path();
        if folder.is_dir() {
            cases.push(read(folder)?);
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

fn read(folder: PathBuf) -> anyhow::Result<Case> {
    let path = folder.join("case.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let label = toml::from_str(&text).with_context(|| format!("parse {}", path.display()))?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Case { name, folder, label })
}
