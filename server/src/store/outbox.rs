//! What the index has still to take over.
//!
//! The index is derived from the documents and may lag behind them, so nothing waits for it: whoever changes a document
//! notes it here in the same transaction, and the indexer takes the notes away once the index has the change.

use async_trait::async_trait;
use jiff::Timestamp;

use super::{ReportId, Result};

/// A report whose entry in the index is to be made anew, or removed if it has no document any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The report.
    pub report: ReportId,
    /// Number of its latest change: grows with every change of any report.
    pub change: i64,
}

/// How far the index is behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Reports that wait.
    pub waiting: u64,
    /// Since when the first of them waits.
    pub oldest: Option<Timestamp>,
}

/// Reports whose entry in the index is not what it should be, durable.
#[async_trait]
pub trait Outbox: Send + Sync + std::fmt::Debug {
    /// The first changes that wait, in the order they were made.
    async fn waiting(&self, limit: u32) -> Result<Vec<Waiting>>;

    /// Takes away what the index has taken over; a report that was changed again since then goes on waiting.
    async fn indexed(&self, done: &[Waiting]) -> Result<()>;

    /// Makes these reports wait.
    async fn index_again(&self, ids: &[ReportId]) -> Result<()>;

    /// Makes every report with a document wait: the number of the last change then, and how many reports wait.
    async fn index_all(&self) -> Result<(i64, u64)>;

    /// Reports with a document, in order of their ids, after this one.
    async fn documented(&self, after: Option<&ReportId>, limit: u32) -> Result<Vec<ReportId>>;

    /// Those of these reports that have no document.
    async fn undocumented(&self, ids: &[ReportId]) -> Result<Vec<ReportId>>;

    /// How far the index is behind.
    async fn backlog(&self) -> Result<Backlog>;
}
