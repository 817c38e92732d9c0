//! Which binaries the stacks of reports lead through, so that symbols that come find the reports they are for.

use async_trait::async_trait;

use super::{ReportId, Result};

/// A binary that a stack of a report leads through.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModuleUse {
    /// Its build id or debug id, in lower case.
    pub id: String,
    /// Whether better symbols could be had for it than the report was read with.
    pub lacks_symbols: bool,
}

/// Symbols that came, and have reports read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Grows with every arrival.
    pub number: i64,
    /// Build id or debug id of the binary they are for, in lower case.
    pub module: String,
    /// Whether those reports are meant too that had symbols: other ones were replaced.
    pub replaces: bool,
}

/// The binaries of reports, and the symbols that came for them, durable.
#[async_trait]
pub trait Modules: Send + Sync + std::fmt::Debug {
    /// Notes that symbols come, before they are there, so that no report is forgotten whatever happens in between.
    async fn add_arrival(&self, module: &str, replaces: bool) -> Result<Arrival>;

    /// Notes that the symbols are in their place.
    async fn arrived(&self, arrival: &Arrival) -> Result<()>;

    /// Takes all arrivals for arrived: an earlier process ended before it could note that, and a report that is read
    /// again for nothing is no harm.
    async fn take_up_arrivals(&self) -> Result<()>;

    /// The oldest arrival that has arrived and whose reports have not all been queued.
    async fn next_arrival(&self) -> Result<Option<Arrival>>;

    /// Forgets an arrival: its reports have all been queued, or it came to nothing.
    async fn end_arrival(&self, arrival: &Arrival) -> Result<()>;

    /// How many reports are read again for an arrival.
    async fn count_reports_of(&self, arrival: &Arrival) -> Result<u64>;

    /// Those reports, in order of their ids, after this one.
    async fn reports_of(&self, arrival: &Arrival, after: Option<&ReportId>, limit: u32) -> Result<Vec<ReportId>>;
}
