//! What an author writes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::test::Test;

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

fn yes() -> bool {
    true
}
