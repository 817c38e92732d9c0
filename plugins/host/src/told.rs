//! What a plugin is told of a report, written down: what tests in the plugin's own language make their report of.

use std::io;

use serde::Serialize;
use whycrash_evidence::{ArtifactKind, Evidence};
use whycrash_reading::{ArtifactHead, History, Report};

use crate::software::{Software, software};

/// Everything that a plugin can ask a report for, as JSON.
#[derive(Debug, Serialize)]
pub struct Told<'a> {
    /// Its artifacts, and the lines of those that are text.
    artifacts: Vec<ToldArtifact<'a>>,
    /// What the readers found.
    evidence: &'a Evidence,
    /// Software whose version the evidence tells.
    software: Vec<Software>,
    /// What is known of other reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<&'a History>,
}

#[derive(Debug, Serialize)]
struct ToldArtifact<'a> {
    name: &'a str,
    kind: ArtifactKind,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Vec<String>>,
}

impl<'a> Told<'a> {
    /// What is told of this report.
    ///
    /// # Errors
    /// When a text can not be read any more.
    pub fn of(report: &'a Report) -> io::Result<Self> {
        let artifact = |head: &'a ArtifactHead| {
            let lines = report.text(&head.name).map(|text| text.range(1, text.count()));
            Ok(ToldArtifact {
                name: &head.name,
                kind: head.kind,
                bytes: head.bytes,
                lines: lines.transpose()?,
            })
        };
        Ok(Self {
            artifacts: report.head.artifacts.iter().map(artifact).collect::<io::Result<_>>()?,
            evidence: &report.evidence,
            software: software(&report.evidence),
            history: report.history.as_ref(),
        })
    }
}
