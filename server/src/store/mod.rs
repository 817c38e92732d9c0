//! Where things are kept, behind traits so that a fleet can keep them elsewhere.
//!
//! [`Records`] (reports and their documents), [`Jobs`] (what is still to be read) and [`Blobs`] (artifacts by
//! content) are the truth; everything else is derived from them. [`Outbox`] says what the index has still to take
//! over, [`Upkeep`] what has grown old. [`sqlite`] and [`files`] are the implementations of the single binary. What
//! every implementation must do is written down as a conformance suite in the tests.

mod blobs;
mod error;
pub mod files;
mod ids;
mod jobs;
mod modules;
mod outbox;
mod records;
pub mod sqlite;
mod tokens;
mod upkeep;

pub use blobs::{BlobFacts, Blobs, ByteStream, LocalBlob};
pub use error::{Result, StoreError};
pub(crate) use error::{is_full, is_short};
pub use ids::{Digest, ReportId};
pub use jobs::{Job, JobCounts, Jobs, Lease};
pub use modules::{Arrival, ModuleUse, Modules};
pub use outbox::{Backlog, Outbox, Waiting};
pub use records::{
    ArtifactRecord, CauseCount, Group, NewReport, Page, Records, ReportRecord, ReportState, StoredDocument, Summary,
};
pub use tokens::{Scope, Token, TokenRecord, Tokens};
pub use upkeep::{Expired, Upkeep};
