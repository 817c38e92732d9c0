//! What was wrong with an artifact, said so that a person can act on it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Place;

/// One named defect of an artifact. Reading goes on after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// A stable kebab-case name, such as `truncated` or `limit-events`.
    pub code: String,
    /// What happened, to what, and what to do next; lower case, no trailing stop.
    pub message: String,
    /// Where in the artifact, when that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
}

/// Codes of problems after which an artifact, or what may have been its most telling part, was not looked into, in the
/// order of the alphabet.
const UNREAD: [&str; 25] = [
    "bad-json",
    "damaged",
    "damaged-compression",
    "damaged-json",
    "damaged-minidump",
    "damaged-xml",
    "encrypted",
    "limit-decompressed-bytes",
    "limit-expansion-ratio",
    "limit-json-bytes",
    "limit-json-values",
    "limit-members",
    "limit-report-text-bytes",
    "limit-report-time",
    "limit-text-bytes",
    "limit-unpacked-bytes",
    "nested-compression",
    "no-memory",
    "not-unpacked",
    "pickle-protocol",
    "truncated",
    "unknown-format",
    "unknown-machine",
    "unreadable",
    "unsupported-format",
];

impl Problem {
    /// A problem with the artifact as a whole.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            at: None,
        }
    }

    /// The same problem, tied to a place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.at = Some(place);
        self
    }

    /// True where an artifact, or the part of it that may tell most, was not looked into: a report in which nothing
    /// was found beside such a problem could not be read, which is not the same as that nothing failed.
    pub fn leaves_unread(&self) -> bool {
        UNREAD.contains(&self.code.as_str())
    }
}
