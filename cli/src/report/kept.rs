//! Reports that `run` kept here, by what people call them.

use std::path::{Path, PathBuf};

use anyhow::bail;

use super::temporary;
use crate::client::number_from_the_last;
use crate::config;

/// Characters that tell a report from the others at least.
const SHORTEST: usize = 4;

/// The folder that somebody means who names no file: `-1` for the last report that was kept here, or the first digits of
/// the id of one. None where the word is no such name.
pub fn named(word: &Path) -> anyhow::Result<Option<PathBuf>> {
    let Some(text) = word.to_str().filter(|_| !word.exists()) else {
        return Ok(None);
    };
    if let Some(back) = number_from_the_last(text) {
        let kept = kept();
        let Some(folder) = kept.len().checked_sub(back).and_then(|place| kept.get(place)) else {
            bail!("fewer than {back} reports were kept here: `whycrash run` keeps what a crash leaves");
        };
        return Ok(Some(folder.clone()));
    }
    if text.len() < SHORTEST || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let mut found = kept();
    found.retain(|folder| name(folder).starts_with(text));
    match found.as_slice() {
        [] => Ok(None),
        [folder] => Ok(Some(folder.clone())),
        several => {
            let several: Vec<String> = several.iter().map(|folder| name(folder)).collect();
            bail!("{text} may mean several reports: {}", several.join(", "))
        }
    }
}

/// The folders of reports that were kept here, the last one at the end.
fn kept() -> Vec<PathBuf> {
    let places = config::state_folder().into_iter().chain([temporary()]);
    let entries = places
        .filter_map(|place| std::fs::read_dir(place).ok())
        .flatten()
        .flatten();
    let folders = entries.map(|entry| entry.path()).filter(|path| {
        // Numbers come behind the id of one that was kept twice.
        name(path).bytes().take(SHORTEST).all(|byte| byte.is_ascii_hexdigit()) && path.join("context.json").is_file()
    });
    let time = |path: &Path| path.metadata().and_then(|about| about.modified()).ok();
    let mut folders: Vec<_> = folders.map(|path| (time(&path), path)).collect();
    folders.sort();
    folders.into_iter().map(|(_, path)| path).collect()
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
