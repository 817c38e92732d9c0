//! Words that a pattern can not match without, read from the pattern itself.
//!
//! Most patterns hold some, and a text that lacks them needs no matching.

use std::iter::Peekable;
use std::str::CharIndices;

use serde::{Deserialize, Serialize};

use crate::glance::{Glance, RUN};

/// Words of which every text that a pattern matches has at least one; `None` where nothing is certain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Words(Option<Vec<String>>);

impl Words {
    pub(crate) fn of(pattern: &str) -> Self {
        Self(parts(pattern).and_then(|parts| one_of(parts.into_iter().map(|part| part.needs))))
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

/// Words of which every match has at least one.
pub(crate) type Set = Vec<String>;

/// One of the alternatives of which a pattern is made.
#[derive(Clone, Debug)]
pub(crate) struct Alternative {
    /// The pattern of this one, with the flags that the whole begins with.
    pub(crate) pattern: String,
    /// Of each of these, every match has a word; case does not count.
    needs: Vec<Set>,
}

impl Alternative {
    /// Of each of these, in this order, every match has a word; case does not count.
    pub(crate) fn needs(&self) -> &[Set] {
        &self.needs
    }

    /// Whether it may match a text that is part of what was glanced at.
    pub(crate) fn may_match(&self, glance: &Glance) -> bool {
        self.has_what_it_needs(|word| glance.may_have(word))
    }

    /// Whether it may match this text.
    pub(crate) fn may_match_in(&self, text: &str) -> bool {
        self.has_what_it_needs(|word| has(text.as_bytes(), word))
    }

    fn has_what_it_needs(&self, has: impl Fn(&[u8]) -> bool) -> bool {
        let has_one = |words: &Set| words.iter().any(|word| has(word.as_bytes()));
        self.needs.iter().all(has_one)
    }
}

/// Whether a word is in a text; case does not count.
fn has(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

/// The alternatives of a pattern, in their order; all of it as one, where it can not be taken apart.
pub(crate) fn alternatives(pattern: &str) -> Vec<Alternative> {
    let whole = |needs: Option<Set>| Alternative {
        pattern: pattern.to_owned(),
        needs: needs.into_iter().collect(),
    };
    let (flags, rest) = pattern.split_at(flags(pattern).unwrap_or(0));
    let Some(parts) = parts(pattern) else {
        return vec![whole(None)];
    };
    if rest
        .match_indices("(?")
        .any(|(at, _)| self::flags(&rest[at..]).is_some())
    {
        // They hold of what follows, be it in another alternative.
        return vec![whole(one_of(parts.into_iter().map(|part| part.needs)))];
    }
    let flagged = |part: Part| Alternative {
        pattern: format!("{flags}{}", part.written.strip_prefix(flags).unwrap_or(part.written)),
        needs: part.needs,
    };
    parts.into_iter().map(flagged).collect()
}

/// One of the alternatives of a pattern, as it is written.
struct Part<'p> {
    written: &'p str,
    needs: Vec<Set>,
}

/// The alternatives of a pattern; `None` where it is not understood.
fn parts(pattern: &str) -> Option<Vec<Part<'_>>> {
    if ignores_space(pattern) {
        return None;
    }
    let mut letters = pattern.char_indices().peekable();
    let mut parts = Vec::new();
    let mut start = 0;
    loop {
        let needs = sequence(&mut letters);
        let end = letters.peek().map_or(pattern.len(), |(at, _)| *at);
        let written = &pattern[start..end];
        parts.push(Part { written, needs });
        match letters.next() {
            Some((at, '|')) => start = at + 1,
            Some(_) => return None,
            None => return Some(parts),
        }
    }
}

/// The length of what sets flags for all that follows, such as `(?i)`, where a text begins with it.
fn flags(text: &str) -> Option<usize> {
    let (flags, _) = text.strip_prefix("(?")?.split_once(')')?;
    let are_flags = flags.chars().all(|flag| flag.is_ascii_alphabetic() || flag == '-');
    are_flags.then(|| flags.len() + "(?)".len())
}

/// Whether the flag `x` may be set somewhere, with which a space stands for nothing.
fn ignores_space(pattern: &str) -> bool {
    let is_set = |head: &str| {
        let flags = head
            .chars()
            .take_while(|flag| flag.is_ascii_alphabetic() || *flag == '-');
        flags.into_iter().any(|flag| flag == 'x')
    };
    pattern.split("(?").skip(1).any(is_set)
}

type Letters<'p> = Peekable<CharIndices<'p>>;

fn next(letters: &mut Letters) -> Option<char> {
    letters.next().map(|(_, letter)| letter)
}

fn peek(letters: &mut Letters) -> Option<char> {
    letters.peek().map(|(_, letter)| *letter)
}

/// What every match of one of several alternatives has one of: the best words of each of them.
fn one_of(alternatives: impl Iterator<Item = Vec<Set>>) -> Option<Set> {
    let best = alternatives.map(best).collect::<Option<Vec<Set>>>();
    best.map(|words| words.concat())
}

/// The words of which the shortest is longest, the first of those.
fn best(needs: Vec<Set>) -> Option<Set> {
    let shortest = |words: &Set| words.iter().map(String::len).min().unwrap_or(0);
    needs.into_iter().rev().max_by_key(shortest)
}

/// What one alternative can not do without.
fn sequence(letters: &mut Letters) -> Vec<Set> {
    let mut needs = Vec::new();
    let mut run = String::new();
    let end = |run: &mut String, needs: &mut Vec<Set>| {
        let run = std::mem::take(run);
        if run.len() >= RUN {
            needs.push(vec![run]);
        }
    };
    while let Some(letter) = peek(letters) {
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
                escaped(letters)
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
                    end(&mut run, &mut needs);
                }
            }
            piece => {
                end(&mut run, &mut needs);
                if let (Piece::Group(of_group), false) = (piece, may_be_absent) {
                    needs.extend(of_group);
                }
            }
        }
    }
    end(&mut run, &mut needs);
    needs
}

