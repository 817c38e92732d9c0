//! How text becomes words, the same for documents and queries and for every search implementation.
//!
//! A word is a run of letters and digits, in lower case. Parts of a camel-case identifier are found too: they stand
//! at the place of the whole, so that `memory` finds `OutOfMemoryError` and a phrase that holds it still matches.

use super::cut;

/// Bytes of a word that are kept: longer ones are data, not language, and are found by how they begin.
pub const MAX_WORD_BYTES: usize = 120;

/// A word and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// In lower case.
    pub text: String,
    /// Number of the run of letters and digits it is, or is a part of.
    pub position: usize,
    /// Byte range in the text it was taken from.
    pub range: std::ops::Range<usize>,
}

/// The words to index: every run, and the camel-case parts of each.
pub fn to_index(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for whole in to_find(text) {
        let run = text.get(whole.range.clone()).unwrap_or_default();
        let (start, position) = (whole.range.start, whole.position);
        words.push(whole);
        let parts = camel_parts(run);
        if parts.len() > 1 {
            words.extend(parts.into_iter().map(|part| Word {
                text: run.get(part.clone()).unwrap_or_default().to_lowercase(),
                position,
                range: start + part.start..start + part.end,
            }));
        }
    }
    words
}

/// The words to look for: every run as a whole.
pub fn to_find(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = None;
    let ends = text
        .char_indices()
        .map(|(at, c)| (at, Some(c)))
        .chain([(text.len(), None)]);
    for (at, c) in ends {
        match (start, c.is_some_and(char::is_alphanumeric)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                start = None;
                let run = cut(text.get(from..at).unwrap_or_default(), MAX_WORD_BYTES);
                words.push(Word {
                    text: run.to_lowercase(),
                    position: words.len(),
                    range: from..from + run.len(),
                });
            }
            _ => {}
        }
    }
    words
}

/// Byte ranges of the parts of `OutOfMemoryError`, `CUDAError` (`CUDA`, `Error`) or `cublasLt`.
fn camel_parts(run: &str) -> Vec<std::ops::Range<usize>> {
    let chars: Vec<(usize, char)> = run.char_indices().collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for (index, window) in chars.windows(2).enumerate() {
        let [(_, before), (at, c)] = window else { continue };
        let after = chars.get(index + 2).map(|(_, c)| *c);
        let rises = before.is_lowercase() && c.is_uppercase();
        // The last capital of a run of capitals starts the word that follows it.
        let falls = before.is_uppercase() && c.is_uppercase() && after.is_some_and(char::is_lowercase);
        if rises || falls {
            parts.push(start..*at);
            start = *at;
        }
    }
    parts.push(start..run.len());
    parts
}
