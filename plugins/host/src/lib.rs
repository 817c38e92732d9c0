//! From a report's artifacts to a proved diagnosis.
//!
//! [`Diagnoser`] reads and symbolicates the artifacts, runs every plugin in a sandbox of its own, checks each
//! place a finding cites, drops findings that do not hold, ranks the rest and returns the [`Document`] that the
//! command line prints and the server stores. This crate alone knows wasmtime.

mod budget;
mod builtin;
mod case;
mod citation;
mod diagnose;
mod digest;
mod document;
mod files;
mod fold;
mod head;
mod health;
mod judge;
mod rank;
mod read;
mod registry;
mod sandbox;

pub use budget::ReportLimits;
pub use diagnose::{Diagnoser, Input, Settings};
pub use document::*;
pub use registry::PluginInfo;
pub use sandbox::{PluginLimits, THIS_PROGRAM, compile_if_asked, precompile};
pub use whycrash_evidence::Signature;
