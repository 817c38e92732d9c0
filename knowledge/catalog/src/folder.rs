//! Folders of pages that people write beside ours.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::{Catalog, Cause, Fault, read_page};

/// Bytes of one page.
const PAGE_BYTES: u64 = 1 << 20;

/// A page of a folder and its text.
#[derive(Clone, Debug)]
pub struct Page {
    /// What it says; its origin is its folder.
    pub cause: Cause,
    /// The text it was read from.
    pub text: String,
    /// Whether it stands in the place of a page of ours.
    pub overrides: bool,
}

/// The pages of a folder, and what is wrong with others.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    /// The pages that are right.
    pub pages: Vec<Page>,
    /// What is wrong, with file and line.
    pub faults: Vec<Fault>,
}

impl Folder {
    /// Reads all pages (`*.md`, but `README.md`) of a folder, and holds them against each other and a catalogue. A page
    /// whose id is that of one there stands in its place. What is wrong with a page harms itself alone: others may refer
    /// to it all the same.
    ///
    /// # Errors
    /// When the folder can not be read.
    pub fn read(folder: &Path, catalog: &Catalog) -> io::Result<Self> {
        let mut read = Self::default();
        for path in paths(folder)? {
            match page(&path, folder, catalog) {
                Ok(page) => read.pages.push(page),
                Err(faults) => read.faults.extend(faults),
            }
        }
        let replaced: Vec<&str> = read.pages.iter().map(|page| page.cause.id.as_str()).collect();
        let others: Catalog = catalog
            .causes()
            .iter()
            .filter(|cause| !replaced.contains(&cause.id.as_str()))
            .cloned()
            .collect();
        let documents: Vec<(&Cause, &str)> = read
            .pages
            .iter()
            .map(|page| (&page.cause, page.text.as_str()))
            .collect();
        let left_out: Vec<&str> = read
            .faults
            .iter()
            .filter_map(|fault| fault.file.strip_suffix(".md"))
            .collect();
        let faults = others.check_more(&documents, &left_out);
        read.pages
            .retain(|page| !faults.iter().any(|fault| fault.file == format!("{}.md", page.cause.id)));
        read.faults.extend(faults);
        Ok(read)
    }
}

fn paths(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md") && !path.ends_with("README.md"));
    paths.sort();
    Ok(paths)
}

fn page(path: &Path, folder: &Path, catalog: &Catalog) -> Result<Page, Vec<Fault>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let text = text(path).map_err(|error| vec![Fault::new(&name, 1, format!("the page can not be read: {error}"))])?;
    let cause = Cause {
        origin: format!("folder {}", folder.file_name().unwrap_or_default().to_string_lossy()),
        ..read_page(&name, &text)?
    };
    let overrides = catalog.causes().iter().any(|other| other.id == cause.id);
    Ok(Page { cause, text, overrides })
}

/// The text of a regular file of bounded size.
fn text(path: &Path) -> io::Result<String> {
    let about = fs::metadata(path)?;
    if !about.is_file() || about.len() > PAGE_BYTES {
        return Err(io::Error::other("it is no regular file, or too large"));
    }
    let mut text = String::new();
    File::open(path)?.take(PAGE_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
