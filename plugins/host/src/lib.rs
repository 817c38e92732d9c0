//! From a report's evidence to a proved diagnosis.
//!
//! [`Diagnoser`] has the artifacts read, runs every plugin on what they say in a sandbox of its own, checks each place
//! a finding cites, drops findings that do not hold and ranks the rest: a [`Diagnosis`]. With what the pages say of its
//! causes it becomes the [`Document`] that the command line prints and the server serves. This crate alone knows
//! wasmtime, with the engine that it shares with whatever compiles the built-in plugins.

mod archive;
mod builtin;
pub mod calibration;
mod case;
mod citation;
mod coverage;
mod diagnose;
mod diagnosis;
mod diff;
mod document;
mod documented;
mod explain;
mod files;
mod first;
mod fold;
mod health;
mod judge;
mod native;
mod package;
mod panel;
mod pins;
mod rank;
mod registry;
mod sandbox;
mod signing;
mod software;
mod told;
mod verdict;
mod version;

pub use diagnose::{Diagnoser, Settings};
pub use diagnosis::{
    Citation, Claim, CollectNext, Coverage, Diagnosis, Echo, Incident, Outcome, PluginName, PluginRun, Presence,
};
pub use diff::{Changed, Diff, PluginChange, Ranked};
pub use document::{Document, Finding, Fix, SCHEMA, title};
pub use documented::LeftOut;
pub use explain::{Explanation, FailedTest, Nearest, TableTrial};
pub use health::Runs;
pub use native::{NativeDiagnosis, NativeInfo, NativePlugin, NativeRun};
pub use panel::{Panel, Trial};
pub use pins::PINS;
pub use registry::{Offered, PluginInfo};
pub use sandbox::{PluginLimits, THIS_PROGRAM, compile_if_asked, compiled_side_by_side, precompile};
pub use signing::{KeyError, PublicKey, SigningKey, Trust};
pub use told::Told;
pub use verdict::{Verdict, VerdictKind};
pub use version::Version;
pub use whycrash_evidence::{CodeLine, Signature};
pub use whycrash_reading::{ArtifactHead, Exit, History, Input, Report, ReportHead, ReportLimits, Text};
