//! The artifacts at hand, for printing the very lines that a finding cites.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use whycrash_evidence::Artifact;
use whycrash_plugin_host::Text;

/// Bytes of one line that are shown at most; the rest of a longer one is skipped.
const LINE_BYTES: usize = 4096;

/// Where the bytes of each artifact are on this machine, and the lines of what was read as text; empty when only the
/// document is here.
#[derive(Debug, Default)]
pub struct Files {
    paths: HashMap<String, PathBuf>,
    texts: Vec<Text>,
}

impl Files {
    /// The files of these artifacts.
    pub fn of(artifacts: &[Artifact]) -> Self {
        Self {
            paths: artifacts
                .iter()
                .map(|artifact| (artifact.name.clone(), artifact.path.clone()))
                .collect(),
            texts: Vec::new(),
        }
    }

    /// The same with the lines of what was read: of compressed files and of those in archives, too.
    #[must_use]
    pub fn with_texts(self, texts: Vec<Text>) -> Self {
        Self { texts, ..self }
    }

    /// Lines `first..=last` of an artifact, or none when it is not here as text.
    pub fn lines(&self, artifact: &str, first: u64, last: u64) -> Vec<(u64, String)> {
        let text = self.texts.iter().find(|text| text.artifact() == artifact);
        if let Some(lines) = text.and_then(|text| text.range(first, last).ok()) {
            return (first..).zip(lines.into_iter().map(shortened)).collect();
        }
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

fn shortened(mut line: String) -> String {
    let end = (0..=LINE_BYTES.min(line.len()))
        .rev()
        .find(|end| line.is_char_boundary(*end));
    line.truncate(end.unwrap_or_default());
    line.truncate(line.trim_end().len());
    line
}
