//! What a crash left behind, typed.
//!
//! [`Evidence`] is the [`model`] every other room of the house speaks; [`readers`] turns each artifact format into it.
//! A reader never panics and never trusts a length: damaged input gives partial evidence and named [`Problem`]s,
//! and work and memory are bounded by the input's size and by [`Limits`].

mod judgement;
mod limits;
mod merge;
mod printable;
pub mod readers;
pub mod signature;
mod trim;

pub use judgement::{Account, Kinship, judge, judge_together, kinship, locate, match_ranks};
pub use limits::Limits;
pub use merge::merge;
pub use model::{Artifact, ArtifactKind, Evidence, Hex, Problem};
pub use printable::{PrintableLog, printable, printable_json, printable_lines};
pub use readers::{Reading, read};
pub use signature::{Signature, signature, title};
pub use trim::{Cut, trim};
pub use whycrash_model as model;
