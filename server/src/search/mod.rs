//! Finding crashes again.
//!
//! [`Search`] is derived data: everything in an index comes from stored documents, and an index that was deleted or
//! damaged is built again. [`query`] is the language people type, [`tantivy`] the implementation of the single binary.

pub mod query;
pub mod tantivy;

use std::collections::BTreeMap;
use std::ops::Range;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::store::{ReportId, Result, Summary};
pub use query::{Query, QueryError};

/// What can be asked for by name, and what facets count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// Signal name.
    Signal,
    /// Id of a cause among the findings.
    Cause,
    /// Key of the group.
    Signature,
    /// Machine.
    Host,
    /// Class of an exception; its last component alone finds it too.
    Exception,
    /// Rank.
    Rank,
    /// Kind of an artifact.
    Kind,
    /// Plugin that found something.
    Plugin,
    /// Model of a GPU.
    Gpu,
    /// Version of the GPU driver.
    Driver,
    /// Version of `PyTorch`.
    Torch,
    /// Id or name of the job.
    Job,
}

/// Bytes of a field's value that are kept; longer ones are cut alike in the index and in queries.
pub const VALUE_BYTES: usize = 256;

/// The start of a text of at most so many bytes.
pub fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}

impl Field {
    /// All of them, in the order in which facets are shown.
    pub const ALL: [Self; 12] = [
        Self::Cause,
        Self::Signal,
        Self::Exception,
        Self::Host,
        Self::Job,
        Self::Rank,
        Self::Gpu,
        Self::Driver,
        Self::Torch,
        Self::Kind,
        Self::Plugin,
        Self::Signature,
    ];

    /// The name in queries and in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Signal => "signal",
            Self::Cause => "cause",
            Self::Signature => "signature",
            Self::Host => "host",
            Self::Exception => "exception",
            Self::Rank => "rank",
            Self::Kind => "kind",
            Self::Plugin => "plugin",
            Self::Gpu => "gpu",
            Self::Driver => "driver",
            Self::Torch => "torch",
            Self::Job => "job",
        }
    }

    /// The field of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }
}

/// A report as it is indexed.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexDocument {
    /// The report.
    pub id: ReportId,
    /// When it happened, in milliseconds since 1970.
    pub time: i64,
    /// Lines that count for more: title, titles of findings, exception.
    pub title: Vec<String>,
    /// Everything else that is searched: log lines, frames, messages.
    pub text: Vec<String>,
    /// Values by field.
    pub fields: BTreeMap<Field, Vec<String>>,
    /// What lists show.
    pub summary: Summary,
}

/// In which order results come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sort {
    /// Best match first; the newest first where the query has no words.
    #[default]
    Relevance,
    /// Newest first.
    Newest,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchRequest {
    /// Parsed query.
    pub query: Query,
    /// Results at most.
    pub limit: usize,
    /// When they may have happened, in milliseconds since 1970; any time when absent.
    pub period: Option<Range<i64>>,
    /// The place behind which they begin.
    pub after: Option<Rank>,
    /// Order.
    pub sort: Sort,
    /// Values at most per facet; none are counted for 0.
    pub facet_values: u32,
}

/// Where a result stands among all that a query finds: those before it match better, or are newer where all match alike.
/// What comes or goes meanwhile moves no other result to its other side, but for how much a word counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rank {
    /// How well it matches, as bits that compare as the number does; 0 where that does not count.
    pub score: u32,
    /// When it happened, in milliseconds since 1970.
    pub time: i64,
    /// Tells those apart that are alike: the start of the id.
    pub id: u64,
}

/// How often a value occurs among all matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FacetValue {
    /// The value.
    pub value: String,
    /// Reports with it.
    pub count: u64,
}

/// What is found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchPage {
    /// All matches.
    pub total: u64,
    /// Those asked for.
    pub hits: Vec<Summary>,
    /// The place behind which the next page begins; none if this is the last one.
    pub next: Option<Rank>,
    /// Values by field name, most frequent first, counted over all matches.
    pub facets: BTreeMap<&'static str, Vec<FacetValue>>,
}

/// A change of the index.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Adds a document in place of an earlier one with its id.
    Put(Box<IndexDocument>),
    /// Removes a document; one that is not there is no error.
    Remove(ReportId),
}

/// An index of reports.
///
/// Nothing in it is true by itself, so nothing about it is fatal: where it is damaged a new one is built beside it.
/// While that goes on searches are answered from the old one as far as it can answer, and fail with
/// [`StoreError::Unavailable`](crate::store::StoreError::Unavailable) where it can not.
#[async_trait]
pub trait Search: Send + Sync + std::fmt::Debug {
    /// Makes all these changes or none of them: durable, and found by searches, when it returns. While a new index is
    /// being built they go to that one.
    async fn apply(&self, changes: Vec<Change>) -> Result<()>;

    /// Finds reports.
    async fn search(&self, request: &SearchRequest) -> Result<SearchPage>;

    /// Those of `ids` that are not in the index.
    async fn missing(&self, ids: &[ReportId]) -> Result<Vec<ReportId>>;

    /// Reports that are in the index, in the order of their ids, after this one.
    async fn indexed(&self, after: Option<&ReportId>, limit: usize) -> Result<Vec<ReportId>>;

    /// Whether the index is there and answers, as far as a glance tells:
    /// [`StoreError::Damaged`](crate::store::StoreError::Damaged) when a new one has to be built.
    async fn check(&self) -> Result<()>;

    /// The same by a look at everything in it, which may take a while.
    async fn verify(&self) -> Result<()>;

    /// Begins a new, empty index beside the one there is; a new one that was begun before is dropped.
    async fn begin(&self) -> Result<()>;

    /// Puts the new index in place of the one before, which is kept beside it.
    async fn publish(&self) -> Result<()>;
}
