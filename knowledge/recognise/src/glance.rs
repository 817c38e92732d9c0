//! A look at a text that tells which patterns can not match it, without matching them.
//!
//! Most patterns hold words that every match has. A text that lacks them needs no matching, and which runs of three
//! letters a text has is known after one pass over it, for all patterns together.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Bits of a glance.
const BITS: usize = 1 << 16;
/// Letters that are looked at together.
const RUN: usize = 3;

/// Which runs of letters a text has, as far as that fits in so many bits. Case does not count.
#[derive(Clone, Debug)]
pub(crate) struct Glance(Vec<u64>);

impl Default for Glance {
    fn default() -> Self {
        Self(vec![0; BITS / 64])
    }
}

impl Glance {
    pub(crate) fn of(text: &str, detail: &Value) -> Self {
        let mut glance = Self::default();
        glance.add_event(text, detail);
        glance
    }

    pub(crate) fn add_event(&mut self, text: &str, detail: &Value) {
        self.add(text);
        self.add_all(detail);
    }

    fn add_all(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.add_all(item)),
            Value::Object(members) => members.values().for_each(|member| self.add_all(member)),
            Value::String(text) => self.add(text),
            other => self.add(&other.to_string()),
        }
    }

    fn add(&mut self, text: &str) {
        for run in text.as_bytes().windows(RUN) {
            let bit = bit(run);
            self.0[bit / 64] |= 1 << (bit % 64);
        }
    }

    fn may_have(&self, word: &[u8]) -> bool {
        word.windows(RUN).all(|run| {
            let bit = bit(run);
            self.0[bit / 64] >> (bit % 64) & 1 == 1
        })
    }
}

fn bit(run: &[u8]) -> usize {
    let folded = run.iter().fold(0_u32, |sum, byte| {
        sum.wrapping_mul(0x0100_0193) ^ u32::from(byte.to_ascii_lowercase()).wrapping_mul(0x9e37_79b1)
    });
    (folded >> 16) as usize % BITS
}

/// Words of which every text that a pattern matches has at least one; `None` where nothing is certain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Words(Option<Vec<String>>);

impl Words {
    pub(crate) fn of(pattern: &str) -> Self {
        let mut letters = pattern.chars().peekable();
        let words = alternatives(&mut letters);
        // What is left over was not understood.
        Self(words.filter(|_| letters.peek().is_none()))
    }

    /// These words.
    pub(crate) fn exactly(words: Vec<String>) -> Self {
        Self(Some(words))
    }

