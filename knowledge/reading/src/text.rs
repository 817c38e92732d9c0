//! The lines of an artifact that is text, wherever they are.

use std::fmt;
use std::io;
use std::sync::OnceLock;

use whycrash_evidence::readers::Lines;

/// Finds the lines of a text that is stored.
type Open = Box<dyn Fn() -> io::Result<Lines> + Send + Sync>;

/// The lines of an artifact that is text. Those of a stored report are unpacked when they are first asked for: most
/// reports are diagnosed from their events alone.
pub struct Text {
    artifact: String,
    count: u64,
    lines: OnceLock<Lines>,
    open: Option<Open>,
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Text")
            .field("artifact", &self.artifact)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl Text {
    /// The text of an artifact that has been opened.
    pub fn new(artifact: impl Into<String>, lines: Lines) -> Self {
        Self {
            artifact: artifact.into(),
            count: lines.count(),
            lines: OnceLock::from(lines),
            open: None,
        }
    }

    /// A text of so many lines that `open` finds.
    pub(crate) fn stored(artifact: String, count: u64, open: Open) -> Self {
        Self {
            artifact,
            count,
            lines: OnceLock::new(),
            open: Some(open),
        }
    }

    /// Name of the artifact.
    pub fn artifact(&self) -> &str {
        &self.artifact
    }

    /// How many lines there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The lines themselves.
    ///
    /// # Errors
    /// When they are stored and can not be read.
    pub fn lines(&self) -> io::Result<&Lines> {
        if let (None, Some(open)) = (self.lines.get(), &self.open) {
            // Who comes second has opened it for nothing.
            let _ = self.lines.set(open()?);
        }
        self.lines
            .get()
            .ok_or_else(|| io::Error::other("the text was never opened"))
    }

    /// See [`Lines::range`].
    ///
    /// # Errors
    /// When the text can not be read.
    pub fn range(&self, first: u64, last: u64) -> io::Result<Vec<String>> {
        self.lines()?.range(first, last)
    }
}