enum Piece {
    Letter(char),
    Group(Vec<Set>),
    Any,
}

/// What stands behind a backslash.
fn escaped(letters: &mut Letters) -> Piece {
    match next(letters) {
        Some(letter) if !letter.is_ascii_alphanumeric() => Piece::Letter(letter),
        Some(code @ ('x' | 'u' | 'U')) => {
            skip_code(code, letters);
            Piece::Any
        }
        _ => Piece::Any,
    }
}

/// Skips the digits of `\x27`, `\u{2019}` and the like: letters that are not worth reading.
fn skip_code(code: char, letters: &mut Letters) {
    if peek(letters) == Some('{') {
        letters.find(|(_, letter)| *letter == '}');
        return;
    }
    let digits = match code {
        'x' => 2,
        'u' => 4,
        _ => 8,
    };
    letters.take(digits).for_each(drop);
}

/// What every match of a group has.
fn group(letters: &mut Letters) -> Vec<Set> {
    letters.next();
    if peek(letters) == Some('?') {
        // `(?:`, `(?i:`, `(?<name>`: up to what ends the head. A group of flags has nothing else.
        if letters
            .find(|(_, letter)| matches!(letter, ':' | '>' | ')'))
            .is_none_or(|(_, end)| end == ')')
        {
            return Vec::new();
        }
    }
    let mut alternatives = vec![sequence(letters)];
    while peek(letters) == Some('|') {
        letters.next();
        alternatives.push(sequence(letters));
    }
    letters.next();
    match alternatives.len() {
        1 => alternatives.swap_remove(0),
        _ => one_of(alternatives.into_iter()).into_iter().collect(),
    }
}

fn class(letters: &mut Letters) {
    letters.next();
    if peek(letters) == Some('^') {
        letters.next();
    }
    // A bracket that comes first is a member.
    let mut is_first = true;
    while let Some(letter) = next(letters) {
        match letter {
            '\\' => {
                letters.next();
            }
            // `[:alpha:]`.
            '[' if peek(letters) == Some(':') => {
                letters.find(|(_, letter)| *letter == ']');
            }
            ']' if !is_first => return,
            _ => {}
        }
        is_first = false;
    }
}

/// Whether what stands before may be absent, and whether it may be there several times.
fn quantifier(letters: &mut Letters) -> (bool, bool) {
    let found = match peek(letters) {
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
            let count: String = letters
                .by_ref()
                .map_while(|(_, letter)| (letter != '}').then_some(letter))
                .collect();
            (count.starts_with('0') || count.starts_with(','), true)
        }
        _ => return (false, false),
    };
    if peek(letters) == Some('?') {
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

    use super::{Words, alternatives};
    use crate::glance::Glance;
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
        assert_eq!(words(r"can\x27t\x{20}open it\u{2026}\u0020"), some(&["open it"]));
        for pattern in [
            r"\w+",
            "",
            "a|longer word",
            "x.y.z",
            "(?:long enough)?",
            "[Nn]o",
            "(?ix) long words",
            "(?x:long words)",
        ] {
            assert_eq!(words(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_is_taken_apart_into_its_alternatives() {
        let apart = |pattern: &str| {
            let one = |one: super::Alternative| format!("{} needs {}", one.pattern, one.needs.concat().join("/"));
            alternatives(pattern).into_iter().map(one).collect::<Vec<_>>()
        };
        assert_eq!(
            apart(r"one (?:two|three){1,2}|[|]a(b|c)\\|\|\(four"),
            [
                "one (?:two|three){1,2} needs one /two/three",
                r"[|]a(b|c)\\ needs ",
                r"\|\(four needs |(four"
            ]
        );
        assert_eq!(
            apart("(?i)expected (?:a|b) .{0,80}but (?<got>got it)|None"),
            [
                "(?i)expected (?:a|b) .{0,80}but (?<got>got it) needs expected /but /got it",
                "(?i)None needs None"
            ]
        );
        assert_eq!(
            apart("[[:alpha:]]|long]?er"),
            ["[[:alpha:]] needs ", "long]?er needs long"]
        );
        assert_eq!(apart(""), [" needs "]);
        assert_eq!(apart("first|(?i)second"), ["first|(?i)second needs first/second"]);
        for whole in ["(?x) long | longer", "long)|longer", "(?s:a|(?i)b)|c"] {
            assert_eq!(apart(whole), [format!("{whole} needs ")]);
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
        let cases = fs::read_dir(whycrash_corpus::folder())
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
