//! The documented causes: what is known about why GPU training jobs die.
//!
//! One Markdown file per cause in `knowledge/causes/`, with TOML front matter. They are built into the binary.

use serde::{Deserialize, Serialize};

/// All documented causes.
#[derive(Debug, Default)]
pub struct Catalog {
    causes: Vec<Cause>,
}

/// One documented cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Other ids this page answers for.
    pub also: Vec<String>,
    /// What a person sees.
    pub signs: Vec<String>,
    /// Versions it applies to, in words.
    pub applies_to: Vec<String>,
    /// Version that mends it, if one does.
    pub fixed_in: Option<String>,
    /// What to do, first things first.
    pub fixes: Vec<CauseFix>,
    /// Where the knowledge comes from.
    pub references: Vec<String>,
    /// Path of the program that fails this way, from the project's root.
    pub reproducer: Option<String>,
    /// Where and when it was seen to fail so.
    pub verified: Vec<Verified>,
    /// The page's prose, Markdown.
    #[serde(skip_deserializing)]
    pub body: String,
}

/// Something to do about a cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Verified {
    /// Date, ISO 8601.
    pub date: String,
    /// Hardware and versions.
    pub on: String,
    /// What was observed.
    pub observed: String,
}

impl Catalog {
    /// The causes built into this binary.
    pub fn embedded() -> Self {
        Self::default()
    }

    /// The cause with this id, or the one whose page answers for it.
    pub fn get(&self, id: &str) -> Option<&Cause> {
        self.causes.iter().find(|c| c.id == id || c.also.iter().any(|a| a == id))
    }

    /// All causes, by id.
    pub fn causes(&self) -> &[Cause] {
        &self.causes
    }

    /// Causes that match these words, best first.
    pub fn search(&self, words: &str) -> Vec<&Cause> {
        let _ = words;
        Vec::new()
    }
}
