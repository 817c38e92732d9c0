//! Room for the reports that wait: of more than a bound, the oldest give up their large artifacts.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{Waiting, claim};
use crate::collect::Missing;
use crate::{config, report};

/// What a report is about, and its texts, are smaller than this: they stay whatever there is.
const LARGE: u64 = 16 << 20;

/// A large artifact of a report that waits.
struct Large {
    path: PathBuf,
    bytes: u64,
}

/// Removes large artifacts, of the oldest reports first, until those that wait take no more than so many bytes of disk.
/// Only what lies where we keep reports: a folder that somebody named is theirs.
pub fn make(waiting: &[Waiting], most: u64) {
    let ours: Vec<PathBuf> = config::state_folder()
        .into_iter()
        .chain([report::temporary()])
        .collect();
    let is_ours = |waiting: &&Waiting| {
        waiting
            .entry
            .folder
            .parent()
            .is_some_and(|parent| ours.iter().any(|our| our == parent))
    };
    let mut taken: u64 = waiting
        .iter()
        .filter(is_ours)
        .map(|waiting| taken_by(&waiting.entry.folder))
        .sum();
    for waiting in waiting.iter().filter(is_ours) {
        if taken <= most {
            return;
        }
        // Whoever is sending it needs all of it.
        let Some((_lock, entry)) = claim(&waiting.path) else {
            continue;
        };
        let mut large = large(&entry.folder);
        large.sort_by_key(|artifact| std::cmp::Reverse(artifact.bytes));
        for artifact in large {
            if taken <= most {
                return;
            }
            // First, so that nothing goes without a word, whenever this ends.
            note(&entry.folder, &artifact);
            if std::fs::remove_file(&artifact.path).is_ok() {
                taken = taken.saturating_sub(artifact.bytes);
            }
        }
    }
}

fn files(folder: &Path) -> impl Iterator<Item = (PathBuf, u64)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let about = entry.metadata().ok().filter(|about| about.is_file())?;
        // A core's holes take no room.
        Some((entry.path(), about.blocks() * 512))
    })
}

fn taken_by(folder: &Path) -> u64 {
    files(folder).map(|(_, bytes)| bytes).sum()
}

fn large(folder: &Path) -> Vec<Large> {
    let large = files(folder).filter(|(_, bytes)| *bytes > LARGE);
    large.map(|(path, bytes)| Large { path, bytes }).collect()
}

/// Has the report say what it lacks now.
fn note(folder: &Path, artifact: &Large) {
    let path = folder.join("context.json");
    let context = std::fs::read(&path)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok());
    let Some(mut context): Option<Map<String, Value>> = context else {
        return;
    };
    let missing = Missing::new(
        &artifact.path.file_name().unwrap_or_default().to_string_lossy(),
        format!(
            "its {} bytes were needed for reports that came later, while this one waited",
            artifact.bytes
        ),
        "see why the server does not take reports: `whycrash spool list`; or let them have more room: `spool_megabytes`",
    );
    let unavailable = context.entry("unavailable").or_insert_with(|| json!([]));
    if let Some(unavailable) = unavailable.as_array_mut() {
        unavailable.push(json!(missing));
    }
    let partial = folder.join(".context.json");
    let text = serde_json::to_vec_pretty(&context).unwrap_or_default();
    let _ = std::fs::write(&partial, text).and_then(|()| std::fs::rename(&partial, &path));
}
