//! What workers found: the evidence of a report, and the diagnoses that were made of it.
//!
//! Evidence is immutable: it is replaced as a whole when artifacts are read anew. A diagnosis is a version: earlier
//! ones stay, so that two can be compared. Both become true together with everything that follows from them, in one
//! step that only the holder of the job's lease can take.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{Digest, Job, ModuleUse, ReportId, Result, Summary};

/// The evidence of a report as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredEvidence {
    /// Digest of what it was made of: artifacts, metadata, reader and symbols.
    pub key: String,
    /// Version of the reader that made it.
    pub reader: u32,
    /// Its parts; all of them, or those that were asked for.
    pub parts: Vec<StoredPart>,
}

/// A part of the evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPart {
    /// Name of the part, unique in its evidence.
    pub name: String,
    /// The artifact whose text it is, for a text: it goes when the artifact's time is over.
    pub artifact: Option<String>,
    /// Size as stored.
    pub bytes: u64,
    /// Where its bytes are.
    pub body: PartBody,
}

/// Where the bytes of a part are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartBody {
    /// Small ones: beside the record, written with the same commit.
    Inline(Vec<u8>),
    /// Others: a blob.
    Blob(Digest),
}

/// What a diagnosis was made with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MadeWith {
    /// Version of the plugins.
    pub plugins: String,
    /// Version of the knowledge.
    pub knowledge: String,
}

/// What a worker found.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The evidence and the binaries that its stacks lead through, when artifacts were read; none when a diagnosis was
    /// made of the evidence that is stored.
    pub evidence: Option<(StoredEvidence, Vec<ModuleUse>)>,
    /// The diagnosis as JSON.
    pub diagnosis: String,
    /// What it was made with.
    pub made_with: MadeWith,
    /// What lists show of the report.
    pub summary: Summary,
    /// Ids of all causes found, best first.
    pub causes: Vec<String>,
    /// Kinds of the artifacts by their names: what decides how long they are kept.
    pub kinds: Vec<(String, String)>,
    /// By what other reports of the incident find this one.
    pub kin: Kin,
}

/// By what reports of one incident find each other, and which of them one was judged with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kin {
    /// The attempt of a job, where the report names one.
    pub job: Option<String>,
    /// What kin have at least one of in common that are judged together.
    pub keys: Vec<String>,
    /// What all reports have in common that name this attempt of a job.
    pub attempt: Option<String>,
    /// Whether those count as kin too that have nothing to be judged: where a plugin asks who else there is.
    pub is_told: bool,
    /// Those that were found, which need not have told anything.
    pub looked_at: Vec<ReportId>,
}

impl Kin {
    /// What the report is found by.
    pub fn own(&self) -> impl Iterator<Item = &String> {
        self.keys.iter().chain(&self.attempt)
    }

    /// What those have one of that it looks for.
    pub fn wanted(&self) -> impl Iterator<Item = &String> {
        self.keys.iter().chain(self.attempt.iter().filter(|_| self.is_told))
    }

    /// The same without those that have nothing to be judged.
    #[must_use]
    pub fn judged(&self) -> Self {
        Self {
            is_told: false,
            ..self.clone()
        }
    }
}

/// A report that may be of the same incident as another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kinsman {
    /// Which.
    pub report: ReportId,
    /// Key of its evidence.
    pub evidence: String,
    /// The attempt of a job that it names.
    pub job: Option<String>,
}

/// Reports of one incident that find each other: those that came first.
pub const KIN: u32 = 256;
/// How far apart they may have come.
pub const KIN_SPAN: Duration = Duration::from_secs(7 * 24 * 3600);

/// One version of a report's diagnosis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagnosisRecord {
    /// 1 for the first; grows by one.
    pub version: u64,
    /// When it was made, or found to be still the same.
    pub made: Timestamp,
    /// What it was made with.
    pub made_with: MadeWith,
    /// Key of the evidence it was made of.
    pub evidence: String,
    /// The diagnosis as JSON.
    pub json: String,
}

/// How much of what is stored was concluded with something else than there is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outdated {
    /// Outdated reports that have no job.
    pub reports: u64,
    /// Reports that have evidence.
    pub of: u64,
}

/// Evidence and diagnoses, durable.
#[async_trait]
pub trait Outcomes: Send + Sync + std::fmt::Debug {
    /// Makes what a worker found true, all of it or nothing: evidence, a new version of the diagnosis unless it says
    /// the same as the last, what lists and groups show, the report's state, the note in the [`Outbox`](super::Outbox),
    /// jobs to diagnose kin whose diagnosis does not take this report into account, and the end of the job; the version
    /// that is true now. Versions beyond the last `keep` are forgotten, and those that were judged with a report that
    /// was removed since. Fails with [`super::StoreError::LeaseLost`], and changes nothing, if the job is another's by
    /// now or gone.
    async fn commit(&self, job: &Job, outcome: &Outcome, keep: u32) -> Result<u64>;

    /// Reports that are kin of this one by what it is known by, in the order in which they came, [`KIN`] at most: they
    /// have one of the keys, name no other job, and came within [`KIN_SPAN`] of it.
    async fn kin(&self, id: &ReportId, kin: &Kin) -> Result<Vec<Kinsman>>;

    /// Reports of a group that came before this one, the last one first, each with its last diagnosis as JSON.
    async fn earlier(&self, id: &ReportId, signature: &str, limit: u32) -> Result<Vec<(Summary, String)>>;

    /// What lists show of these reports, in the order in which they came.
    async fn summaries(&self, ids: &[ReportId]) -> Result<Vec<Summary>>;

    /// The evidence of a report with the parts of these names, or with all of them; none if there is none.
    async fn evidence(&self, id: &ReportId, parts: Option<&[&str]>) -> Result<Option<StoredEvidence>>;

    /// The last version of a report's diagnosis, or the one asked for; none if there is none.
    async fn diagnosis(&self, id: &ReportId, version: Option<u64>) -> Result<Option<DiagnosisRecord>>;

    /// All versions that are kept, the last one first.
    async fn diagnoses(&self, id: &ReportId) -> Result<Vec<DiagnosisRecord>>;

    /// Ids of outdated reports: their last diagnosis was made with anything else, or an earlier reader made their evidence
    /// of artifacts that are still here; and they have no job that waits or runs. In order, after this one.
    async fn outdated(
        &self,
        now: &MadeWith,
        reader: u32,
        after: Option<&ReportId>,
        limit: u32,
    ) -> Result<Vec<ReportId>>;

    /// How many reports are outdated, of how many.
    async fn count_outdated(&self, now: &MadeWith, reader: u32) -> Result<Outdated>;

    /// Makes these reports outdated, or all of them, as far as they have evidence; how many.
    async fn make_outdated(&self, ids: Option<&[ReportId]>) -> Result<u64>;

    /// Grows whenever symbols come: evidence that was made before may lack what they tell.
    async fn symbol_generation(&self) -> Result<u64>;
}
