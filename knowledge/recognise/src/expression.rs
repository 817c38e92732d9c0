//! Patterns of tables, compiled when a text first has to be looked at.
//!
//! There are hundreds, a glance rules most of them out, and compiling one costs more than a hundred glances.

use std::sync::OnceLock;

use regex_lite::Regex;

use crate::Flaw;
use crate::condition::Caught;

/// Bytes of a value that patterns look at: messages quote whole programs.
const LOOKED_AT: usize = 2 << 10;
/// Bytes of a pattern.
const PATTERN: usize = 2 << 10;

/// A regular expression. One that is not understood, which [`check`] tells, matches nothing.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pattern: String,
    regex: OnceLock<Option<Regex>>,
}

impl Expression {
    pub(crate) fn new(pattern: &str) -> Self {
        Self {
            pattern: pattern.to_owned(),
            regex: OnceLock::new(),
        }
    }

    fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| Regex::new(&self.pattern).ok()).as_ref()
    }

    /// Names of its groups.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &str> {
        self.regex().into_iter().flat_map(Regex::capture_names).flatten()
    }

    /// Whether it matches.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(front(text)))
    }

    /// Whether it matches; what its named groups caught is added to `caught`.
    pub(crate) fn catch(&self, text: &str, caught: &mut Caught) -> bool {
        let Some(found) = self.regex().and_then(|regex| regex.captures(front(text))) else {
            return false;
        };
        for name in self.groups() {
            if let Some(group) = found.name(name) {
                caught.insert(name.to_owned(), group.as_str().to_owned());
            }
        }
        true
    }
}

/// Says what is wrong with a pattern: it must take linear time and little space.
pub(crate) fn check(key: &str, pattern: &str) -> Result<(), Flaw> {
    if pattern.len() > PATTERN {
        return Err(Flaw::new(key, format!("the pattern has more than {PATTERN} bytes")));
    }
    match Regex::new(pattern) {
        Ok(_) => Ok(()),
        Err(error) => Err(Flaw::new(key, format!("the pattern is not understood: {error}"))),
    }
}

/// The part of a text that patterns look at.
fn front(text: &str) -> &str {
    let end = (0..=LOOKED_AT.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}
