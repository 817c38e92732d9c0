//! What the ranks of a job were doing together.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The flight recorders of all ranks in the report, matched by group and sequence number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// What the verdicts were made from; it does not leave the process.
    #[serde(skip)]
    pub recorders: Vec<Recorder>,
}

/// One collective that did not match across ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// `op-mismatch`, `shape-mismatch`, `dtype-mismatch`, `missing-rank` or `not-completed`.
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

/// The flight recorder of one rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorder {
    /// The artifact this was read from.
    pub artifact: String,
    /// From the artifact's name: the file itself does not say.
    pub rank: Option<u32>,
    /// Format version, such as `2.10`.
    pub version: String,
    /// Groups by name, with their ranks.
    pub groups: BTreeMap<String, RecorderGroup>,
    /// How far each group is, by its number in this process.
    pub progress: BTreeMap<u64, Progress>,
    /// What the ring still holds, oldest first.
    pub entries: Vec<RecorderEntry>,
    /// Bytes of its distinct names, shapes and stacks.
    pub text_bytes: usize,
}

/// A process group as one rank knows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecorderGroup {
    /// What the program calls it.
    pub description: String,
    /// Global ranks in it.
    pub ranks: Vec<u32>,
}

/// Sequence numbers of one group on one rank; absent for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Last collective handed to the backend.
    pub enqueued: Option<u64>,
    /// Last collective known to be complete.
    pub completed: Option<u64>,
}

/// One operation of one rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecorderEntry {
    /// Counts all operations of the process.
    pub record: u64,
    /// Number of the group in this process.
    pub group_number: u64,
    /// Name of the group.
    pub group: Arc<str>,
    /// What the program calls the group.
    pub group_description: Arc<str>,
    /// Collectives of this group so far, this one included.
    pub sequence: u64,
    /// Backend and operation, such as `nccl` and `all_reduce`.
    pub backend: Arc<str>,
    /// See `backend`.
    pub operation: Arc<str>,
    /// Sizes of all inputs, as written: `[[8, 4]]`.
    pub input_sizes: Arc<str>,
    /// Sizes of all outputs.
    pub output_sizes: Arc<str>,
    /// Types of all inputs: `[Float]`.
    pub input_dtypes: Arc<str>,
    /// Types of all outputs.
    pub output_dtypes: Arc<str>,
    /// How far it came.
    pub state: EntryState,
    /// True when nobody waits for it any more: it completed or was given up.
    pub retired: bool,
    /// True for a send or receive, and for the call that closes a batch of them.
    pub point_to_point: bool,
    /// Sends and receives of this group so far; those of one batch may share a number.
    pub point_to_point_sequence: u64,
    /// Between whom, for a send or receive.
    pub peers: Option<Peers>,
    /// Nanoseconds since the epoch at which it was handed to the backend.
    pub created_ns: u64,
    /// The latest time the recorder has for it: handed over, seen running or seen complete.
    pub seen_ns: u64,
    /// Milliseconds after which the backend gives it up; absent where the dump does not say.
    pub timeout_ms: Option<u64>,
    /// The stack that called it, innermost first; empty when not recorded.
    pub frames: Arc<[String]>,
}

/// The two ends of a send or receive, as ranks of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peers {
    /// Absent for a receive from whoever sends first.
    pub source: Option<u32>,
    /// See `source`.
    pub destination: u32,
}

/// How far an operation came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntryState {
    /// Handed to the backend. Gloo entries stay here even when all is well.
    #[default]
    Scheduled,
    /// Seen running on the device.
    Started,
    /// Seen complete.
    Completed,
}
