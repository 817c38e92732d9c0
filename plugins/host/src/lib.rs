//! From a report's artifacts to a proved diagnosis.
//!
//! [`Diagnoser`] reads and symbolicates the artifacts, runs every plugin in a sandbox of its own, checks each
//! place a finding cites, drops findings that do not hold, ranks the rest and returns the [`Document`] that the
//! command line prints and the server stores. This crate alone knows wasmtime.

mod diagnose;
mod document;

pub use diagnose::{Diagnoser, Input, Settings};
pub use document::*;
