//! Text that a plugin brings, as it may stand in documents, pages and terminals.

use whycrash_evidence::{printable, printable_lines};

/// One line.
pub(crate) fn line(text: &str) -> String {
    printable(text).trim().to_owned()
}

/// Several lines.
pub(crate) fn lines(text: &str) -> String {
    printable_lines(text).trim().to_owned()
}

/// The beginning of a text: at most so many bytes, never half a character.
pub(crate) fn cut(text: &str, bytes: usize) -> String {
    text[..text.floor_char_boundary(bytes)].to_owned()
}
