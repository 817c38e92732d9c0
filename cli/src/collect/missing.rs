//! What could not be got, said so that the next crash leaves more.

use serde::{Deserialize, Serialize};

/// Something that a report lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// What, such as `core dump`.
    pub what: String,
    /// Why it could not be got.
    pub why: String,
    /// What to do so that it can, when something can be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

impl Missing {
    /// Something missing that can be mended.
    pub fn new(what: &str, why: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            what: what.to_owned(),
            why: why.into(),
            mend: Some(mend.into()),
        }
    }

    /// Something missing about which nothing can be done.
    pub fn for_good(what: &str, why: impl Into<String>) -> Self {
        Self {
            what: what.to_owned(),
            why: why.into(),
            mend: None,
        }
    }
}
