//! A pattern that stands alone.

use crate::Flaw;
use crate::expression::{self, Expression};

/// How something is worded: a pattern of linear time.
#[derive(Clone, Debug)]
pub struct Wording(Expression);

impl Wording {
    /// Checks a pattern; `path` leads to the member that holds it, for what is said of its flaws.
    pub fn new(path: &[&str], pattern: &str) -> Result<Self, Flaw> {
        expression::check(pattern).map_err(|flaw| flaw.within(path))?;
        Ok(Self(Expression::new(pattern)))
    }

    /// Whether a text is worded so.
    pub fn is_in(&self, text: &str) -> bool {
        self.0.is_in(text)
    }
}
