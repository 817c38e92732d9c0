//! Takes a case into the corpus.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use sha2::{Digest as _, Sha256};

use crate::Case;
use crate::archive::{Entry, archive, entries, holdable};

/// Archive of the cases that have no cause.
const NONE: &str = "none";
/// Name of the list of the digests of frozen cases, one a line, in the order in which they came.
pub const DIGESTS: &str = "digests";

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
    for (name, bytes) in contents(folder)? {
        if let Some(text) = holdable(&bytes) {
            texts.insert(format!("{}/{name}", case.name), text.to_owned());
        } else {
            let beside = corpus.join("files").join(&case.name).join(&name);
            beside.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::copy(folder.join(&name), beside)?;
        }
    }
    fs::write(&path, packed(&texts)).with_context(|| format!("write {}", path.display()))
}

/// Takes the case of this folder into the frozen part of the corpus whose folder is `corpus`: into the archive of its
/// day, with its digest in the list of them, which only grows.
///
/// # Errors
/// When the folder is no case, it was taken in before, an archive can not hold what is in it, or nobody has written down
/// what is said of it first.
pub fn freeze(folder: &Path, corpus: &Path) -> anyhow::Result<()> {
    let case = Case::read(folder)?;
    ensure!(
        case.label.first.is_some(),
        "{}: what is said of it first comes first: make first-try",
        case.name
    );
    let digests = corpus.join("frozen").join(DIGESTS);
    let listed = fs::read_to_string(&digests).unwrap_or_default();
    let digest = digest(folder)?;
    ensure!(!listed.contains(&digest), "{}: it is there already", case.name);
    let path = corpus.join("frozen").join(format!("{}.txtar", case.label.date));
    let there = fs::read_to_string(&path).unwrap_or_default();
    let mut texts = owned(&there);
    for (name, bytes) in contents(folder)? {
        let name = format!("{}/{name}", case.name);
        let text = holdable(&bytes).with_context(|| format!("{name}: it is no text whose lines all end"))?;
        ensure!(
            texts.insert(name.clone(), text.to_owned()).is_none(),
            "{name}: the name is taken"
        );
    }
    fs::write(&path, packed(&texts)).with_context(|| format!("write {}", path.display()))?;
    fs::write(&digests, format!("{listed}{digest}\n")).with_context(|| format!("write {}", digests.display()))
}

/// The digest of what a case has but for its name: SHA-256 in hexadecimal digits.
///
/// # Errors
/// When something of it can not be read.
pub fn digest(folder: &Path) -> anyhow::Result<String> {
    let mut hash = Sha256::new();
    for (name, bytes) in contents(folder)? {
        hash.update(format!("{name}\n{}\n", bytes.len()));
        hash.update(bytes);
    }
    Ok(hex::encode(hash.finalize()))
}

/// The files of a case by their names, in order.
fn contents(folder: &Path) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let named = |path: PathBuf| {
        let name = path.strip_prefix(folder)?.to_string_lossy().into_owned();
        let bytes = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
        Ok((name, bytes))
    };
    files(folder)?.into_iter().map(named).collect()
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
