//! The artifacts at hand, for printing the very lines that a finding cites.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use whycrash_evidence::Artifact;

/// Bytes of one line that are shown at most; the rest of a longer one is skipped.
const LINE_BYTES: usize = 4096;

/// Where the bytes of each artifact are on this machine; empty when only the document is here.
#[derive(Debug, Default)]
pub struct Files {
    paths: HashMap<String, PathBuf>,
}

impl Files {
    /// The files of these artifacts.
    pub fn of(artifacts: &[Artifact]) -> Self {
        Self {
            paths: artifacts
                .iter()
                .map(|artifact| (artifact.name.clone(), artifact.path.clone()))
                .collect(),
        }
    }

    /// Lines `first..=last` of an artifact, or none when it is not here as text.
    pub fn lines(&self, artifact: &str, first: u64, last: u64) -> Vec<(u64, String)> {
        self.paths
            .get(artifact)
            .map(|path| lines_of(path, first, last))
            .unwrap_or_default()
    }
}

/// Lines `first..=last` (from 1) of a text file; none when it can not be read or is no text.
pub fn lines_of(path: &std::path::Path, first: u64, last: u64) -> Vec<(u64, String)> {
    let Ok(file) = std::fs::File::open(path) else {
        return Vec::new();
    };
    let mut reader = BufReader::new(file);
    let mut lines = Vec::new();
    for number in 1..=last {
        let mut line = Vec::new();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) if number < first => {}
            Ok(_) if line.contains(&0) => return Vec::new(),
            Ok(_) => {
                line.truncate(LINE_BYTES);
                lines.push((number, String::from_utf8_lossy(&line).trim_end().to_owned()));
            }
        }
    }
    lines
}
