//! What a cause document says.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use whycrash_recognise::Table;

/// One documented cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Cause {
    /// Kebab-case, family first, such as `oom-fragmentation`; the name of its file.
    pub id: String,
    /// One line.
    pub title: String,
    /// A few sentences.
    pub summary: String,
    /// `fatal`, `wrong-results`, `slow` or `notice`.
    pub severity: String,
    /// Who owns the failure: `program`, `data`, `environment`, `framework`, `hardware`, `network` or `operator`;
    /// `unknown` where that is what has to be found out.
    pub domain: String,
    /// Whether it is worth a second try.
    pub retry: Retry,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Other ids this page answers for.
    pub also: Vec<String>,
    /// For a family: the causes that look alike, and that this page stands for where the evidence can not tell them
    /// apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// Holds of so much that it is only said where nothing else is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub last_resort: bool,
    /// What follows from it, and looks like a failure of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leads_to: Vec<Consequence>,
    /// What a person sees.
    pub signs: Vec<String>,
    /// The signs that a machine can check, as tables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    pub recognise: Vec<Table>,
    /// Why no artifact tells it, where none does: it is documented for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub undetectable: String,
    /// Versions it applies to, in words.
    pub applies_to: Vec<String>,
    /// Version that mends it, if one does.
    pub fixed_in: Option<String>,
    /// What to do, first things first.
    pub fixes: Vec<CauseFix>,
    /// Where the knowledge comes from.
    pub references: Vec<String>,
    /// When all of them were last opened and found to say so, ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub references_opened: Option<String>,
    /// Path of the program that fails this way, from the project's root.
    pub reproducer: Option<String>,
    /// Where and when it was seen to fail so.
    pub verified: Vec<Verified>,
    /// Where the page comes from when it is not one of ours: `plugin NAME`, or `folder NAME`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub origin: String,
    /// The page's prose, Markdown. Links to other causes are relative file names, such as `oom-exhaustion.md`.
    pub body: String,
}

/// Whether a second try is worth it, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Retry {
    /// `retry`, `retry-elsewhere` (on another machine), `change-first` (the same again fails again), `ask-owner`
    /// (somebody ended it on purpose, or has to act), or `unknown`.
    pub advice: String,
    /// Why, in a sentence; empty when the advice is `unknown`.
    pub because: String,
}

/// What a cause leads to: other events, and findings that rest on those alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Consequence {
    /// Id of the cause that it looks like.
    pub cause: String,
    /// A pattern that the events' texts match.
    pub says: String,
}

/// Something to do about a cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CauseFix {
    /// In a line.
    pub summary: String,
    /// How, step by step.
    pub steps: Vec<String>,
    /// When it is the wrong thing to do.
    pub not_when: Option<String>,
}

/// One time that a cause was reproduced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Verified {
    /// Date, ISO 8601.
    pub date: String,
    /// Hardware and versions.
    pub on: String,
    /// What was observed.
    pub observed: String,
}

impl Cause {
    /// Whether this page is the one for `id`: by its own id, or by one it lists in `also`.
    pub fn answers_for(&self, id: &str) -> bool {
        self.id == id || self.also.iter().any(|also| also == id)
    }
}
