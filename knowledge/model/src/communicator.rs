//! What NCCL itself knew of a communicator at one moment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Place;

/// A communicator as NCCL's RAS, or its Inspector, told of it at one moment. Ranks are those of the communicator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Communicator {
    /// The artifact that says so.
    pub artifact: String,
    /// Where in that artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
    /// `ras`, which counts what ranks have started, or `inspector`, which counts what they have completed.
    pub source: String,
    /// What NCCL tells it by from others, as hex without a prefix.
    pub hash: String,
    /// RFC 3339, where the artifact has a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// How many ranks it has, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// The ranks that told of themselves; of a summary in words only those that it names.
    pub ranks: Vec<CommunicatorRank>,
    /// How far ranks are that a summary counts and does not name, by operation.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, u64>,
    /// True when it is being made or torn down: counts then differ by nature.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_transition: bool,
    /// The ranks of which nothing was heard.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingRank>,
}

/// One rank of a communicator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CommunicatorRank {
    /// Rank in the communicator.
    pub rank: u32,
    /// Its process.
    #[serde(flatten)]
    pub process: RankProcess,
    /// How many of each operation it has started or completed, such as `AllReduce`.
    pub counts: BTreeMap<String, u64>,
    /// NCCL's own error of this rank by name, such as `ncclSystemError`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A rank that did not answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct MissingRank {
    /// Rank in the communicator.
    pub rank: u32,
    /// Its process.
    #[serde(flatten)]
    pub process: RankProcess,
    /// True when NCCL gave its process up for dead: it could not be reached for a minute.
    pub dead: bool,
    /// True when its process did not answer; false when it answered and is no member, as it is before and after the
    /// communicator's time.
    pub unresponsive: bool,
}

/// Where a rank runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct RankProcess {
    /// Host, as NCCL names it: mostly an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Process id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// CUDA's number of its GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<u32>,
}
