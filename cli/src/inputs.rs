//! From the paths of a command line to the artifacts of one report, and where its symbols and knowledge are.

mod address;
mod case;
mod missing;
mod stream;

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use whycrash_evidence::Artifact;

use self::case::{Left, NOT_LEFT};
use crate::config::Config;
use crate::report;

/// What minicores are called at their end.
const MINICORE: &str = ".minicore";

/// What a crash left, and where symbols and plugins are.
#[derive(Debug, clap::Args)]
pub struct Paths {
    /// Files a crash left, archives or folders of them, or - for standard input: all of them are one report; -1 for the
    /// last one that `run` kept here
    #[arg(required = true, value_name = "PATH", allow_negative_numbers = true)]
    pub paths: Vec<PathBuf>,
}

/// Where the knowledge for a diagnosis comes from, beside what is built in.
#[derive(Clone, Debug, Serialize, Deserialize, clap::Args)]
pub struct Knowledge {
    /// Folder searched for binaries and debug files, by build id and by name (again for more) [env: WHYCRASH_SYMBOLS]
    #[arg(long, value_name = "FOLDER")]
    pub symbols: Vec<PathBuf>,
    /// Folder of pages of causes beside the built-in ones (again for more) [env: WHYCRASH_KNOWLEDGE]
    #[cfg(feature = "diagnosis")]
    #[arg(long, value_name = "FOLDER")]
    pub knowledge: Vec<PathBuf>,
    /// Folder of plugins (*.wasm, *.zip) to run beside the built-in ones (again for more) [env: WHYCRASH_PLUGINS]
    #[cfg(feature = "diagnosis")]
    #[arg(long, value_name = "FOLDER")]
    pub plugins: Vec<PathBuf>,
}

/// Folders searched for symbols: flags, then `WHYCRASH_SYMBOLS`, then the settings file.
pub fn symbol_folders(flags: &[PathBuf], config: &Config) -> Vec<PathBuf> {
    folders(flags, "WHYCRASH_SYMBOLS", &config.symbols)
}

/// Folders of plugins: flags, then `WHYCRASH_PLUGINS`, then the settings file.
#[cfg(feature = "diagnosis")]
pub fn plugin_folders(flags: &[PathBuf], config: &Config) -> Vec<PathBuf> {
    folders(flags, "WHYCRASH_PLUGINS", &config.plugins)
}

/// Folders of pages of causes: flags, then `WHYCRASH_KNOWLEDGE`, then the settings file.
#[cfg(feature = "diagnosis")]
pub fn knowledge_folders(flags: &[PathBuf], config: &Config) -> Vec<PathBuf> {
    folders(flags, "WHYCRASH_KNOWLEDGE", &config.knowledge)
}

fn folders(flags: &[PathBuf], variable: &str, configured: &[PathBuf]) -> Vec<PathBuf> {
    let environment = std::env::var_os(variable).unwrap_or_default();
    let environment = std::env::split_paths(&environment).filter(|path| !path.as_os_str().is_empty());
    flags
        .iter()
        .cloned()
        .chain(environment)
        .chain(configured.iter().cloned())
        .collect()
}

/// What is uploaded of the files at these paths: where there is a stand-in for a file, that.
pub fn to_upload(paths: &[PathBuf]) -> anyhow::Result<Vec<Artifact>> {
    let mut artifacts = from_paths(paths)?;
    for artifact in &mut artifacts {
        let small = stand_in(&artifact.path);
        if small.is_file() {
            artifact.path = small;
        }
    }
    Ok(artifacts)
}

/// Where the minicore of a core dump is that is too large to be uploaded: a hidden file beside it.
pub fn stand_in(core: &Path) -> PathBuf {
    core.with_file_name(format!(".{}{MINICORE}", file_name(core)))
}

/// An argument that can not be meant.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongUsage(pub String);

/// What is at these paths as one report. A folder stands for all files in it, hidden ones left out, and `-` for standard
/// input.
///
/// # Errors
/// When a path leads to nothing that can be read.
pub fn from_paths(paths: &[PathBuf]) -> anyhow::Result<Vec<Artifact>> {
    let mut given = Vec::new();
    let kept = paths
        .iter()
        .map(|path| Ok(report::kept(path)?.unwrap_or_else(|| path.clone())));
    let paths = &kept.collect::<anyhow::Result<Vec<_>>>()?;
    for path in paths {
        given.extend(artifacts_at(path)?);
    }
    Ok(distinct(given))
}

