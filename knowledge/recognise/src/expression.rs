//! Patterns of tables, compiled as far as a text needs them.
//!
//! There are hundreds of patterns, and the longest are many alternatives, each for one way to say the same. Looking for
//! the words that an alternative can not do without is cheap. Only those that a text has all words for are compiled,
//! which costs more than a hundred such looks, and matched.

use std::sync::OnceLock;

use regex_lite::{Captures, Regex, RegexBuilder};

use crate::Flaw;
use crate::condition::Caught;
use crate::words;

/// Bytes of a value that patterns look at: messages quote whole programs.
const LOOKED_AT: usize = 2 << 10;
/// Bytes of a pattern.
const PATTERN: usize = 2 << 10;
/// Bytes that a pattern may compile to: what it costs to hold a text against it grows with that.
const COMPILED: usize = 1 << 20;

/// A regular expression. One that is not understood, which [`check`] tells, matches nothing.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pattern: String,
    alternatives: OnceLock<Vec<Alternative>>,
}

/// One of the alternatives of an expression; all of it, where it can not be taken apart.
#[derive(Clone, Debug)]
struct Alternative {
    written: words::Alternative,
    regex: OnceLock<Option<Regex>>,
}

impl Expression {
    pub(crate) fn new(pattern: &str) -> Self {
        Self {
            pattern: pattern.to_owned(),
            alternatives: OnceLock::new(),
        }
    }

    fn alternatives(&self) -> &[Alternative] {
        let ready = |written| Alternative {
            written,
            regex: OnceLock::new(),
        };
        self.alternatives
            .get_or_init(|| words::alternatives(&self.pattern).into_iter().map(ready).collect())
    }

    /// Those alternatives for which a text has the words.
    fn regexes_for(&self, text: &str) -> impl Iterator<Item = &Regex> {
        let may_match = |one: &&Alternative| one.written.may_match_in(text);
        self.alternatives()
            .iter()
            .filter(may_match)
            .filter_map(Alternative::regex)
    }

    /// The pattern, as it is written.
    pub(crate) fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Names of its groups.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &str> {
        let regexes = self.alternatives().iter().filter_map(Alternative::regex);
        regexes.flat_map(Regex::capture_names).flatten()
    }

    /// Whether it matches.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        let text = front(text);
        self.regexes_for(text).any(|regex| regex.is_match(text))
    }

    /// Whether it matches; what its named groups caught is added to `caught`.
    pub(crate) fn catch(&self, text: &str, caught: &mut Caught) -> bool {
        let text = front(text);
        let matches = self
            .regexes_for(text)
            .filter_map(|regex| Some((regex, regex.captures(text)?)));
        // Of several alternatives that which matches first in the text does, and where they begin at the same place that
        // which is written first.
        let Some((regex, found)) = matches.min_by_key(|(_, found)| start(found)) else {
            return false;
        };
        for name in regex.capture_names().flatten() {
            if let Some(group) = found.name(name) {
                caught.insert(name.to_owned(), group.as_str().to_owned());
            }
        }
        true
    }
}

impl Alternative {
    fn regex(&self) -> Option<&Regex> {
        self.regex
            .get_or_init(|| Regex::new(&self.written.pattern).ok())
            .as_ref()
    }
}

fn start(found: &Captures) -> Option<usize> {
    found.get(0).map(|all| all.start())
}

/// Says what is wrong with a pattern: it must take linear time and little space.
pub(crate) fn check(pattern: &str) -> Result<(), Flaw> {
    if pattern.len() > PATTERN {
        return Err(Flaw::new(&[], format!("the pattern has more than {PATTERN} bytes")));
    }
    let compiled = RegexBuilder::new(pattern).size_limit(COMPILED).build();
    compiled
        .map(drop)
        .map_err(|error| Flaw::new(&[], format!("the pattern is not understood: {error}")))
}

/// The part of a text that patterns look at.
fn front(text: &str) -> &str {
    let end = (0..=LOOKED_AT.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;
    use regex_lite::Regex;

    use super::Expression;
    use crate::condition::Caught;

    /// What a pattern catches in a text when it is matched as it stands.
    fn as_it_stands(pattern: &str, text: &str) -> Option<Caught> {
        let regex = Regex::new(pattern).expect("it is understood");
        let found = regex.captures(text)?;
        let caught = regex.capture_names().flatten().filter_map(|name| {
            let group = found.name(name)?;
            Some((name.to_owned(), group.as_str().to_owned()))
        });
        Some(caught.collect())
    }

    fn caught(pattern: &str, text: &str) -> Option<Caught> {
        let mut caught = Caught::new();
        let expression = Expression::new(pattern);
        let matches = expression.catch(text, &mut caught);
        assert_eq!(expression.is_in(text), matches, "{pattern} in {text:?}");
        matches.then_some(caught)
    }

    /// Pieces of patterns, most of which match some text of the same few letters.
    fn piece() -> impl Strategy<Value = String> {
        const OTHERS: [&str; 8] = [".", "[ab]", "[[:alpha:]]", "[^]a|]", r"\b", r"\x61", r"\|", "^"];
        let simple = prop_oneof!["[abAB]{1,5}", select(&OTHERS[..]).prop_map(str::to_owned)];
        let quantified = (simple, "(?:|||[?*+]|[{][012],3[}])[?]?");
        // An assertion has nothing to repeat.
        let piece = quantified.prop_map(|(piece, times)| match piece.as_str() {
            "^" | r"\b" => piece,
            _ if times == "?" => format!("{piece}??"),
            _ => piece + &times,
        });
        piece.prop_recursive(2, 12, 3, |inner| {
            let choice = prop::collection::vec(prop::collection::vec(inner, 0..3), 1..4);
            (choice, "(?:|[?*+]|[{]1,2[}])").prop_map(|(choice, times)| {
                let alternatives: Vec<String> = choice.into_iter().map(|pieces| pieces.concat()).collect();
                format!("(?:{}){times}", alternatives.join("|"))
            })
        })
    }

    fn pattern() -> impl Strategy<Value = String> {
        let alternative = prop::collection::vec((piece(), any::<bool>()), 0..4);
        let flags = select(&["", "", "(?i)", "(?s)", "(?x)"][..]);
        (flags, prop::collection::vec(alternative, 1..4)).prop_map(|(flags, alternatives)| {
            let mut names = 0;
            let mut named = |(piece, is_named): (String, bool)| {
                names += 1;
                if is_named {
                    format!("(?<n{names}>{piece})")
                } else {
                    piece
                }
            };
            let written: Vec<String> = alternatives
                .into_iter()
                .map(|pieces| pieces.into_iter().map(&mut named).collect())
                .collect();
            format!("{flags}{}", written.join("|"))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn taken_apart_it_catches_the_same(pattern in pattern(), text in "[abAB|]{0,9}") {
            prop_assert_eq!(caught(&pattern, &text), as_it_stands(&pattern, &text));
        }
    }

    #[test]
    fn the_first_match_wins_then_the_first_alternative() {
        for (pattern, text, expected) in [
            ("(?<late>def)|(?<early>abc)", "abcdef", "early"),
            ("(?<first>abc)|(?<second>abcd)", "abcd", "first"),
            ("(?<first>abx)|(?<second>abc)", "abc", "second"),
            ("(?i)(?<first>ABC)|none", "abc", "first"),
        ] {
            let found = caught(pattern, text).unwrap();
            assert!(found.contains_key(expected), "{pattern}: {found:?}");
            assert_eq!(Some(found), as_it_stands(pattern, text));
        }
        assert_eq!(caught("long words|other", "short"), None);
    }
}
