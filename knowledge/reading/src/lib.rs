//! The first of three stages: from the artifacts of a report to its evidence.
//!
//! [`Reader::read`] gives a [`Report`]: what the artifacts are, what they say together, and the lines of those that are
//! text. A report can be [`stored`] and [loaded](Report::load) again, so that everything after it (diagnosing,
//! searching, showing) needs no artifact any more. What is stored never changes; a reader that finds more writes anew,
//! and [`READER_VERSION`] tells the two apart.

mod budget;
mod history;
mod id;
mod read;
mod report;
mod sha256;
pub mod stored;
mod text;
mod unpack;

pub use budget::ReportLimits;
pub use history::{Conclusion, EARLIER, EarlierReport, History, OTHERS, OtherReport};
pub use read::{Input, Reader};
pub use report::{ArtifactHead, Exit, Report, ReportHead};
pub use sha256::of_file as sha256_of_file;
pub use stored::READER_VERSION;
pub use text::Text;