/// Where `whycrash core shrink` puts the minicore of a core dump, unless somebody says otherwise.
pub fn minicore_beside(core: &Path) -> PathBuf {
    core.with_file_name(format!("{}{MINICORE}", file_name(core)))
}

/// Whether this is a minicore whose core dump is in the folder too: it tells nothing that the core dump does not.
fn is_beside_its_core(path: &Path) -> bool {
    let name = file_name(path);
    name.strip_suffix(MINICORE)
        .is_some_and(|core| !core.is_empty() && path.with_file_name(core).is_file())
}

fn artifacts_at(path: &Path) -> anyhow::Result<Vec<Artifact>> {
    if stream::is_standard_input(path) {
        return Ok(vec![stream::standard_input(COMMAND)?]);
    }
    if let Some(advice) = address::advice(path, COMMAND) {
        return Err(WrongUsage(advice).into());
    }
    let about = std::fs::metadata(path).map_err(|error| missing::explain(path, &error))?;
    let kind = about.file_type();
    if kind.is_dir() {
        files_of(path)
    } else if kind.is_fifo() {
        Ok(vec![stream::pipe(path)?])
    } else if kind.is_file() {
        File::open(path).map_err(|error| missing::explain(path, &error))?;
        Ok(vec![file(path)])
    } else {
        let what = if kind.is_socket() { "a socket" } else { "a device" };
        bail!(
            "can not read {}: it is {what}; give a file that a crash left, or a folder of them",
            path.display()
        )
    }
}

/// How this program is asked to read a crash, in examples.
const COMMAND: &str = "whycrash diagnose";

fn file(path: &Path) -> Artifact {
    Artifact::new(file_name(path), path)
}

/// What a crash left in a folder.
fn files_of(folder: &Path) -> anyhow::Result<Vec<Artifact>> {
    let left = Left::of(folder)?;
    if let Left::Named(named) = &left {
        return Ok(named.iter().map(|path| file(path)).collect());
    }
    let (mut files, hidden) = files_below(folder)?;
    if matches!(left, Left::AllButCase) {
        files.retain(|path| path.parent() != Some(folder) || !NOT_LEFT.contains(&file_name(path).as_str()));
    }
    match (files.is_empty(), hidden.first()) {
        (false, _) => Ok(files.iter().map(|path| file(path)).collect()),
        (true, Some(hidden)) => bail!(
            "no file to read in {}: it has hidden files alone, such as {}, which are left out unless they are given by name",
            folder.display(),
            hidden.display()
        ),
        (true, None) => bail!(
            "no file to read in {}: give the folder that has what the crash left",
            folder.display()
        ),
    }
}

/// All files below a folder in the order of their paths, and what is hidden. A minicore beside its core dump is left
/// out.
fn files_below(folder: &Path) -> anyhow::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut files, mut hidden) = (Vec::new(), Vec::new());
    let is_seen = |entry: &walkdir::DirEntry| {
        let is_hidden = entry.depth() > 0 && entry.file_name().as_encoded_bytes().starts_with(b".");
        if is_hidden {
            hidden.push(entry.path().to_owned());
        }
        !is_hidden
    };
    for entry in walkdir::WalkDir::new(folder)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(is_seen)
    {
        let entry = entry.with_context(|| {
            format!(
                "can not list {}: run this as the owner of what is in it, or give the files that can be read",
                folder.display()
            )
        })?;
        if entry.file_type().is_file() && !is_beside_its_core(entry.path()) {
            files.push(entry.into_path());
        }
    }
    Ok((files, hidden))
}

/// Artifacts with names of their own: a file given twice counts once, and two files of one name get numbers.
fn distinct(given: Vec<Artifact>) -> Vec<Artifact> {
    let mut paths = HashSet::new();
    let mut names = HashSet::new();
    let mut artifacts = Vec::new();
    for mut artifact in given {
        if !paths.insert(std::fs::canonicalize(&artifact.path).unwrap_or_else(|_| artifact.path.clone())) {
            continue;
        }
        artifact.name = free_name(&artifact.name, &names);
        names.insert(artifact.name.clone());
        artifacts.push(artifact);
    }
    artifacts
}

/// The name itself, or `stem-2.extension` and so on: names that a server leaves as they are.
pub fn free_name(name: &str, taken: &HashSet<String>) -> String {
    let (stem, extension) = match name.rfind('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        _ => (name, ""),
    };
    let numbered = (2_u32..).map(|number| format!("{stem}-{number}{extension}"));
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| !taken.contains(name))
        .unwrap_or_default()
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}
