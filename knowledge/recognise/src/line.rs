//! Lines of a text, for tables that look for what no reader makes an event of.
//!
//! A text may have millions of lines. So whoever evaluates tables does not hold their patterns against each: it looks for
//! the words that a pattern can not match without, which costs the same whatever the pattern is like, and holds the
//! pattern against the lines that have them.

use crate::Flaw;
use crate::expression::Expression;
use crate::table::Table;
use crate::words::{self, Alternative};

/// Kind of the events that are lines. They are in no timeline: what a table asks for is looked for in the texts.
pub const LINE: &str = "line";

/// Bytes of a pattern that a search takes.
const SEARCHED: usize = 2 << 10;

/// Lines that a table asks for: how they are found, and what they match.
#[derive(Clone, Debug)]
pub struct LineSearch {
    /// A regular expression of nothing but words and gaps, which all such lines match, and perhaps others.
    pub words: String,
    text: Expression,
}

impl LineSearch {
    /// The lines that a table asks for: itself, or in `with` and `without`. What has no words is not looked for.
    pub fn all(table: &Table) -> Vec<Self> {
        let others = table.with.iter().chain(&table.without);
        let others = others.map(|pattern| (&pattern.kind, &pattern.text));
        let asked = std::iter::once((&table.kind, &table.text)).chain(others);
        let lines = asked.filter(|(kind, _)| *kind == LINE);
        lines
            .filter_map(|(_, text)| {
                let text = text.as_deref()?;
                Some(Self {
                    words: words_of(text)?,
                    text: Expression::new(text),
                })
            })
            .collect()
    }

    /// Whether a line that has the words is one that is asked for.
    pub fn is_in(&self, line: &str) -> bool {
        self.text.is_in(line)
    }
}

/// Says what is wrong with the pattern of a line.
pub(crate) fn check(text: Option<&str>) -> Result<(), Flaw> {
    let Some(text) = text else {
        return Err(Flaw::new(&["kind"], "a line is found by its `text`: add a pattern"));
    };
    match words_of(text) {
        Some(words) if words.len() <= SEARCHED => Ok(()),
        Some(_) => Err(Flaw::new(&["text"], "the pattern has too many words to look for")),
        None => Err(Flaw::new(
            &["text"],
            "a line is found by its words: of each alternative, every line must have a word of three letters or more",
        )),
    }
}

/// The words that every text has which the pattern matches, in their order, with gaps between; of several alternatives
/// those of one of them.
fn words_of(pattern: &str) -> Option<String> {
    let alternatives = words::alternatives(pattern);
    let found: Option<Vec<String>> = alternatives.iter().map(in_order).collect();
    Some(format!("(?i)(?:{})", found?.join("|")))
}

fn in_order(alternative: &Alternative) -> Option<String> {
    let one_of = |words: &Vec<String>| {
        let words: Vec<String> = words.iter().map(|word| escaped(word)).collect();
        format!("(?:{})", words.join("|"))
    };
    let words: Vec<String> = alternative.needs().iter().map(one_of).collect();
    (!words.is_empty()).then(|| words.join("(?s-u:.*)"))
}

fn escaped(word: &str) -> String {
    let is_special = |letter: char| r"\.+*?()|[]{}^$#&-~".contains(letter);
    let mut escaped = String::with_capacity(word.len());
    for letter in word.chars() {
        if is_special(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use regex::bytes::Regex;

    use super::{LineSearch, check};
    use crate::Table;

    fn searches(text: &str) -> Vec<LineSearch> {
        let table = format!("kind = \"line\"\ntext = '''{text}'''\nconfidence = 0.5\nexplanation = \"x\"");
        let table: Table = toml::from_str(&table).expect("a table");
        LineSearch::all(&table)
    }

    #[test]
    fn every_line_that_a_pattern_matches_is_found_by_its_words() {
        for (pattern, line) in [
            (
                r"licen[cs]e server .* said no",
                "12:01 licence server lic-7 said no (5)",
            ),
            (r"^\[E\d+\] quota (?:exceeded|used up)", "[E17] quota used up"),
            (
                r"node (?<node>\w+) drained|(?i)maintenance of \S+",
                "MAINTENANCE of rack 7",
            ),
            (r"a\.b\[0\] \(done\)", "a.b[0] (done)"),
            (r"disque plein à l'étage", "disque plein à l'étage 2"),
        ] {
            let [search] = searches(pattern).try_into().expect("one search");
            let words = Regex::new(&search.words).expect("words are a pattern");
            assert!(words.is_match(line.as_bytes()), "{} passes over {line:?}", search.words);
            assert!(search.is_in(line), "{pattern}: {line:?}");
            assert!(!words.is_match(b"step 12 loss 2.9"), "{}", search.words);
        }
    }

    #[test]
    fn a_pattern_without_words_is_no_pattern_of_a_line() {
        for pattern in [r"\d+", ".*", "ab|licence", "(?:licence)?", "x{3}"] {
            assert!(check(Some(pattern)).is_err(), "{pattern}");
            assert!(searches(pattern).is_empty(), "{pattern}");
        }
        assert!(check(None).is_err());
        assert!(check(Some("licence|quota")).is_ok());
    }
}
