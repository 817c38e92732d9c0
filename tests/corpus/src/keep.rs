//! Takes a case into the corpus.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::Case;
use crate::archive::{Entry, archive, entries, holdable};

/// Archive of the cases that have no cause.
const NONE: &str = "none";

/// Takes the case of this folder into the corpus whose folder is `corpus`, in the place of the one of its name: what an
/// archive can hold goes into that of its cause, the rest beside the archives.
///
/// # Errors
/// When the folder is no case, or something can not be read or written.
pub fn keep(folder: &Path, corpus: &Path) -> anyhow::Result<()> {
    let case = Case::read(folder)?;
    remove(&case.name, corpus)?;
    let cause = if case.label.cause.is_empty() {
        NONE
    } else {
        &case.label.cause
    };
    let path = corpus.join("cases").join(format!("{cause}.txtar"));
    let there = match path.exists() {
        true => fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?,
        false => String::new(),
    };
    let mut texts: BTreeMap<String, String> = owned(&there);
    for file in files(folder)? {
        let name = file.strip_prefix(folder)?.to_string_lossy().into_owned();
        let bytes = fs::read(&file).with_context(|| format!("read {}", file.display()))?;
        if let Some(text) = holdable(&bytes) {
            texts.insert(format!("{}/{name}", case.name), text.to_owned());
        } else {
            let beside = corpus.join("files").join(&case.name).join(name);
            beside.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::copy(&file, beside)?;
        }
    }
    fs::write(&path, packed(&texts)).with_context(|| format!("write {}", path.display()))
}

/// Takes a case out of all archives, and what lies beside them.
fn remove(name: &str, corpus: &Path) -> anyhow::Result<()> {
    let of_it = format!("{name}/");
    for path in files(&corpus.join("cases"))? {
        let there = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let mut texts = owned(&there);
        let count = texts.len();
        texts.retain(|name, _| !name.starts_with(&of_it));
        match texts.len() {
            0 => fs::remove_file(&path)?,
            left if left < count => fs::write(&path, packed(&texts))?,
            _ => {}
        }
    }
    let beside = corpus.join("files").join(name);
    if beside.exists() {
        fs::remove_dir_all(beside)?;
    }
    Ok(())
}

/// The texts of an archive by their names.
fn owned(archive: &str) -> BTreeMap<String, String> {
    let entries = entries(archive).into_iter();
    entries
        .map(|entry| (entry.name.to_owned(), entry.text.to_owned()))
        .collect()
}

fn packed(texts: &BTreeMap<String, String>) -> String {
    archive(texts.iter().map(|(name, text)| Entry { name, text }))
}

/// All files below a folder.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
