//! The artifacts of a report as they leave this machine, and what is different about them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek as _};
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;
use whycrash_evidence::readers::{Input, detect};
use whycrash_evidence::{Artifact, ArtifactKind, Limits};

use crate::report::{in_memory, path_of};

/// Texts of more bytes are scrubbed on the disk, not in memory.
const IN_MEMORY: u64 = 64 << 20;
/// Lines of one artifact that are shown, and bytes of each.
const SHOWN: usize = 1000;
const LONGEST: usize = 1000;

/// Artifacts of which the texts are scrubbed. Those that are compressed are sent unpacked then.
#[derive(Debug)]
pub struct Outgoing {
    /// In the same order and with the same names.
    pub artifacts: Vec<Artifact>,
    /// What of them is nowhere else, for as long as it is open.
    _files: Vec<File>,
}

/// What scrubbing changes about an artifact.
#[derive(Debug, Serialize)]
pub struct Changed {
    /// Its name.
    pub artifact: String,
    /// How many of its lines are different.
    pub lines: u64,
    /// The first of them, as they would be sent.
    pub shown: Vec<ChangedLine>,
}

/// A line that would be sent otherwise than it is.
#[derive(Debug, Serialize)]
pub struct ChangedLine {
    /// Its number, from 1.
    pub line: u64,
    /// What would be sent of it.
    pub text: String,
}

/// The artifacts as they may be sent.
///
/// # Errors
/// When one can not be read, or there is no room for what is left of it: it is not sent as it is then.
pub fn outgoing(artifacts: &[Artifact]) -> anyhow::Result<Outgoing> {
    let mut files = Vec::new();
    let mut clean = Vec::new();
    for artifact in artifacts {
        let scrubbed = scrubbed(artifact)
            .with_context(|| format!("can not take the secrets out of {}", artifact.path.display()))?;
        clean.push(match scrubbed {
            Some(file) => {
                let path = path_of(&file);
                files.push(file);
                Artifact::new(artifact.name.clone(), path)
            }
            None => artifact.clone(),
        });
    }
    Ok(Outgoing {
        artifacts: clean,
        _files: files,
    })
}

impl Outgoing {
    /// How these artifacts are different from those that they were made of.
    ///
    /// # Errors
    /// When one of them can not be read.
    pub fn changes(&self, from: &[Artifact]) -> std::io::Result<Vec<Changed>> {
        let pairs = from.iter().zip(&self.artifacts);
        let different = pairs.filter(|(before, after)| before.path != after.path);
        different.map(|(before, after)| changed(before, after)).collect()
    }
}

/// A text without its secrets; none of what is no text, or has no secrets.
fn scrubbed(artifact: &Artifact) -> anyhow::Result<Option<File>> {
    let input = Input::open(artifact, &Limits::default())?;
    if detect(input.head()) == ArtifactKind::Archive {
        tracing::warn!(
            "{} is sent as it is: what is secret in it is not taken out; unpack it and give its folder to have that done",
            artifact.name
        );
    }
    if !is_text(input.head()) {
        return Ok(None);
    }
    let mut copy = scratch(&artifact.path, input.stored_bytes())?;
    let has_changed = match input.plain_file() {
        Some(_) => super::text(File::open(&artifact.path)?, &copy)?,
        None => super::text(input.stream()?, &copy).unwrap_or_else(|error| {
            tracing::warn!("{} is sent as far as it can be unpacked: {error}", artifact.name);
            true
        }),
    };
    copy.rewind()?;
    Ok(has_changed.then_some(copy))
}

/// Also what readers take for no log, such as a flight recorder's JSON.
fn is_text(head: &[u8]) -> bool {
    let kind = detect(head);
    let reads_as_text = match std::str::from_utf8(head) {
        Ok(_) => true,
        // A character may be cut at the end.
        Err(error) => error.error_len().is_none(),
    };
    // Shown as the text that is in it, which is none of its bytes.
    let is_binary = kind == ArtifactKind::WandbRun;
    !is_binary && kind.is_text() || kind != ArtifactKind::Empty && reads_as_text && !head.contains(&0)
}

/// A file without a name.
fn scratch(beside: &Path, bytes: u64) -> std::io::Result<File> {
    if bytes <= IN_MEMORY {
        return in_memory("scrubbed");
    }
    let folder = beside.parent().unwrap_or(Path::new("."));
    tempfile::tempfile_in(folder).or_else(|_| tempfile::tempfile())
}

fn changed(before: &Artifact, after: &Artifact) -> std::io::Result<Changed> {
    let limits = Limits::default();
    let inputs = [before, after].map(|artifact| Input::open(artifact, &limits));
    let [before_input, after_input] = inputs;
    let (before_input, after_input) = (before_input?, after_input?);
    let mut old = lines(before_input.stream()?);
    let mut changed = Changed {
        artifact: before.name.clone(),
        lines: 0,
        shown: Vec::new(),
    };
    for (number, new) in (1..).zip(lines(after_input.stream()?)) {
        if old.next().is_some_and(|old| old == new) {
            continue;
        }
        changed.lines += 1;
        if changed.shown.len() < SHOWN {
            let text = String::from_utf8_lossy(&new);
            let text = text.chars().take(LONGEST).collect();
            changed.shown.push(ChangedLine { line: number, text });
        }
    }
    Ok(changed)
}

/// The lines of a text as far as it can be read.
fn lines(text: impl Read) -> impl Iterator<Item = Vec<u8>> {
    BufReader::new(text).split(b'\n').map_while(Result::ok)
}
