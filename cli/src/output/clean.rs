//! Text that a terminal only shows.

use anstyle::Style;
use whycrash_evidence::{printable, printable_lines};

/// Text in which the only escapes are styles of ours: what came from artifacts, file names, servers and errors was made
/// printable when it was put in. Nothing else can be printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clean(String);

impl Clean {
    /// One line in a style.
    pub fn styled(style: Style, text: &str) -> Self {
        Self(format!("{style}{}{style:#}", printable(text)))
    }

    /// Several lines: line ends stay, and nothing else that a terminal would act on.
    pub fn lines(text: &str) -> Self {
        Self(printable_lines(text).into_owned())
    }

    /// JSON, with the value that it had.
    pub fn json(json: &str) -> Self {
        Self(whycrash_evidence::printable_json(json).into_owned())
    }

    /// What this program made of nothing but itself.
    pub fn own(text: String) -> Self {
        Self(text)
    }

    /// The same with more behind it.
    #[must_use]
    pub fn then(mut self, text: impl Into<Self>) -> Self {
        self.push(text);
        self
    }

    /// Puts more behind it.
    pub fn push(&mut self, text: impl Into<Self>) {
        self.0.push_str(&text.into().0);
    }

    /// Ends the line.
    pub fn end_line(&mut self) {
        self.0.push('\n');
    }

    /// Whether there is nothing yet.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many lines there are.
    pub fn line_count(&self) -> usize {
        self.0.lines().count()
    }

    /// What is written.
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl From<&str> for Clean {
    /// One line without a style.
    fn from(text: &str) -> Self {
        Self(printable(text).into_owned())
    }
}

impl From<&String> for Clean {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<String> for Clean {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}
