//! What a report is grouped by, and the line a person knows it by.
//!
//! The key is made of what stays the same when the same defect strikes again on another machine, with other addresses
//! and after unrelated edits: the signal or the exception's type, and the innermost functions that mean something. What
//! counts as machinery is the table of `whycrash-frames`. A report in which nothing failed has no key, and is in no
//! group.

mod code;
mod frames;
mod subject;
mod title;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::Evidence;
use subject::Subject;

pub use code::{CodeLine, code_line, failure_event};
pub use frames::{lead, normalized_function, plain_function};
pub use title::{NO_FAILURE, title};

/// Version of the rules below; a change of what they give is a new version.
pub const VERSION: u32 = 2;

/// Frames that go into a key.
const FRAMES: usize = 3;

/// The grouping key, with the reason for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Signature {
    /// [`VERSION`].
    pub version: u32,
    /// First 16 hex digits of the SHA-256 of `parts`; empty when nothing failed: such reports are not alike.
    pub key: String,
    /// What the key is made of.
    pub parts: Vec<String>,
    /// Why these parts, in words.
    pub why: String,
}

/// The signature of a report.
pub fn signature(evidence: &Evidence) -> Signature {
    let subject = Subject::of(evidence);
    let Some(failure) = subject.failure() else {
        return Signature {
            version: VERSION,
            why: subject.reason().to_owned(),
            ..Signature::default()
        };
    };
    let mut parts = vec![failure];
    let frames = subject.frames(FRAMES);
    let why = match frames.len() {
        0 => format!("{}; no stack names it", subject.reason()),
        1 => format!(
            "{}, and the one function on its stack that is not machinery",
            subject.reason()
        ),
        count => format!(
            "{}, and the innermost {count} functions that are not machinery",
            subject.reason()
        ),
    };
    parts.extend(frames);
    Signature {
        version: VERSION,
        key: key(&parts),
        parts,
        why,
    }
}

/// Each part is hashed with its length, so that no two lists of parts hash the same bytes.
fn key(parts: &[String]) -> String {
    let mut hash = Sha256::new();
    hash.update(VERSION.to_le_bytes());
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hex::encode(hash.finalize().get(..8).unwrap_or_default())
}
