//! One line of a text artifact, freed from what log collectors, launchers and terminals put around it.

use std::borrow::Cow;

use super::prefix::{self, Origin};
use super::{record, regex};

/// A line, ready for the grammars.
#[derive(Debug)]
pub struct Line<'a> {
    /// Its number in the artifact, from 1.
    pub number: u64,
    /// What the program wrote: no prefix, no colours.
    pub text: &'a str,
    /// Who wrote it and when, as far as its prefix tells.
    pub origin: Origin,
}

impl<'a> Line<'a> {
    /// Parses the prefix off a cleaned line.
    pub fn new(number: u64, cleaned: &'a str) -> Self {
        let (origin, text) = prefix::split(cleaned);
        Self { number, text, origin }
    }

    /// True where these words stand in quotation marks: somebody tells of such a line, and it is none. The value of a
    /// record's field is one: `message: "NVRM: Xid …"` of a cluster's event, `msg="…"` of a logger.
    pub fn quotes(&self, words: &str) -> bool {
        let before = self.text.split_once(words).map(|(before, _)| before);
        let unquoted = before.and_then(|before| before.strip_suffix(['`', '"', '\'', '\u{201c}', '\u{2018}']));
        let field = regex!(r#"(?i)(?:(?:^|[,{(])\s*["']?(?:message|msg)["']?\s*:|\b(?:message|msg)=)\s*$"#);
        // An agent of the machine lists the lines that it found, each to its end.
        let found = regex!(r"(?i)\b(?:found|matched|detected)\b[^\x22']{0,40}$");
        let is_whole = self.text.trim_end().ends_with(['"', '\'', '`', '\u{201d}']);
        unquoted.is_some_and(|before| !(field.is_match(before) || is_whole && found.is_match(before)))
    }

    /// True for a line that only quotes: a comment, a line of source code, a prompt, an item of a list
    /// that quotes code. What it says did not happen.
    pub fn is_quoted(&self) -> bool {
        let text = self.text.trim_start();
        let flag = text.strip_prefix("--").and_then(|flag| flag.bytes().next());
        if flag.is_some_and(|first| first.is_ascii_lowercase()) {
            // A flag of a help text, with what it is for.
            return true;
        }
        if text.ends_with(')') && text.contains("(default: ") {
            // The end of what it is for.
            return true;
        }
        // A shell that traces what it runs.
        if regex!(r"^\++ [\w./-]+ .*['\x22]").is_match(text) {
            return true;
        }
        // What grep found in documents and sources; Python warns in the same form, and Lightning leaves the category out.
        if regex!(r"^[\w./-]+\.(?:md|rst|adoc|txt|html|py|sh|ya?ml):\d+[:-]").is_match(text)
            && !regex!(r"Warning: |^\S*lightning\S*\.py:\d+: [A-Z]").is_match(text)
        {
            return true;
        }
        // A test of pytest, with its outcome: its name has the values that it is run with.
        if regex!(r"^\S+\.py::.* (?:PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS)\b").is_match(text) {
            return true;
        }
        // A line of a table of known messages: `"CUDA error: …" -> what to do`.
        if regex!(r#"^["'`][^"'`]+["'`]\s*(?:->|=>|\u{2192}|means\b)"#).is_match(text) {
            return true;
        }
        // A mail or a page that quotes, and a record of data: what is in a log's records was taken out before.
        if text.starts_with("> ") || text.starts_with("{\"") && text.trim_end().ends_with('}') {
            return true;
        }
        let text = text.trim_start_matches(['+', '-', '>', '|', '*']).trim_start();
        // A path may begin so as well.
        if text.starts_with("//") && !regex!(r"^//[\w.-]+/\S+:\d+: ").is_match(text) {
            return true;
        }
        [
            "#", "`", "/*", "\"\"\"", "'''", "raise ", "print(", "def ", "assert ", "import ", "from ", "return ",
            "if ",
        ]
        .iter()
        .any(|opener| text.starts_with(opener))
            || ["logger.", "logging.", "log.", "self.", "except "]
                .iter()
                .any(|opener| text.starts_with(opener))
    }
}

/// Columns that a text as a whole is moved in by, as where it was copied out of a page or an answer: fewer than two are
/// none. By its first lines.
pub fn indent(first_lines: &[u8]) -> usize {
    /// Lines that have to agree, and that are looked at.
    const LEAST: usize = 3;
    const MOST: usize = 256;
    let whole = memchr::memrchr(b'\n', first_lines).map_or(first_lines.len(), |end| end);
    let lines = first_lines
        .get(..whole)
        .unwrap_or_default()
        .split(|byte| *byte == b'\n');
    let columns = lines
        .filter(|line| !line.trim_ascii().is_empty())
        .take(MOST)
        .map(|line| line.iter().take_while(|byte| b" \t".contains(byte)).count());
    let (count, least) = columns.fold((0, usize::MAX), |(count, least), columns| {
        (count + 1, least.min(columns))
    });
    if count >= LEAST && least >= 2 { least } else { 0 }
}

/// Takes so many columns off a line, if it has as many.
pub fn move_back(line: &mut Vec<u8>, columns: usize) {
    let margin = line.get(..columns).unwrap_or_default();
    if columns > 0 && margin.len() == columns && margin.iter().all(|byte| b" \t".contains(byte)) {
        line.drain(..columns);
    }
}

/// Bytes of a line that the grammars look at: the work that they do on a line grows with it, several times over.
pub const TEXT_BYTES: usize = 16 << 10;

/// The beginning of a cleaned line, where it is too long.
pub fn beginning(cleaned: &str) -> &str {
    cleaned
        .get(..cleaned.floor_char_boundary(TEXT_BYTES))
        .unwrap_or_default()
}

/// A raw line as text: bytes that are no UTF-8 replaced, colours removed, and of a line that a progress bar wrote
/// over and over (`\r`) only the last state.
pub fn clean(raw: &[u8]) -> Cow<'_, str> {
    let kept = match memchr::memrchr(b'\r', raw) {
        Some(at) => raw.get(at + 1..).unwrap_or_default(),
        None => raw,
    };
    let text = String::from_utf8_lossy(kept);
    // Kaggle's log is one array, of which each line is a member.
    let member = text.trim_start_matches(['[', ',']);
    if member.starts_with('{')
        && let Some(inner) = record::line(member)
    {
        return Cow::Owned(inner);
    }
    if let Some(cell) = record::cell(&text) {
        return Cow::Owned(cell);
    }
    if memchr::memchr(0x1b, kept).is_some() {
        Cow::Owned(without_escapes(&text))
    } else {
        text
    }
}

/// Removes ANSI escape sequences (ECMA-48 control sequences; any other escape loses its two characters).
pub fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\u{1b}' {
            plain.push(c);
        } else if rest.next() == Some('[') {
            let _ = rest.by_ref().find(|c| ('@'..='~').contains(c));
        }
    }
    plain
}
