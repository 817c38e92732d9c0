//! Reports, and what was sent of them.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use whycrash_plugin_host::VerdictKind;

use super::{Digest, ReportId, Result};

/// How far a report has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReportState {
    /// Artifacts are still wanted, or nobody said that it is complete.
    Uploading,
    /// Complete, and waiting to be read or being read.
    Processing,
    /// Read and diagnosed.
    Done,
    /// Could not be processed; the artifacts are kept.
    Failed,
    /// Killed the processes that read it, and is not read again before somebody asks for it; the artifacts are kept.
    Quarantined,
}

impl ReportState {
    /// The name used in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Uploading => "uploading",
            Self::Processing => "processing",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Quarantined => "quarantined",
        }
    }
}

/// One artifact as declared, and whether its bytes are here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactRecord {
    /// Name within the report.
    pub name: String,
    /// Size in bytes, as declared and, once stored, as verified.
    pub bytes: u64,
    /// SHA-256, as declared and, once stored, as verified.
    pub digest: Digest,
    /// Whether the bytes are durably here.
    pub stored: bool,
    /// Whether the bytes were here and have been removed because their time was over.
    pub expired: bool,
}

impl ArtifactRecord {
    /// Whether its bytes are still to be sent.
    pub fn is_wanted(&self) -> bool {
        !self.stored && !self.expired
    }
}

/// A report that was not seen before.
#[derive(Clone, Debug, PartialEq)]
pub struct NewReport {
    /// See [`ReportId::derive`].
    pub id: ReportId,
    /// As sent.
    pub metadata: Map<String, Value>,
    /// As declared; some may be stored already.
    pub artifacts: Vec<ArtifactRecord>,
    /// When it came.
    pub received: Timestamp,
}

/// A report as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportRecord {
    /// See [`ReportId::derive`].
    pub id: ReportId,
    /// As sent.
    pub metadata: Map<String, Value>,
    /// In the order they were declared.
    pub artifacts: Vec<ArtifactRecord>,
    /// When it came.
    pub received: Timestamp,
    /// When the crash happened, as far as known; else when the report came.
    pub happened: Timestamp,
    /// How far it has come.
    pub state: ReportState,
    /// Why processing failed, in words.
    pub failure: Option<String>,
    /// Version of its diagnosis; 0 while it has none.
    pub version: u64,
}

/// What a list of reports shows of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Summary {
    /// Report id.
    #[schema(required)]
    pub id: String,
    /// One line a person recognizes the crash by.
    pub title: String,
    /// What the report comes to; absent where that was not noted yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictKind>,
    /// Id of the best finding's cause.
    pub cause: Option<String>,
    /// Title of the best finding.
    pub finding: Option<String>,
    /// Signal name.
    pub signal: Option<String>,
    /// Key of the group.
    pub signature: Option<String>,
    /// The machine it happened on.
    pub host: Option<String>,
    /// Class of the Python exception, or name of the GPU exception.
    pub exception: Option<String>,
    /// When it happened, as far as known; else when it came (RFC 3339).
    pub time: String,
    /// When it came (RFC 3339).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub received: String,
    /// Ranks that appear in the report.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<u32>,
    /// How many more ranks there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub ranks_omitted: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A part of a list. It begins behind a place of the list, not after a number of entries: so none is shown twice, or
/// left out, because others came meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T, P> {
    /// The entries.
    pub entries: Vec<T>,
    /// The place behind which the next page begins; none if this is the last one.
    pub next: Option<P>,
}

impl<T, P> Page<T, P> {
    /// A page of so many at most, from one entry more if there is one.
    pub fn of(mut entries: Vec<T>, limit: u32, place: impl FnOnce(&T) -> P) -> Self {
        let more = entries.len() > limit as usize;
        entries.truncate(limit as usize);
        let next = entries.last().filter(|_| more).map(place);
        Self { entries, next }
    }
}

/// A report in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Where it stands in the list.
    pub place: Place,
    /// How far it has come.
    pub state: ReportState,
    /// What it is.
    pub summary: Summary,
}

/// Where a report stands in the list of all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// When it came, in milliseconds since 1970.
    pub received: i64,
    /// Which it is, of those that came at that moment.
    pub id: ReportId,
}

/// How far reports are counted: as many stand for as many or more. To know exactly costs more the more there are.
pub const COUNTED: u64 = 10_000;

/// All reports with one signature.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Group {
    /// The key that its reports share.
    pub signature: String,
    /// How many reports there are, counted up to 10,000.
    pub count: u64,
    /// Time of the oldest (RFC 3339).
    pub first_seen: String,
    /// Time of the newest (RFC 3339).
    pub last_seen: String,
    /// The newest reports, newest first.
    pub latest: Vec<Summary>,
}

/// How many reports have a cause among their findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CauseCount {
    /// Id of the cause.
    pub cause: String,
    /// How many reports.
    pub reports: u64,
}

/// Reports, durable: what a method that changes something returns from has happened for good.
#[async_trait]
pub trait Records: Send + Sync + std::fmt::Debug {
    /// Adds a report in state [`ReportState::Uploading`]; false if it was there already (only the sizes of artifacts
    /// that are not here yet change then).
    async fn create(&self, report: &NewReport) -> Result<bool>;

    /// The report, or none.
    async fn report(&self, id: &ReportId) -> Result<Option<ReportRecord>>;

    /// Notes that the bytes of every artifact of this report with this digest are here.
    async fn artifact_stored(&self, id: &ReportId, digest: &Digest) -> Result<()>;

    /// Moves an uploading, failed or quarantined report to [`ReportState::Processing`]; the states after that stay.
    async fn completed(&self, id: &ReportId) -> Result<()>;

    /// Moves any complete report back to [`ReportState::Processing`], keeping what is known of it until that is
    /// replaced. A report with expired artifacts stays as it is: read again, it would say less.
    async fn reopen(&self, id: &ReportId) -> Result<()>;

    /// [`Self::reopen`] for many reports at once; how many were reopened.
    async fn reopen_all(&self, ids: &[ReportId]) -> Result<u64>;

    /// Removes a report with everything that is known of it: evidence, diagnoses, its job, its artifacts' names, and
    /// through the [`Outbox`](super::Outbox) its entry in the index. Its kin are to be diagnosed without it. False if
    /// there is no such report.
    async fn delete(&self, id: &ReportId) -> Result<bool>;

    /// So many reports by the time they came, newest first, behind this place of the list.
    async fn list(&self, after: Option<&Place>, limit: u32) -> Result<Page<Listed, Place>>;

    /// So many reports whose ids begin with these digits, in the order of their ids.
    async fn beginning_with(&self, digits: &str, limit: u32) -> Result<Vec<Listed>>;

    /// How many reports there are, counted up to [`COUNTED`].
    async fn count(&self) -> Result<u64>;

    /// Ids of reports in this state, in order of their ids, after this one.
    async fn in_state(&self, state: ReportState, after: Option<&ReportId>, limit: u32) -> Result<Vec<ReportId>>;

    /// All reports with this signature, or none if there is no such report.
    async fn group(&self, signature: &str, latest: u32) -> Result<Option<Group>>;

    /// How many reports have each of these signatures, counted up to [`COUNTED`].
    async fn group_sizes(&self, signatures: &[String]) -> Result<Vec<u64>>;

    /// How many reports each cause was found in, by its id.
    async fn causes(&self) -> Result<Vec<CauseCount>>;
}
