//! How text becomes words, the same for documents and queries and for every search implementation.
//!
//! A word is a run of letters and digits, in lower case. Parts of a camel-case identifier are found too: they stand
//! at the place of the whole, so that `memory` finds `OutOfMemoryError` and a phrase that holds it still matches.
//!
//! It is a crate of its own because all that is indexed goes through it, four million bytes of a long log: unlike the
//! rest of the server it is optimised in every build.

use std::ops::Range;

/// Bytes of a word that are kept: longer ones are data, not language, and are found by how they begin.
pub const MAX_WORD_BYTES: usize = 120;

/// A word and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word<'t> {
    /// As it is written.
    pub written: &'t str,
    /// Number of the run of letters and digits it is, or is a part of.
    pub position: usize,
    /// Byte range in the text it was taken from.
    pub range: Range<usize>,
}

impl Word<'_> {
    /// Puts the word in lower case in place of what is in `into`: it is found in that form.
    pub fn lower(&self, into: &mut String) {
        into.clear();
        if self.written.is_ascii() {
            into.push_str(self.written);
            into.make_ascii_lowercase();
        } else {
            // A final sigma depends on where it stands: letters alone can not be folded one by one.
            into.push_str(&self.written.to_lowercase());
        }
    }
}

/// The words to look for: every run as a whole.
pub fn to_find(text: &str) -> Runs<'_> {
    Runs {
        text,
        at: 0,
        position: 0,
    }
}

/// The words to index: every run, and the camel-case parts of each behind it.
pub fn to_index(text: &str) -> Words<'_> {
    Words {
        runs: to_find(text),
        parts: Vec::new().into_iter(),
    }
}

/// Runs of letters and digits, in the order of the text.
#[derive(Clone, Debug)]
pub struct Runs<'t> {
    text: &'t str,
    at: usize,
    position: usize,
}

impl<'t> Iterator for Runs<'t> {
    type Item = Word<'t>;

    fn next(&mut self) -> Option<Word<'t>> {
        let rest = self.text.get(self.at..)?;
        let start = self.at + rest.find(char::is_alphanumeric)?;
        let rest = self.text.get(start..)?;
        let bytes = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let written = rest.get(..rest.floor_char_boundary(bytes.min(MAX_WORD_BYTES)))?;
        let word = Word {
            written,
            position: self.position,
            range: start..start + written.len(),
        };
        self.at = start + bytes;
        self.position += 1;
        Some(word)
    }
}

/// Runs and their parts.
#[derive(Clone, Debug)]
pub struct Words<'t> {
    runs: Runs<'t>,
    /// Those of the run before that are still to come.
    parts: std::vec::IntoIter<Word<'t>>,
}

impl<'t> Iterator for Words<'t> {
    type Item = Word<'t>;

    fn next(&mut self) -> Option<Word<'t>> {
        self.parts.next().or_else(|| {
            let run = self.runs.next()?;
            self.parts = parts(&run).into_iter();
            Some(run)
        })
    }
}

/// The parts of a run; none where it is one word.
fn parts<'t>(run: &Word<'t>) -> Vec<Word<'t>> {
    let mut starts = camel_starts(run.written);
    if starts.is_empty() {
        return Vec::new();
    }
    starts.insert(0, 0);
    let ends = starts.iter().skip(1).copied().chain([run.written.len()]);
    let part = |(start, end): (usize, usize)| Word {
        written: run.written.get(start..end).unwrap_or_default(),
        position: run.position,
        range: run.range.start + start..run.range.start + end,
    };
    starts.iter().copied().zip(ends).map(part).collect()
}

/// Where the parts of `OutOfMemoryError`, `CUDAError` (`CUDA`, `Error`) or `cublasLt` begin, but for the first.
fn camel_starts(run: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut chars = run.char_indices();
    let Some((_, mut before)) = chars.next() else {
        return starts;
    };
    let mut chars = chars.peekable();
    while let Some((at, c)) = chars.next() {
        if c.is_uppercase() {
            let rises = before.is_lowercase();
            // The last capital of a run of capitals starts the word that follows it.
            let falls = before.is_uppercase() && chars.peek().is_some_and(|(_, after)| after.is_lowercase());
            if rises || falls {
                starts.push(at);
            }
        }
        before = c;
    }
    starts
}
