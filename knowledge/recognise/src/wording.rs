//! A pattern that stands alone.

use regex_lite::Regex;

use crate::{Flaw, condition};

/// How something is worded: a pattern of linear time, compiled.
#[derive(Clone, Debug)]
pub struct Wording(Regex);

impl Wording {
    /// Compiles a pattern; `key` names the member that holds it in what is said of its flaws.
    pub fn new(key: &str, pattern: &str) -> Result<Self, Flaw> {
        condition::compile(key, pattern).map(Self)
    }

    /// Whether a text is worded so.
    pub fn is_in(&self, text: &str) -> bool {
        self.0.is_match(condition::front(text))
    }
}
