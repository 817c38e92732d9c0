//! A folder in which a plugin is written.

use std::fs;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use serde::Deserialize;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::sources::Sources;

/// A language that plugins are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// Rust, with the SDK
    Rust,
    /// Python, with componentize-py from PyPI
    Python,
    /// JavaScript, with componentize-js from npm
    #[value(alias = "javascript")]
    #[serde(alias = "javascript")]
    Js,
    /// TypeScript, with componentize-js from npm
    #[value(alias = "typescript")]
    #[serde(alias = "typescript")]
    Ts,
    /// C, with the compiler of ziglang from PyPI
    C,
}

/// What `plugin.toml` says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    name: String,
    language: Language,
}

/// A folder in which a plugin is written.
#[derive(Clone, Debug)]
pub struct Project {
    pub folder: PathBuf,
    pub name: String,
    pub language: Language,
}

impl Project {
    /// The project in a folder, known by its `plugin.toml`.
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join("plugin.toml");
        let text = fs::read_to_string(&path).with_context(|| {
            format!(
                "{} can not be read: `whycrash plugin new` makes a folder with one, and the other commands run in it",
                path.display()
            )
        })?;
        let manifest: Manifest = toml::from_str(&text).with_context(|| format!("{} does not parse", path.display()))?;
        check_name(&manifest.name)?;
        Ok(Self {
            folder: fs::canonicalize(folder)?,
            name: manifest.name,
            language: manifest.language,
        })
    }

    /// Where its component is built to.
    pub fn component(&self) -> PathBuf {
        self.folder.join("build/plugin.wasm")
    }

    /// Where its package is built to: what is tried, handed on and published.
    pub fn package(&self) -> PathBuf {
        self.folder.join("build").join(format!("{}.zip", self.name))
    }

    /// Puts the component and the pages of its own causes into one file. The same files give the same bytes.
    pub fn pack(&self) -> anyhow::Result<Vec<u8>> {
        let component = self.component();
        let component = fs::read(&component)
            .with_context(|| format!("{} is not there: run `whycrash plugin build`", component.display()))?;
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let mut add = |name: &str, bytes: &[u8]| -> anyhow::Result<()> {
            zip.start_file(name, SimpleFileOptions::default())?;
            zip.write_all(bytes)?;
            Ok(())
        };
        let made_of = self.sources()?;
        add(
            "plugin.toml",
            format!("name = {:?}\nsources = {made_of:?}\n", self.name).as_bytes(),
        )?;
        add("plugin.wasm", &component)?;
        for page in self.pages()? {
            let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
            add(&format!("causes/{name}"), &fs::read(&page)?)?;
        }
        Ok(zip.finish()?.into_inner())
    }

    /// One digest of all that its package is made of. Two packages with the same say the same, whatever their bytes are.
    pub fn sources(&self) -> anyhow::Result<String> {
        Ok(Sources::of_package(&self.folder)?.digest())
    }

    /// Whether it is built of files that are not in its folder, of which nobody here knows whether they changed.
    pub fn builds_elsewhere(&self) -> bool {
        let manifest = fs::read_to_string(self.folder.join("Cargo.toml")).ok();
        let manifest = manifest.filter(|_| self.language == Language::Rust);
        let manifest = manifest.and_then(|text| toml::from_str::<toml::Table>(&text).ok());
        manifest.is_some_and(|manifest| leads_outside(&toml::Value::Table(manifest)))
    }

    /// The files right in its folder with one of these extensions.
    pub fn files_with(&self, extensions: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
        files_with(&self.folder, extensions)
    }

    /// The pages of its causes, by name.
    pub fn pages(&self) -> anyhow::Result<Vec<PathBuf>> {
        let folder = self.folder.join("causes");
        if !folder.is_dir() {
            return Ok(Vec::new());
        }
        files_with(&folder, &["md"])
    }
}

/// Whether something in a manifest of cargo's names a folder above that of the manifest, or from the root.
fn leads_outside(manifest: &toml::Value) -> bool {
    match manifest {
        toml::Value::Table(table) => table.iter().any(|(key, value)| match value.as_str() {
            Some(path) => key == "path" && (path.starts_with("..") || path.starts_with('/')),
            None => leads_outside(value),
        }),
        toml::Value::Array(entries) => entries.iter().any(leads_outside),
        _ => false,
    }
}

/// The files of a folder with one of these extensions, by name.
fn files_with(folder: &Path, extensions: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let files = fs::read_dir(folder)?.map(|file| Ok(file?.path()));
    let mut files = files.collect::<std::io::Result<Vec<PathBuf>>>()?;
    files.retain(|file| {
        let extension = file.extension().unwrap_or_default();
        extensions.iter().any(|wanted| extension == *wanted)
    });
    files.sort();
    Ok(files)
}

/// Names are part of addresses, files and ids.
pub fn check_name(name: &str) -> anyhow::Result<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins_well = name.starts_with(|c: char| c.is_ascii_lowercase());
    if begins_well && name.len() <= 40 && name.chars().all(is_plain) && !name.ends_with('-') && !name.contains("--") {
        return Ok(());
    }
    bail!(
        "{name:?} is no name for a plugin: take lower-case words joined by hyphens, such as team-licences, 40 letters at most"
    )
}
