//! What has grown old, or is referred to by nothing.

use async_trait::async_trait;
use jiff::Timestamp;

use super::{Digest, ReportId, Result};

/// An artifact whose time is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired {
    /// Its report.
    pub report: ReportId,
    /// Its name in the report.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// Finds what is to be removed, a bounded part at a time.
#[async_trait]
pub trait Upkeep: Send + Sync + std::fmt::Debug {
    /// Reports that came before this time, oldest first. Those that are still being uploaded are not among them.
    async fn reports_before(&self, time: Timestamp, limit: u32) -> Result<Vec<ReportId>>;

    /// Reports that are still being uploaded and of which nothing has come since this time.
    async fn unfinished_since(&self, time: Timestamp, limit: u32) -> Result<Vec<ReportId>>;

    /// Marks artifacts of this kind as expired whose reports came before this time and wait for nothing; which they
    /// are. Their documents stay, and their bytes are referred to no more.
    async fn expire_artifacts(&self, kind: &str, before: Timestamp, limit: u32) -> Result<Vec<Expired>>;

    /// Those of `digests` that no report refers to.
    async fn unreferenced(&self, digests: &[Digest]) -> Result<Vec<Digest>>;

    /// Gives space back that deleted rows have left, a bounded part of it.
    async fn compact(&self) -> Result<()>;
}
