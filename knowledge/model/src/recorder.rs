//! Flight recorders: what one rank handed to the collective library lately.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecorderGroup {
    /// What the program calls it.
    pub description: String,
    /// Global ranks in it.
    pub ranks: Vec<u32>,
}

/// Sequence numbers of one group on one rank; absent for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Peers {
    /// Absent for a receive from whoever sends first.
    pub source: Option<u32>,
    /// See `source`.
    pub destination: u32,
}

/// How far an operation came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryState {
    /// Handed to the backend. Gloo entries stay here even when all is well.
    #[default]
    Scheduled,
    /// Seen running on the device.
    Started,
    /// Seen complete.
    Completed,
}
