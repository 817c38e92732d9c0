//! Made from the evidence model by `make contract`: mend the type there, and not here.

use serde::Deserialize;

use super::Place;

/// One collective that did not match across ranks.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CollectiveVerdict {
    /// Process group name.
    pub group: String,
    /// What the program calls the group, such as `TENSOR_MODEL_PARALLEL_GROUP`.
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
    pub detail: String,
    /// The operation as most ranks recorded it, such as `nccl:all_reduce`.
    pub operation: String,
    /// Ranks that entered the collective, as far as their recorders tell.
    pub entered: Vec<u32>,
    /// When the first rank entered it: RFC 3339, by that rank's clock.
    pub time: Option<String>,
    /// True for a send or receive: those that entered and those that are missing are the two ends of it.
    pub point_to_point: bool,
    /// Where the program called it, innermost first, as `function (file:line)`: a rank that differs if there is one
    /// that recorded its stack, else one that entered.
    pub frames: Vec<String>,
}

/// A communicator as NCCL's RAS, or its Inspector, told of it at one moment. Ranks are those of the communicator.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Communicator {
    /// The artifact that says so.
    pub artifact: String,
    /// Where in that artifact.
    pub at: Option<Place>,
    /// `ras`, which counts what ranks have started, or `inspector`, which counts what they have completed.
    pub source: String,
    /// What NCCL tells it by from others, as hex without a prefix.
    pub hash: String,
    /// RFC 3339, where the artifact has a time.
    pub time: Option<String>,
    /// How many ranks it has, where known.
    pub size: Option<u32>,
    /// The ranks that told of themselves; of a summary in words only those that it names.
    pub ranks: Vec<CommunicatorRank>,
    /// How far ranks are that a summary counts and does not name, by operation.
    pub others: std::collections::BTreeMap<String, u64>,
    /// True when it is being made or torn down: counts then differ by nature.
    pub in_transition: bool,
    /// The ranks of which nothing was heard.
    pub missing: Vec<MissingRank>,
}

/// One rank of a communicator.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CommunicatorRank {
    /// Host, as NCCL names it: mostly an address.
    pub host: Option<String>,
    /// Process id.
    pub pid: Option<u32>,
    /// CUDA's number of its GPU.
    pub device: Option<u32>,
    /// Rank in the communicator.
    pub rank: u32,
    /// How many of each operation it has started or completed, such as `AllReduce`.
    pub counts: std::collections::BTreeMap<String, u64>,
    /// NCCL's own error of this rank by name, such as `ncclSystemError`.
    pub error: Option<String>,
}

/// A rank that did not answer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct MissingRank {
    /// Host, as NCCL names it: mostly an address.
    pub host: Option<String>,
    /// Process id.
    pub pid: Option<u32>,
    /// CUDA's number of its GPU.
    pub device: Option<u32>,
    /// Rank in the communicator.
    pub rank: u32,
    /// True when NCCL gave its process up for dead: it could not be reached for a minute.
    pub dead: bool,
    /// True when its process did not answer; false when it answered and is no member, as it is before and after the
    /// communicator's time.
    pub unresponsive: bool,
}
