//! A pattern that stands alone.

use crate::Flaw;
use crate::expression::{self, Expression};

/// How something is worded: a pattern of linear time.
#[derive(Clone, Debug)]
pub struct Wording(Expression);

impl Wording {
    /// Checks a pattern; `key` names the member that holds it in what is said of its flaws.
    pub fn new(key: &str, pattern: &str) -> Result<Self, Flaw> {
        expression::check(key, pattern)?;
        Ok(Self(Expression::new(pattern)))
    }

    /// Whether a text is worded so.
    pub fn is_in(&self, text: &str) -> bool {
        self.0.is_in(text)
    }
}
