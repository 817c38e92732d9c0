//! Previews: what a plugin or a page that is not installed would make of stored reports.
//!
//! A preview has an entry for every report in its scope. Each is looked at once and then holds nothing (the same would
//! be concluded), or a *proposal*: the diagnosis that there would be instead. Applying a preview makes all proposals
//! true in one step, and undoing it brings back, in one step, what there was. Neither touches a report of which
//! something else has become true meanwhile.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{MadeWith, Page, ReportId, Result, Summary};

/// How far a preview has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PreviewState {
    /// Reports are being looked at.
    Running,
    /// All were; it can be applied.
    Ready,
    /// Its proposals became true; it can be undone.
    Applied,
    /// It was applied, and what there was before is true again.
    Undone,
    /// Somebody ended it before it was ready.
    Cancelled,
    /// It could not go on.
    Failed,
}

impl PreviewState {
    const ALL: [Self; 6] = [
        Self::Running,
        Self::Ready,
        Self::Applied,
        Self::Undone,
        Self::Cancelled,
        Self::Failed,
    ];

    /// The name used in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ready => "ready",
            Self::Applied => "applied",
            Self::Undone => "undone",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// The state of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

/// What is tried on stored reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPreview {
    /// Name of the plugin, or id of the page's cause.
    pub name: String,
    /// Version of the plugin; empty for a page.
    pub version: String,
    /// SHA-256 of its file, lower-case hex.
    pub sha256: String,
    /// `zip`, `wasm` or `md`.
    pub extension: String,
    /// The search whose results are looked at; all reports when absent.
    pub query: Option<String>,
    /// What its proposals are made with.
    pub made_with: MadeWith,
}

/// A preview as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewRecord {
    /// Counted from 1.
    pub number: u64,
    /// What is tried.
    pub of: NewPreview,
    /// How far it has come.
    pub state: PreviewState,
    /// Why it failed, in words.
    pub reason: Option<String>,
    /// When it was asked for.
    pub created: Timestamp,
    /// Reports in its scope.
    pub reports: u64,
    /// Reports that were looked at.
    pub looked_at: u64,
    /// Reports of which something else would be concluded.
    pub changed: u64,
    /// SHA-256 and extension of the file that it took the place of, once applied.
    pub replaced: Option<(String, String)>,
}

/// What would become of a cause among the findings of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It would be found.
    Gained,
    /// It would not be found any more.
    Lost,
    /// It would have another place, other confidence, or other reasons.
    Changed,
}

impl Change {
    const ALL: [Self; 3] = [Self::Gained, Self::Lost, Self::Changed];

    /// The name used in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gained => "gained",
            Self::Lost => "lost",
            Self::Changed => "changed",
        }
    }

    /// The change of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|change| change.as_str() == name)
    }
}

/// A diagnosis and what follows from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    /// The diagnosis as JSON.
    pub diagnosis: String,
    /// What it is made with.
    pub made_with: MadeWith,
    /// What lists show of the report.
    pub summary: Summary,
    /// Ids of all causes found, best first.
    pub causes: Vec<String>,
}

/// What a preview makes of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Looked {
    /// The report.
    pub report: ReportId,
    /// Version of the diagnosis it was compared with.
    pub base: u64,
    /// What there would be instead; nothing if the same is concluded.
    pub proposal: Option<Proposal>,
}

/// What there would be instead of what is concluded now.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The diagnosis.
    pub conclusion: Conclusion,
    /// What it changes, by cause.
    pub changes: Vec<(Change, String)>,
}

/// Reports that change in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ChangeCount {
    /// What becomes of the cause.
    pub change: Change,
    /// Its id.
    pub cause: String,
    /// How many reports.
    pub reports: u64,
}

/// Before and after, of one report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The diagnosis without what is tried, as JSON.
    pub before: String,
    /// With it.
    pub after: String,
}

/// Previews, durable.
#[async_trait]
pub trait Previews: Send + Sync + std::fmt::Debug {
    /// Adds a preview of these reports, or of all, as far as they have a diagnosis; its number.
    async fn create_preview(&self, preview: &NewPreview, scope: Option<&[ReportId]>) -> Result<u64>;

    /// All previews that are kept, the last one first.
    async fn previews(&self) -> Result<Vec<PreviewRecord>>;

    /// A preview, or none.
    async fn preview(&self, number: u64) -> Result<Option<PreviewRecord>>;

    /// Forgets a preview that is not running, with its proposals.
    async fn forget_preview(&self, number: u64) -> Result<()>;

    /// Reports of a preview that were not looked at yet.
    async fn not_looked_at(&self, number: u64, limit: u32) -> Result<Vec<ReportId>>;

    /// Notes what it makes of reports; false, and nothing is noted, if it does not run any more.
    async fn note(&self, number: u64, looked: &[Looked]) -> Result<bool>;

    /// Moves a preview from one state to another; false if it is in a third.
    async fn move_preview(
        &self,
        number: u64,
        from: PreviewState,
        to: PreviewState,
        reason: Option<&str>,
    ) -> Result<bool>;

    /// How many reports change in which way, most first.
    async fn changes(&self, number: u64) -> Result<Vec<ChangeCount>>;

    /// So many reports that change, or that change in this way, in the order of their ids, after this one.
    async fn changed(
        &self,
        number: u64,
        way: Option<(Change, &str)>,
        after: Option<&ReportId>,
        limit: u32,
    ) -> Result<Page<Summary, String>>;

    /// What is concluded of a report without and with what is tried; none if that is the same, or the report is not in
    /// the scope.
    async fn pair(&self, number: u64, report: &ReportId) -> Result<Option<Pair>>;

    /// Makes the proposals of a preview that is ready true, all in one step, each as a new version of the report's
    /// diagnosis, and notes which file was replaced. Of a report whose diagnosis is another by now nothing changes. How
    /// many changed; none if the preview is not ready.
    async fn apply_preview(&self, number: u64, replaced: Option<&(String, String)>) -> Result<Option<u64>>;

    /// The other way round, of a preview that was applied: what was concluded before becomes true again, as a new
    /// version, where nothing else has become true since.
    async fn undo_preview(&self, number: u64) -> Result<Option<u64>>;
}
