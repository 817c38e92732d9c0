//! Plugin packages: a component, and the pages of causes of its own.
//!
//! A package is a zip file with `plugin.toml` (`name = "…"`), `plugin.wasm`, and `causes/ID.md` for each cause that
//! it brings; it may be signed (`signing.rs`). Nothing of it is ever written to disk: each file is asked for by its
//! exact name and read up to a bound. Other files, such as a licence, may be in there and have no effect; `archive.rs`
//! holds all of them to a form in which everybody sees the same files.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use whycrash_catalog::{Catalog, Cause};
use whycrash_evidence::printable_lines;

use crate::archive::{Archive, is_package};
use crate::sandbox::{PluginError, PluginLimits, clean, cut};
use crate::signing::{self, PublicKey};

/// Pages that a package may bring, and bytes of one.
const PAGES: usize = 200;
const PAGE_BYTES: usize = 256 << 10;
/// The files that every package has, and where its pages are.
const MANIFEST: &str = "plugin.toml";
const COMPONENT: &str = "plugin.wasm";
const FOLDER: &str = "causes/";
/// Letters of a SHA-256 in hex.
const DIGEST_CHARS: usize = 64;
/// Bytes of `plugin.toml`, and of a signature.
const MANIFEST_BYTES: usize = 64 << 10;

/// What a file of a plugin holds.
#[derive(Debug, Default)]
pub(crate) struct Package {
    /// The plugin's name by the manifest; none of a bare component.
    pub(crate) name: Option<String>,
    /// Digest of the sources that it was built of, by the manifest.
    pub(crate) sources: Option<String>,
    pub(crate) component: Vec<u8>,
    /// The pages it brings.
    pub(crate) pages: Vec<Cause>,
    /// The key that signed it.
    pub(crate) signed_by: Option<PublicKey>,
}

#[derive(Deserialize)]
struct Manifest {
    name: String,
    sources: Option<String>,
}

impl Package {
    /// What these bytes hold: a package, or else a component and nothing more.
    pub(crate) fn open(bytes: Vec<u8>, catalog: &Catalog, limits: &PluginLimits) -> Result<Self, PluginError> {
        if !is_package(&bytes) {
            return Ok(Self {
                component: bytes,
                ..Self::default()
            });
        }
        let archive = Archive::open(bytes).map_err(refused)?;
        let mut contents = contents_of(&archive, limits.component_bytes)?;
        let signed_by = signer(&archive, &contents)?;
        let manifest = text(MANIFEST, contents.remove(MANIFEST).unwrap_or_default())?;
        let Manifest { name, sources } =
            toml::from_str(&manifest).map_err(|error| refused(format!("its plugin.toml does not parse: {error}")))?;
        let component = contents.remove(COMPONENT).unwrap_or_default();
        let pages = pages(contents, &name, catalog)?;
        Ok(Self {
            name: Some(name),
            sources: sources.map(|sources| cut(&sources, DIGEST_CHARS)),
            component,
            pages,
            signed_by,
        })
    }
}

/// The files of a package that are used, by their names.
type Contents = BTreeMap<String, Vec<u8>>;

/// The files of a package that are used, whatever they hold.
pub(crate) fn contents(archive: &Archive) -> Result<Contents, PluginError> {
    contents_of(archive, PluginLimits::default().component_bytes)
}

fn contents_of(archive: &Archive, component_bytes: usize) -> Result<Contents, PluginError> {
    let pages: Vec<&str> = archive.names().filter(|path| is_page(path)).collect();
    if pages.len() > PAGES {
        return Err(refused(format!(
            "it brings {} pages, more than the {PAGES} that are allowed",
            pages.len()
        )));
    }
    let fixed = [(MANIFEST, MANIFEST_BYTES), (COMPONENT, component_bytes)];
    let wanted = fixed
        .into_iter()
        .chain(pages.into_iter().map(|page| (page, PAGE_BYTES)));
    wanted
        .map(|(name, most)| Ok((name.to_owned(), archive.read(name, most).map_err(refused)?)))
        .collect()
}

/// Which key signed these contents; a signature that does not fit them is worse than none.
fn signer(archive: &Archive, contents: &Contents) -> Result<Option<PublicKey>, PluginError> {
    if !archive.has(signing::FILE) {
        return Ok(None);
    }
    let signature = archive.read(signing::FILE, MANIFEST_BYTES).map_err(refused)?;
    let text = text(signing::FILE, signature)?;
    signing::signed_by(&text, contents).map(Some).map_err(refused)
}

/// The pages of a package: each whole, under a name of the plugin's own, with links that lead somewhere.
pub(crate) fn pages(contents: Contents, plugin: &str, catalog: &Catalog) -> Result<Vec<Cause>, PluginError> {
    let mut read = Vec::new();
    for (path, bytes) in contents {
        let text = text(&path, bytes)?;
        let page = whycrash_catalog::parse(path.trim_start_matches(FOLDER), &text).map_err(|fault| {
            refused(format!(
                "its page {}, line {}: {}",
                fault.file, fault.line, fault.message
            ))
        })?;
        let is_foreign = |id: &&String| !id.strip_prefix(plugin).is_some_and(|rest| rest.starts_with('-'));
        if let Some(id) = page.also.iter().chain([&page.id]).find(is_foreign) {
            let reason = format!(
                "its cause {} does not begin with the plugin's name: {plugin}-…",
                cut(id, 80)
            );
            return Err(refused(reason));
        }
        if is_hiding(&serde_json::to_value(&page).unwrap_or_default()) {
            let reason = format!(
                "its page {} has characters that are not seen, or act on a terminal",
                page.id
            );
            return Err(refused(reason));
        }
        if !page.recognise.is_empty() {
            let reason = format!(
                "its page {} has recognise tables, which only pages of knowledge folders have: the plugin itself recognises",
                page.id
            );
            return Err(refused(reason));
        }
        read.push((page, text));
    }
    let documents: Vec<(&Cause, &str)> = read.iter().map(|(page, text)| (page, text.as_str())).collect();
    if let Some(fault) = catalog.check_more(&documents, &[]).first() {
        return Err(refused(format!(
            "its page {}, line {}: {}",
            fault.file, fault.line, fault.message
        )));
    }
    let origin = |(page, _)| Cause {
        origin: format!("plugin {plugin}"),
        ..page
    };
    Ok(read.into_iter().map(origin).collect())
}

/// Whether a text of the page is not what is seen of it.
fn is_hiding(page: &Value) -> bool {
    match page {
        Value::String(text) => {
            let plain = text.replace(['\t', '\r'], " ");
            printable_lines(&plain) != plain
        }
        Value::Array(items) => items.iter().any(is_hiding),
        Value::Object(members) => members.values().any(is_hiding),
        _ => false,
    }
}

/// Whether this is a page that stands directly in `causes/`.
fn is_page(path: &str) -> bool {
    let name = path.strip_prefix(FOLDER);
    name.is_some_and(|name| name.ends_with(".md") && !name.contains('/'))
}

fn text(name: &str, bytes: Vec<u8>) -> Result<String, PluginError> {
    String::from_utf8(bytes).map_err(|_| refused(format!("its {} is no text", clean::line(name))))
}

fn refused(reason: String) -> PluginError {
    PluginError::Refused(clean::line(&reason))
}
