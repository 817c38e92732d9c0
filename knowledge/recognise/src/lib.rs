//! Recognise tables: the signs of a documented cause that a machine can check.
//!
//! A table says what kind of event must have happened and what must hold of it. It is data, written by whoever
//! documents the cause and knows no code, in the cause's own page:
//!
//! ```toml
//! [[recognise]]
//! kind = "python-exception"
//! where.exception = "ImportError"
//! where.message = { matches = 'undefined symbol: (?<symbol>\w+)' }
//! confidence = 0.85
//! explanation = "Loading a library failed, because nothing that is loaded defines `{symbol}`."
//! ```
//!
//! [`Table`] is what is written, [`Rule`] the same once it is ready to be used, and [`Rule::matches`] holds it against
//! an event. Patterns take linear time (no look-around, no back-references). What happened is read as JSON, in the form
//! of the report document, so that this crate knows no more of evidence than a page's author.

use std::fmt;

mod condition;
mod expression;
mod frame;
mod glance;
mod line;
mod rule;
mod said;
mod shown;
mod sign;
mod table;
mod template;
mod test;
mod trial;
mod wanted;
mod wording;
mod words;

pub use condition::Condition;
pub use frame::Framed;
pub use line::{LINE, LineSearch};
pub use rule::{Happened, Match, Rule, Surroundings};
pub use said::{SAYING, as_exception};
pub use shown::Shown;
pub use sign::Sign;
pub use table::{FramePattern, Pattern, Table};
pub use test::{Members, Scalar, Test};
pub use trial::Trial;
pub use wording::Wording;

/// What is wrong with a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The way to the member it is about, such as `with`, `0`, `where`, `message`: of lists the position of an entry.
    pub path: Vec<String>,
    /// What is wrong, and what to write instead.
    pub message: String,
}

/// Written out: a macro for it would have cargo compile `syn`, and all macros of the plugins' interface, with features that
/// they do not have in an author's project, and so a second time where both are built.
impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_name = |step: &&String| step.parse::<usize>().is_err();
        let names: Vec<&str> = self.path.iter().filter(is_name).map(String::as_str).collect();
        write!(f, "`{}`: {}", names.join("."), self.message)
    }
}

impl std::error::Error for Flaw {}

impl Flaw {
    /// A flaw of the member that this way leads to.
    pub fn new(path: &[&str], message: impl Into<String>) -> Self {
        Self {
            path: path.iter().map(|step| (*step).to_owned()).collect(),
            message: message.into(),
        }
    }

    /// The same flaw, of a member of this one.
    #[must_use]
    pub fn within(self, path: &[&str]) -> Self {
        let outer = path.iter().map(|step| (*step).to_owned());
        Self {
            path: outer.chain(self.path).collect(),
            ..self
        }
    }
}
