//! Why something is not taken in.

use std::io;

use crate::store::{Digest, ReportId, StoreError};

/// Why something was not taken in.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// What was sent is not acceptable.
    #[error("{0}")]
    Refused(Refusal),
    /// A store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<io::Error> for IngestError {
    fn from(error: io::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<Refusal> for IngestError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// What is wrong with what was sent.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// No such report.
    #[error("there is no report {0}")]
    NoReport(ReportId),
    /// No such artifact in it.
    #[error("report {0} declares no artifact {1:?}")]
    NoArtifact(ReportId, String),
    /// Declared without a single artifact.
    #[error("the report has no artifact")]
    Empty,
    /// More artifacts than a report may have.
    #[error("the report has more than the {0} artifacts that are allowed (`limits.artifacts`)")]
    TooMany(usize),
    /// Two artifacts of one name.
    #[error("two artifacts are named {0:?}")]
    SameName(String),
    /// Two sizes for the same bytes.
    #[error("artifact {0:?} is declared with the sha256 of another one, and another size")]
    TwoSizes(String),
    /// More bytes of metadata than a report may have.
    #[error("the metadata has more than the {0} bytes that are allowed (`limits.metadata_bytes`)")]
    MetadataBytes(usize),
    /// More values in the metadata than a report may have.
    #[error("the metadata has more than the {0} values that are allowed (`limits.metadata_values`)")]
    MetadataValues(usize),
    /// Metadata that is nested too deep.
    #[error("the metadata is nested more than {0} levels deep")]
    MetadataDepth(usize),
    /// Two values for one name.
    #[error("the metadata has {0:?} twice")]
    MetadataTwice(String),
    /// Larger than artifacts may be.
    #[error("artifact {name:?} has more than the {limit} bytes that are allowed (`limits.artifact_bytes`)")]
    TooLarge {
        /// Its name.
        name: String,
        /// The most that is allowed.
        limit: u64,
    },
    /// The bytes are not the declared ones.
    #[error("artifact {name:?} was declared with sha256 {declared}, and what came has {actual}; it was dropped")]
    Mismatch {
        /// Its name.
        name: String,
        /// As declared.
        declared: Digest,
        /// Of what came.
        actual: Digest,
    },
    /// More bytes than declared.
    #[error("artifact {name:?} was declared with {declared} bytes, and more were sent; nothing of them was kept")]
    TooLong {
        /// Its name.
        name: String,
        /// Size as declared.
        declared: u64,
    },
    /// A chunk that does not start where the last one ended.
    #[error("the chunk starts at byte {sent}, and byte {expected} is next")]
    WrongOffset {
        /// Where the chunk starts.
        sent: u64,
        /// Where it must start.
        expected: u64,
    },
    /// Another upload of the same artifact is going on.
    #[error("artifact {0:?} is being uploaded by another request")]
    InProgress(String),
    /// Said to be complete while artifacts are missing.
    #[error("artifacts are missing: {}", .0.join(", "))]
    Missing(Vec<String>),
}
