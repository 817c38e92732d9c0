//! What the ranks of a job were doing together.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What ranks did together, judged: their flight recorders matched by group and sequence number, and what NCCL itself
/// knew of its communicators.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Collectives {
    /// Ranks whose recorder is in the report.
    pub ranks: Vec<u32>,
    /// Ranks that a group names and whose recorder is not in the report.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranks_without_recorder: Vec<u32>,
    /// What does not match, first divergence first (bounded).
    pub verdicts: Vec<CollectiveVerdict>,
    /// Ranks that others wait for and that wait for nobody themselves: where to look first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub culprits: Vec<u32>,
    /// Ranks that wait for each other in a circle, each for the next and the last for the first: nobody of them is to
    /// blame more than the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub circle: Vec<u32>,
    /// Ranks that had started fewer operations than others at the only moment at which somebody asked NCCL: a second
    /// look some seconds later tells whether they are stuck or were about to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind_once: Vec<u32>,
}

/// One collective that did not match across ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CollectiveVerdict {
    /// Process group name.
    pub group: String,
    /// What the program calls the group, such as `TENSOR_MODEL_PARALLEL_GROUP`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group_description: String,
    /// Sequence number of the collective in its group; of a send or receive, its number among those of the rank that
    /// waits, which other ranks do not share.
    pub sequence: u64,
    /// Of flight recorders `op-mismatch`, `shape-mismatch`, `dtype-mismatch`, `missing-rank` or `not-completed`. Of
    /// communicators `dead-rank`, `failed-rank`, `unresponsive-rank`, and `behind-rank` (it did not move while others
    /// waited).
    pub kind: String,
    /// The ranks that differ from the rest, or are missing.
    pub ranks: Vec<u32>,
    /// What the ranks did, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The operation as most ranks recorded it, such as `nccl:all_reduce`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub operation: String,
    /// Ranks that entered the collective, as far as their recorders tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entered: Vec<u32>,
    /// When the first rank entered it: RFC 3339, by that rank's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// True for a send or receive: those that entered and those that are missing are the two ends of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub point_to_point: bool,
    /// Where the program called it, innermost first, as `function (file:line)`: a rank that differs if there is one
    /// that recorded its stack, else one that entered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<String>,
}
