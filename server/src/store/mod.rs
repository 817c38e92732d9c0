//! Where things are kept, behind traits so that a fleet can keep them elsewhere.
//!
//! [`Records`] (reports), [`Jobs`] (what is still to be done) and [`Blobs`] (artifacts by content) are the truth;
//! everything else is derived from them. [`Outcomes`] are what workers found: evidence and diagnoses. [`Previews`] say
//! what would be found with other plugins. [`Outbox`] says what the index has still to take over, [`Upkeep`] what has
//! grown old. [`sqlite`] and [`files`] are the implementations of the single binary. What every implementation must do
//! is written down as a conformance suite in the tests.

mod blobs;
mod clock;
mod error;
pub mod files;
mod ids;
mod jobs;
mod modules;
mod outbox;
mod outcomes;
mod previews;
mod records;
pub mod sqlite;
mod tokens;
mod upkeep;

pub use blobs::{BlobFacts, Blobs, ByteStream, LocalBlob};
pub use clock::{Clock, SteadyClock, age_now, kept_now};
pub use error::{Result, StoreError};
pub(crate) use error::{is_full, is_short};
pub use ids::{Digest, ReportId};
pub use jobs::{Job, JobCounts, Jobs, LARGE_BYTES, Lane, Lease, Work};
pub use modules::{Arrival, ModuleUse, Modules};
pub use outbox::{Backlog, Outbox, Waiting};
pub use outcomes::{
    DiagnosisRecord, KIN, KIN_SPAN, Kin, Kinsman, MadeWith, Outcome, Outcomes, Outdated, PartBody, StoredEvidence,
    StoredPart,
};
pub use previews::{
    Change, ChangeCount, Conclusion, Looked, NewPreview, Pair, PreviewRecord, PreviewState, Previews, Proposal,
};
pub use records::{
    ArtifactRecord, COUNTED, CauseCount, Group, Listed, NewReport, Page, Place, Records, ReportRecord, ReportState,
    Summary,
};
pub use tokens::{Scope, Token, TokenRecord, Tokens};
pub use upkeep::{Expired, Upkeep};
