//! Plugin packages: a component, and the pages of causes of its own.
//!
//! A package is a zip file with `plugin.toml` (`name = "…"`), `plugin.wasm`, and `causes/ID.md` for each cause that it
//! brings. Nothing of it is ever written to disk: each file is asked for by its exact name and read up to a bound, so
//! that what else is in there, and under which names, does not matter.

use std::collections::BTreeSet;
use std::io::{Cursor, Read as _};

use serde::Deserialize;
use whycrash_catalog::{Catalog, Cause};
use zip::ZipArchive;

use crate::sandbox::{PluginError, PluginLimits, clean, cut};

/// How a zip file begins.
const MAGIC: &[u8] = b"PK\x03\x04";
/// Entries that a package may have.
const ENTRIES: usize = 4096;
/// Pages that a package may bring, and bytes of one.
const PAGES: usize = 200;
const PAGE_BYTES: u64 = 256 << 10;
/// Bytes of `plugin.toml`.
const MANIFEST_BYTES: u64 = 64 << 10;

/// What a file of a plugin holds.
#[derive(Debug, Default)]
pub(crate) struct Package {
    /// The plugin's name by the manifest; none of a bare component.
    pub(crate) name: Option<String>,
    pub(crate) component: Vec<u8>,
    /// The pages it brings.
    pub(crate) pages: Vec<Cause>,
}

#[derive(Deserialize)]
struct Manifest {
    name: String,
}

impl Package {
    /// What these bytes hold: a package, or else a component and nothing more.
    pub(crate) fn open(bytes: Vec<u8>, catalog: &Catalog, limits: &PluginLimits) -> Result<Self, PluginError> {
        if !bytes.starts_with(MAGIC) {
            return Ok(Self {
                component: bytes,
                ..Self::default()
            });
        }
        let mut zip = ZipArchive::new(Cursor::new(bytes))
            .map_err(|error| refused(format!("it is no whole zip file: {error}")))?;
        if zip.len() > ENTRIES {
            return Err(refused(format!(
                "it has {} files, more than the {ENTRIES} that are allowed",
                zip.len()
            )));
        }
        let manifest = text(&mut zip, "plugin.toml", MANIFEST_BYTES)?;
        let Manifest { name } =
            toml::from_str(&manifest).map_err(|error| refused(format!("its plugin.toml does not parse: {error}")))?;
        let component = entry(&mut zip, "plugin.wasm", limits.component_bytes as u64)?;
        let pages = pages(&mut zip, &name, catalog)?;
        Ok(Self {
            name: Some(name),
            component,
            pages,
        })
    }
}

type Zip = ZipArchive<Cursor<Vec<u8>>>;

/// The pages of a package: each whole, under a name of the plugin's own, with links that lead somewhere.
fn pages(zip: &mut Zip, plugin: &str, catalog: &Catalog) -> Result<Vec<Cause>, PluginError> {
    let names: BTreeSet<String> = zip.file_names().filter_map(page_name).map(str::to_owned).collect();
    if names.len() > PAGES {
        return Err(refused(format!(
            "it brings {} pages, more than the {PAGES} that are allowed",
            names.len()
        )));
    }
    let mut read = Vec::new();
    for name in names {
        let text = text(zip, &format!("causes/{name}"), PAGE_BYTES)?;
        let page = whycrash_catalog::parse(&name, &text).map_err(|fault| {
            refused(format!(
                "its page {}, line {}: {}",
                fault.file, fault.line, fault.message
            ))
        })?;
        if !page.id.strip_prefix(plugin).is_some_and(|rest| rest.starts_with('-')) {
            let reason = format!(
                "its cause {} does not begin with the plugin's name: {plugin}-…",
                cut(&page.id, 80)
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
    if let Some(fault) = catalog.check_more(&documents).first() {
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

/// The name of a page that stands directly in `causes/`.
fn page_name(path: &str) -> Option<&str> {
    let name = path.strip_prefix("causes/")?;
    (name.ends_with(".md") && !name.contains(['/', '\\'])).then_some(name)
}

fn text(zip: &mut Zip, name: &str, most: u64) -> Result<String, PluginError> {
    String::from_utf8(entry(zip, name, most)?).map_err(|_| refused(format!("its {} is no text", clean::line(name))))
}

/// One file of a package, however much it claims to hold.
fn entry(zip: &mut Zip, name: &str, most: u64) -> Result<Vec<u8>, PluginError> {
    let shown = clean::line(&cut(name, 80));
    let file = zip
        .by_name(name)
        .map_err(|error| refused(format!("its {shown} can not be read: {error}")))?;
    let mut bytes = Vec::new();
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| refused(format!("its {shown} is damaged: {error}")))?;
    if bytes.len() as u64 > most {
        return Err(refused(format!(
            "its {shown} has more than the {most} bytes that are allowed"
        )));
    }
    Ok(bytes)
}

fn refused(reason: String) -> PluginError {
    PluginError::Refused(clean::line(&reason))
}
