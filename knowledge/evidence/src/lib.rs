//! Reads what a crash left behind, and judges what all of it says together.
//!
//! [`readers`] turns each artifact format into [`Evidence`], in the words of the [`model`] that all crates speak. A
//! reader never panics and never trusts a length: damaged input gives partial evidence and named [`Problem`]s, and work
//! and memory are bounded by the input's size and by [`Limits`].

mod judgement;
mod limits;
mod merge;
mod printable;
pub mod readers;
pub mod signature;
mod trim;
pub mod waits;

pub use judgement::{Account, Kinship, judge, judge_together, kinship, locate, match_ranks};
pub use limits::Limits;
pub use merge::merge;
pub use model::{Artifact, ArtifactKind, Evidence, Hex, Problem};
pub use printable::{PrintableLog, printable, printable_json, printable_lines};
pub use readers::{Reading, read};
pub use signature::{CodeLine, NO_FAILURE, Signature, code_line, failure_event, signature, title};
pub use trim::{Cut, trim};
pub use whycrash_model as model;
pub use whycrash_model::{did_they_mean, did_you_mean, nearest};
