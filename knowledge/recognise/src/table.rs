//! What an author writes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The signs of a cause, as they are written in its page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Kind of the event that shows the cause, such as `python-exception`.
    pub kind: String,
    /// A pattern that the event's text matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What must hold of the event's particulars, by dotted path.
    #[serde(default, rename = "where", skip_serializing_if = "BTreeMap::is_empty")]
    pub particulars: BTreeMap<String, Test>,
    /// What must hold of what the collector wrote down, by dotted path, such as `environment.CUDA_LAUNCH_BLOCKING`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub context: BTreeMap<String, Test>,
    /// What must hold of the rest of the evidence, by dotted path, such as `crash.signal`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Test>,
    /// Events that must have happened too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<Pattern>,
    /// Events that must not have happened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<Pattern>,
    /// Frames that must be on the event's own stack, or where it has none on a crashed thread's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<FramePattern>,
    /// Frames that must not be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_frames: Vec<FramePattern>,
    /// Whether the event must be no consequence of another; true unless it says otherwise.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub primary: bool,
    /// How sure that makes, from 0 to 1.
    pub confidence: f64,
    /// A more exact title than the page's; `{name}` as in the explanation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Why, about this very crash. `{name}` stands for a named group of a pattern or a tested particular.
    pub explanation: String,
}

/// Another event, and what must hold of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    /// Kind of the event.
    pub kind: String,
    /// A pattern that its text matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What must hold of its particulars.
    #[serde(default, rename = "where", skip_serializing_if = "BTreeMap::is_empty")]
    pub particulars: BTreeMap<String, Test>,
}

/// A frame of a stack: all that is said must hold of one and the same frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FramePattern {
    /// `native`, `python` or `gpu`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub world: Option<String>,
    /// `program`, `library` or `machinery`: whose the frame is, going by its names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whose: Option<String>,
    /// A pattern that the function's name matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// A pattern that the path of the source file matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// A pattern that the path of the binary matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// It is among so many innermost frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<usize>,
}

/// What must hold of a value: that it is this one, or what the members say, all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a test is a value, or a table of `one_of`, `none_of`, `matches`, `lacks`, `from`, `to` and `present`"
)]
pub enum Test {
    /// It is this value.
    Is(Scalar),
    /// All of this holds.
    All(Members),
}

/// The members of a test that is no plain value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Members {
    /// It is one of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Scalar>,
    /// It is none of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub none_of: Vec<Scalar>,
    /// As text, it matches this pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// As text, it does not match this pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
    /// It is no smaller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<f64>,
    /// It is no larger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// It is there, or it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub present: Option<bool>,
}

/// A plain value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

fn yes() -> bool {
    true
}
