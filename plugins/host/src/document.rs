//! The report document: what `whycrash diagnose --format json` prints and `GET /api/v1/reports/{id}` returns.
//!
//! Every field is optional to a reader of the JSON, and enums may grow.

use serde::{Deserialize, Serialize};
use whycrash_catalog::Retry;
use whycrash_evidence::model::Place;
use whycrash_evidence::{ArtifactKind, Evidence, Problem, Signature};

/// Version of the document's form.
pub const SCHEMA: u32 = 1;

/// One crash, read and diagnosed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What crashed, and what it left.
    pub report: ReportHead,
    /// Causes that explain the report, best first. None at all is a good answer when nothing fits.
    pub findings: Vec<Finding>,
    /// Every plugin that was considered, and how its run ended.
    pub plugins: Vec<PluginRun>,
    /// What to collect next, where the evidence can not decide between causes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<CollectNext>,
    /// Events that are consequences of the first failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub echoes: Vec<Echo>,
    /// What the readers found.
    pub evidence: Evidence,
}

/// What crashed, and what it left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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

/// How the process ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Exit {
    /// Signal name, such as `SIGSEGV`.
    pub signal: Option<String>,
    /// Exit code of a process that ended by itself.
    pub code: Option<i32>,
}

/// One artifact of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArtifactHead {
    /// Name within the report.
    pub name: String,
    /// What it is.
    pub kind: ArtifactKind,
    /// Size as stored.
    pub bytes: u64,
    /// SHA-256 of the bytes as stored, lower-case hex.
    pub sha256: String,
    /// What was wrong with it.
    pub problems: Vec<Problem>,
}

/// A plugin's claim that a cause explains the report, every citation of which was checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// Id of a documented cause.
    pub cause: String,
    /// The cause's title, or a more exact one.
    pub title: String,
    /// 0 to 1.
    pub confidence: f64,
    /// Who owns such a failure: `program`, `data`, `environment`, `framework`, `hardware`, `network`, `operator` or `unknown`.
    pub domain: String,
    /// Whether it is worth a second try.
    pub retry: Retry,
    /// Who says so.
    pub plugin: PluginName,
    /// Why, in a few sentences about this very report.
    pub explanation: String,
    /// The places that prove it.
    pub citations: Vec<Citation>,
    /// Evidence against it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<Citation>,
    /// What to do, first things first.
    pub fixes: Vec<Fix>,
    /// Where the knowledge comes from.
    pub references: Vec<String>,
}

/// A plugin by name and version.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PluginName {
    /// Name, unique among installed plugins.
    pub name: String,
    /// Semantic version.
    pub version: String,
}

/// An exact place, and what stands there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Citation {
    /// Name of the artifact; empty for a fact about the report as a whole.
    pub artifact: String,
    /// The place.
    pub at: Place,
    /// What stands there, word for word.
    #[serde(default)]
    pub quote: String,
}

/// Something to do about a cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fix {
    /// In a line.
    pub summary: String,
    /// How, step by step.
    pub steps: Vec<String>,
    /// When it is the wrong thing to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_when: Option<String>,
}

/// How one plugin's run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PluginRun {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it failed or was skipped, in words.
    pub reason: Option<String>,
    /// Fuel used.
    pub fuel: u64,
    /// Wall time in milliseconds.
    pub millis: f64,
    /// The most memory it used, in bytes.
    #[serde(default)]
    pub memory: u64,
    /// What it logged (bounded).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
}

/// How a plugin's run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It ran to its end and everything it claimed holds.
    Ok,
    /// It trapped, ran over a limit or claimed what does not hold.
    Failed,
    /// The evidence it needs is not in this report, or it is set aside.
    Skipped,
    /// The host could not run it, for want of memory or places. It says nothing about the plugin or the report, which has to be
    /// looked at again.
    Unavailable,
}

impl Document {
    /// The first plugin that the host could not run: without it this is not the diagnosis of the report.
    pub fn unavailable(&self) -> Option<&PluginRun> {
        self.plugins.iter().find(|run| run.outcome == Outcome::Unavailable)
    }
}

/// An artifact that would decide between causes, and the exact setting that produces it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CollectNext {
    /// What to collect.
    pub artifact: String,
    /// How.
    pub how: String,
    /// The causes it tells apart.
    pub decides_between: Vec<String>,
}

/// An event that is a consequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Echo {
    /// Number of the echo in the timeline.
    pub event: usize,
    /// Number of the event it follows from.
    pub of: usize,
}