    /// Whether anything is certain.
    pub(crate) fn are_some(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn may_be_in(&self, glance: &Glance) -> bool {
        let Some(words) = &self.0 else { return true };
        words.iter().any(|word| glance.may_have(word.as_bytes()))
    }
}

type Letters<'p> = std::iter::Peekable<std::str::Chars<'p>>;

/// Alternatives up to the end of the group or of the pattern: the words of all of them.
fn alternatives(letters: &mut Letters) -> Option<Vec<String>> {
    let mut all = Some(Vec::new());
    loop {
        let words = sequence(letters);
        all = all.zip(words).map(|(mut all, words)| {
            all.extend(words);
            all
        });
        if letters.peek() != Some(&'|') {
            return all;
        }
        letters.next();
    }
}

/// One alternative: the best words that it can not do without.
fn sequence(letters: &mut Letters) -> Option<Vec<String>> {
    let mut best: Option<Vec<String>> = None;
    let mut run = String::new();
    while let Some(letter) = letters.peek().copied() {
        let piece = match letter {
            '|' | ')' => break,
            '(' => Piece::Group(group(letters)),
            '[' => {
                class(letters);
                Piece::Any
            }
            '.' | '^' | '$' => {
                letters.next();
                Piece::Any
            }
            '\\' => {
                letters.next();
                match letters.next() {
                    Some(escaped) if !escaped.is_ascii_alphanumeric() => Piece::Letter(escaped),
                    // `\x27` and the like: a letter that is not worth reading.
                    Some('x' | 'u') => {
                        letters.next();
                        letters.next();
                        Piece::Any
                    }
                    _ => Piece::Any,
                }
            }
            _ => {
                letters.next();
                Piece::Letter(letter)
            }
        };
        let (may_be_absent, repeats) = quantifier(letters);
        match piece {
            Piece::Letter(letter) if !may_be_absent => {
                run.push(letter);
                if repeats {
                    better(&mut best, vec![std::mem::take(&mut run)]);
                }
            }
            piece => {
                better(&mut best, vec![std::mem::take(&mut run)]);
                if let (Piece::Group(Some(words)), false) = (piece, may_be_absent) {
                    better(&mut best, words);
                }
            }
        }
    }
    better(&mut best, vec![run]);
    best
}

enum Piece {
    Letter(char),
    Group(Option<Vec<String>>),
    Any,
}

/// Keeps the words of which the shortest is longest.
fn better(best: &mut Option<Vec<String>>, words: Vec<String>) {
    let shortest = |words: &[String]| words.iter().map(String::len).min().unwrap_or(0);
    let known = best.as_deref().map_or(0, shortest);
    if shortest(&words) >= RUN && shortest(&words) > known {
        *best = Some(words);
    }
}

fn group(letters: &mut Letters) -> Option<Vec<String>> {
    letters.next();
    if letters.peek() == Some(&'?') {
        // `(?:`, `(?i)`, `(?<name>`: up to what ends the head.
        for letter in letters.by_ref() {
            match letter {
                ')' => return None,
                ':' | '>' => break,
                _ => {}
            }
        }
    }
    let words = alternatives(letters);
    letters.next();
    words
}

fn class(letters: &mut Letters) {
    letters.next();
    if letters.peek() == Some(&'^') {
        letters.next();
    }
    // A bracket that comes first is a member.
    let mut is_first = true;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                letters.next();
            }
            ']' if !is_first => return,
            _ => {}
        }
        is_first = false;
    }
}

