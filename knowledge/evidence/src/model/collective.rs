//! What the ranks of a job were doing together.

use serde::{Deserialize, Serialize};

/// The flight recorders of all ranks in the report, matched by group and sequence number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Collectives {
    /// Ranks whose recorder is in the report.
    pub ranks: Vec<u32>,
    /// What does not match, first divergence first.
    pub verdicts: Vec<CollectiveVerdict>,
}

/// One collective that did not match across ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CollectiveVerdict {
    /// Process group name.
    pub group: String,
    /// Sequence number of the collective in its group.
    pub sequence: u64,
    /// `op-mismatch`, `shape-mismatch`, `dtype-mismatch`, `missing-rank` or `not-completed`.
    pub kind: String,
    /// The ranks that differ from the rest, or are missing.
    pub ranks: Vec<u32>,
    /// What the ranks did, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}
