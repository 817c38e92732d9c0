//! The versions of plugins that were published, the present one among them.
//!
//! Each plugin has a folder of the files that were published under its name, called by their SHA-256, and a list of
//! them, oldest first. A file is there before the list names it, and the list forgets it before it goes.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;
use whycrash_plugin_host::PluginInfo;

use crate::shelf::{Standing, clear_unfinished, is_name, write};

/// Versions of one plugin that are kept.
const KEPT: usize = 10;
/// The list in a plugin's folder.
const LIST: &str = "versions.json";

/// A version that was published.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct PublishedVersion {
    /// As the plugin says it; empty where it was never asked.
    pub version: String,
    /// SHA-256 of its file, lower-case hex.
    pub sha256: String,
    /// `zip` of a package, `wasm` of a component.
    pub extension: String,
    /// When it was published (RFC 3339); the last time, where that was done more than once.
    pub published: String,
    /// Who signed it, as [`PluginInfo::signed_by`] has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
}

/// The folder of those folders.
#[derive(Clone, Debug)]
pub struct History(PathBuf);

impl History {
    /// The folder, which is made where it is not there.
    pub fn open(folder: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        for plugin in fs::read_dir(&folder)? {
            let plugin = plugin?.path();
            if plugin.is_dir() {
                clear_unfinished(&plugin)?;
            }
        }
        Ok(Self(folder))
    }

    /// The versions of a plugin, oldest first. A list that was damaged is made anew from the files.
    pub fn of(&self, name: &str) -> io::Result<Vec<PublishedVersion>> {
        let folder = self.folder(name)?;
        let list = match fs::read(folder.join(LIST)) {
            Ok(list) => list,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        serde_json::from_slice(&list).or_else(|error| {
            tracing::warn!(plugin = name, %error, "the list of its versions is damaged: its files are listed anew");
            files(&folder)
        })
    }

    /// Adds a version as the newest; one that was there before becomes the newest again.
    pub fn add(&self, name: &str, info: &PluginInfo, extension: &str, bytes: &[u8]) -> io::Result<()> {
        let added = PublishedVersion {
            version: info.version.clone(),
            sha256: hex::encode(Sha256::digest(bytes)),
            extension: extension.to_owned(),
            published: Timestamp::now().to_string(),
            signed_by: info.signed_by.clone(),
        };
        let folder = self.folder(name)?;
        fs::create_dir_all(&folder)?;
        write(&folder, &file(&added), bytes)?;
        let mut versions = self.of(name)?;
        versions.retain(|earlier| earlier.sha256 != added.sha256);
        versions.push(added);
        write(&folder, LIST, &serde_json::to_vec_pretty(&versions)?)
    }

    /// Forgets the oldest versions when there are too many, but never the one that stood there before the present one:
    /// it may have to come back.
    pub fn trim(&self, name: &str, before: Option<&Standing>) -> io::Result<()> {
        let before = before.map(|(_, bytes)| hex::encode(Sha256::digest(bytes)));
        let mut versions = self.of(name)?;
        let mut surplus = versions.len().saturating_sub(KEPT);
        let old: Vec<_> = versions
            .extract_if(.., |version| {
                let goes = surplus > 0 && before.as_ref() != Some(&version.sha256);
                surplus -= usize::from(goes);
                goes
            })
            .collect();
        if old.is_empty() {
            return Ok(());
        }
        let folder = self.folder(name)?;
        write(&folder, LIST, &serde_json::to_vec_pretty(&versions)?)?;
        old.iter()
            .try_for_each(|version| fs::remove_file(folder.join(file(version))))
    }

    /// The version that was published before this one, with its file.
    pub fn before(&self, name: &str, standing: &Standing) -> io::Result<Option<(PublishedVersion, Vec<u8>)>> {
        let now = hex::encode(Sha256::digest(&standing.1));
        let versions = self.of(name)?;
        let at = versions.iter().position(|version| version.sha256 == now);
        let earlier = at.and_then(|at| at.checked_sub(1)).and_then(|at| versions.get(at));
        let Some(earlier) = earlier else { return Ok(None) };
        let bytes = fs::read(self.folder(name)?.join(file(earlier)))?;
        if hex::encode(Sha256::digest(&bytes)) != earlier.sha256 {
            return Err(io::Error::other(format!(
                "the file of {name} {} was changed",
                earlier.version
            )));
        }
        Ok(Some((earlier.clone(), bytes)))
    }

    /// Has these be the versions again, which were before one was added that shall not stay.
    pub fn go_back(&self, name: &str, versions: Vec<PublishedVersion>) -> io::Result<()> {
        let folder = self.folder(name)?;
        let added = self.of(name)?.into_iter().filter(|version| !versions.contains(version));
        let added: Vec<_> = added.map(|version| file(&version)).collect();
        if versions.is_empty() {
            return self.remove(name);
        }
        write(&folder, LIST, &serde_json::to_vec_pretty(&versions)?)?;
        let mut gone = added
            .iter()
            .filter(|name| !versions.iter().any(|version| file(version) == **name));
        gone.try_for_each(|name| fs::remove_file(folder.join(name)))
    }

    /// Forgets a plugin.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_dir_all(self.folder(name)?) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The plugins of which there are versions.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let folders: Vec<_> = fs::read_dir(&self.0)?.collect::<io::Result<_>>()?;
        let names = folders
            .iter()
            .map(|folder| folder.file_name().to_string_lossy().into_owned());
        Ok(names.filter(|name| is_name(name)).collect())
    }

    /// The files that may stand under the names of plugins, as lines of `sha256sum`.
    pub fn pins(&self) -> io::Result<String> {
        let mut lines = Vec::new();
        for name in self.names()? {
            let versions = self.of(&name)?.into_iter();
            lines.extend(versions.map(|version| format!("{}  {name}.{}\n", version.sha256, version.extension)));
        }
        lines.sort();
        Ok(lines.concat())
    }

    fn folder(&self, name: &str) -> io::Result<PathBuf> {
        if is_name(name) {
            return Ok(self.0.join(name));
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no name of a plugin"))
    }
}

fn file(version: &PublishedVersion) -> String {
    format!("{}.{}", version.sha256, version.extension)
}

/// The versions in a plugin's folder by their files alone, which are whole: in the order in which they were written.
fn files(folder: &Path) -> io::Result<Vec<PublishedVersion>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let (Some(sha256), Some(extension)) = (text(path.file_stem()), text(path.extension())) else {
            continue;
        };
        if extension == "json" || hex::encode(Sha256::digest(fs::read(&path)?)) != sha256 {
            continue;
        }
        let written = fs::metadata(&path)?.modified()?;
        let published = Timestamp::try_from(written).unwrap_or_default().to_string();
        found.push((
            written,
            PublishedVersion {
                sha256,
                extension,
                published,
                ..PublishedVersion::default()
            },
        ));
    }
    found.sort_by_key(|(written, _)| *written);
    Ok(found.into_iter().map(|(_, version)| version).collect())
}

fn text(name: Option<&OsStr>) -> Option<String> {
    Some(name?.to_str()?.to_owned())
}
