//! A report that was read.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use whycrash_evidence::model::{Collectives, Section};
use whycrash_evidence::{ArtifactKind, Evidence, Problem, Signature};

use crate::{History, Text};

/// What the artifacts of one crash say: all that the later stages need.
#[derive(Debug, Default)]
pub struct Report {
    /// What crashed, and what it left.
    pub head: ReportHead,
    /// What the readers found.
    pub evidence: Evidence,
    /// The lines of the artifacts that are text, in the order of the artifacts.
    pub texts: Vec<Text>,
    /// Ids of other reports of the incident with which `evidence.collectives` was judged.
    pub judged_with: Vec<String>,
    /// What is known of other reports; none where nobody asked for it.
    pub history: Option<History>,
}

impl Report {
    /// The lines of an artifact, if it is text.
    pub fn text(&self, artifact: &str) -> Option<&Text> {
        self.texts.iter().find(|text| text.artifact() == artifact)
    }

    /// Puts what the ranks did together, judged with what other reports of the incident tell, in the place of what this
    /// one tells alone. What it is known and grouped by follows from that.
    pub fn judged_with(&mut self, others: Vec<String>, collectives: Option<Collectives>) {
        self.judged_with = others;
        self.evidence.collectives = collectives;
        self.head.know_by(&self.evidence);
    }

    /// The artifact of this name.
    pub fn artifact(&self, name: &str) -> Option<&ArtifactHead> {
        self.head.artifacts.iter().find(|artifact| artifact.name == name)
    }
}

/// What crashed, and what it left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ReportHead {
    /// Identifies the report; derived from its metadata and artifacts, so that the same upload twice is one report.
    pub id: String,
    /// One line a person recognizes the crash by.
    pub title: String,
    /// What the report is grouped by.
    pub signature: Signature,
    /// How the process ended.
    pub exit: Exit,
    /// What it left.
    pub artifacts: Vec<ArtifactHead>,
}

impl ReportHead {
    /// Takes from the evidence what people know the report by, and what it is grouped by.
    pub(crate) fn know_by(&mut self, evidence: &Evidence) {
        self.title = whycrash_evidence::title(evidence);
        self.signature = whycrash_evidence::signature(evidence);
    }
}

/// How the process ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Exit {
    /// Signal name, such as `SIGSEGV`.
    pub signal: Option<String>,
    /// Exit code of a process that ended by itself.
    pub code: Option<i32>,
}

/// One artifact of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ArtifactHead {
    /// Name within the report.
    pub name: String,
    /// What it is.
    pub kind: ArtifactKind,
    /// Size as stored.
    pub bytes: u64,
    /// SHA-256 of the bytes as stored, lower-case hex.
    pub sha256: String,
    /// Name of the archive among the artifacts that it is a member of: it was not given by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// What was wrong with it.
    pub problems: Vec<Problem>,
    /// Parts of its text that have names of their own, such as the cells of a notebook.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<Section>,
}

impl ArtifactHead {
    /// Name of the part of its text that a line is in, where it has parts.
    pub fn section(&self, line: u64) -> Option<&str> {
        let behind = self.sections.partition_point(|section| section.line <= line);
        let section = self.sections.get(behind.checked_sub(1)?)?;
        Some(&section.name)
    }
}