/// Whether what stands before may be absent, and whether it may be there several times.
fn quantifier(letters: &mut Letters) -> (bool, bool) {
    let found = match letters.peek() {
        Some('?' | '*') => {
            letters.next();
            (true, true)
        }
        Some('+') => {
            letters.next();
            (false, true)
        }
        Some('{') => {
            letters.next();
            let count: String = letters.by_ref().take_while(|letter| *letter != '}').collect();
            (count.starts_with('0') || count.starts_with(','), true)
        }
        _ => return (false, false),
    };
    if letters.peek() == Some(&'?') {
        letters.next();
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use regex::bytes::{Regex, RegexBuilder};
    use serde_json::{Value, json};

    use super::{Glance, Words};
    use crate::{Table, Test};

    fn words(pattern: &str) -> Option<Vec<String>> {
        Words::of(pattern).0
    }

    #[test]
    fn words_are_those_that_no_match_can_do_without() {
        let some = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(words("no space left"), some(&["no space left"]));
        assert_eq!(
            words(r"\[Errno 28\]|No space left"),
            some(&["[Errno 28]", "No space left"])
        );
        assert_eq!(
            words(r"undefined symbol: (?<symbol>\w+)"),
            some(&["undefined symbol: "])
        );
        assert_eq!(words("(?:first|second) of"), some(&["first", "second"]));
        assert_eq!(words("colou?r of it"), some(&["r of it"]));
        assert_eq!(words("(?i)timed? out"), some(&["time"]));
        assert_eq!(words("a{0,3}abcd"), some(&["abcd"]));
        for pattern in [r"\w+", "", "a|longer word", "x.y.z", "(?:long enough)?", "[Nn]o"] {
            assert_eq!(words(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn a_glance_rules_out_only_what_is_not_there() {
        let glance = Glance::of(
            "RuntimeError: no kernel image",
            &json!({"message": ["Address already in use"], "code": 209}),
        );
        for there in [
            "no KERNEL image",
            "already in use",
            "209",
            "absent words|in use",
            r"\w+",
        ] {
            assert!(Words::of(there).may_be_in(&glance), "{there}");
        }
        for absent in ["out of memory", "image no kernel", r"(?:modules|devices) found"] {
            assert!(!Words::of(absent).may_be_in(&glance), "{absent}");
        }
    }

    /// The patterns of all pages.
    fn patterns() -> Vec<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../causes");
        let pages = fs::read_dir(folder)
            .unwrap()
            .map(|page| fs::read_to_string(page.unwrap().path()).unwrap());
        let mut patterns = Vec::new();
        for page in pages {
            let Some(front) = page.strip_prefix("+++\n").and_then(|page| page.split_once("\n+++\n")) else {
                continue;
            };
            let tables = toml::from_str::<Value>(front.0).unwrap()["recognise"].take();
            for table in tables.as_array().into_iter().flatten() {
                let table: Table = serde_json::from_value(table.clone()).unwrap();
                patterns.extend(table.text);
                patterns.extend(table.particulars.into_values().filter_map(|test| match test {
                    Test::All(members) => members.matches,
                    Test::Is(_) => None,
                }));
            }
        }
        patterns
    }

    /// Lines of the corpus's logs that say that something failed.
    fn lines() -> BTreeSet<String> {
        const SAYS: [&str; 6] = ["Error", "error", "Xid", "failed", "WARN", "Exception"];
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
        let cases = fs::read_dir(corpus)
            .unwrap()
            .filter_map(|case| fs::read_dir(case.unwrap().path()).ok());
        let files = cases.flatten().map(|file| file.unwrap().path());
        let texts = files.filter_map(|file| fs::read_to_string(file).ok());
        let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
        lines
            .filter(|line| line.len() < 600 && SAYS.iter().any(|word| line.contains(word)))
            .collect()
    }

    /// The numbers of the lines that a pattern matches in a text of lines.
    ///
    /// One search through all of it takes far less time than one for each line. A match may go on over the end of its
    /// line: so it only says which line to look at, and the next search begins with the line after that.
    fn matching(pattern: &Regex, text: &str, ends: &[usize]) -> Vec<usize> {
        let (mut matching, mut start) = (Vec::new(), 0);
        while let Some(found) = pattern.find_at(text.as_bytes(), start) {
            let number = ends.partition_point(|end| *end < found.start());
            let Some(end) = ends.get(number) else { break };
            let begin = number.checked_sub(1).map_or(0, |before| ends[before] + 1);
            if pattern.is_match(&text.as_bytes()[begin..*end]) {
                matching.push(number);
            }
            start = end + 1;
        }
        matching
    }

    #[test]
    fn no_pattern_of_a_page_is_passed_over_for_a_line_that_it_matches() {
        // The language is `regex-lite`'s, whose matching all lines would take minutes: as in it, `\w` and `(?i)` are
        // ASCII's.
        let compiled = |pattern: &String| {
            let built = |unicode| RegexBuilder::new(pattern).unicode(unicode).multi_line(true).build();
            built(false).unwrap_or_else(|_| built(true).unwrap())
        };
        let lines: Vec<String> = lines().into_iter().collect();
        let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        assert_eq!(ends.len(), lines.len());
        let glances: Vec<Glance> = lines.iter().map(|line| Glance::of(line, &json!(null))).collect();
        let (mut matches, mut spared) = (0, 0);
        for pattern in patterns() {
            let words = Words::of(&pattern);
            let may: Vec<bool> = glances.iter().map(|glance| words.may_be_in(glance)).collect();
            spared += may.iter().filter(|may| !**may).count();
            for number in matching(&compiled(&pattern), &text, &ends) {
                assert!(may[number], "{pattern} passes over {:?}", lines[number]);
                matches += 1;
            }
        }
        assert!(
            matches > 100 && spared > 10 * matches,
            "{matches} matches, {spared} spared"
        );
    }
}
