//! What was concluded from a report's evidence, by which plugins, with which knowledge.
//!
//! A diagnosis refers to causes by their ids alone: titles, fixes and references are taken from the pages when it is
//! shown, so that a page that was mended is mended in every report.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use whycrash_catalog::Retry;
use whycrash_evidence::model::{Collectives, Place};
use whycrash_evidence::{ArtifactKind, Evidence, Signature};
use whycrash_reading::{History, ReportHead};

/// Version of a diagnosis's form. One that was made in an earlier form is made anew.
pub const SCHEMA: u32 = 2;

/// One version of what was concluded from a report's evidence. The same evidence, plugins, knowledge and
/// [`Self::history`] give the same diagnosis, byte by byte, but for [`PluginRun::millis`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Diagnosis {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Causes that explain the report, best first. None at all is a good answer when nothing fits.
    pub findings: Vec<Claim>,
    /// Every plugin that was considered, and how its run ended.
    pub plugins: Vec<PluginRun>,
    /// What to collect next, where the evidence can not decide between causes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<CollectNext>,
    /// Events that are consequences of the first failure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub echoes: Vec<Echo>,
    /// What was looked for, and whether it was there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<Coverage>,
    /// What the ranks did together, where other reports of the incident tell of it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incident: Option<Incident>,
    /// What plugins were told of other reports, where one wants to know: a part of what the diagnosis is made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
}

/// What several reports of one incident tell together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Incident {
    /// Ids of the other reports.
    pub reports: Vec<String>,
    /// What the ranks did together, judged from what all of them tell.
    pub collectives: Option<Collectives>,
    /// What people know the report by, where that is judged from what all of them tell.
    pub title: String,
    /// What it is grouped by, likewise.
    pub signature: Signature,
}

impl Diagnosis {
    /// Puts what was judged together with other reports in the place of what the report tells alone.
    pub fn complete(&self, head: &mut ReportHead, evidence: &mut Evidence) {
        let Some(incident) = &self.incident else { return };
        evidence.collectives.clone_from(&incident.collectives);
        // A diagnosis in an earlier form does not say.
        if !incident.title.is_empty() {
            head.title.clone_from(&incident.title);
            head.signature.clone_from(&incident.signature);
        }
    }
}

/// A plugin's claim that a cause explains the report, every citation of which was checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Claim {
    /// Id of a documented cause.
    pub cause: String,
    /// A title more exact than the page's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// 0 to 1.
    pub confidence: f64,
    /// Who says so.
    pub plugin: PluginName,
    /// Why, in a few sentences about this very report.
    pub explanation: String,
    /// The places that prove it.
    pub citations: Vec<Citation>,
    /// Evidence against it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<Citation>,
    /// What to do first in this very case, before what the page advises.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_step: Option<String>,
    /// Who owns the failure in this very case, in place of what the page says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Whether a second try is worth it in this very case, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
}

/// A plugin by name and version.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
pub struct PluginName {
    /// Name, unique among installed plugins.
    pub name: String,
    /// Semantic version.
    pub version: String,
}

/// An exact place, and what stands there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Citation {
    /// Name of the artifact; empty for a fact about the report as a whole.
    pub artifact: String,
    /// The place.
    pub at: Place,
    /// What stands there, word for word.
    #[serde(default)]
    pub quote: String,
}

/// How one plugin's run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
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
    /// Wall time in milliseconds; absent where a diagnosis is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub millis: Option<f64>,
    /// The most memory it used, in bytes.
    #[serde(default)]
    pub memory: u64,
    /// What it logged (bounded).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
}

/// How a plugin's run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It ran to its end and everything it claimed holds.
    Ok,
    /// It trapped, ran over a limit or claimed what does not hold.
    Failed,
    /// The evidence it needs is not in this report, or it is set aside.
    Skipped,
    /// The host could not run it, for want of memory or places. It says nothing about the plugin or the report, which
    /// has to be looked at again.
    Unavailable,
}

impl Diagnosis {
    /// The first plugin that the host could not run: without it this is not the diagnosis of the report.
    pub fn unavailable(&self) -> Option<&PluginRun> {
        unavailable(&self.plugins)
    }

    /// Leaves out how long runs took, which is no part of what was concluded.
    pub fn forget_times(&mut self) {
        self.plugins.iter_mut().for_each(|run| run.millis = None);
    }
}

pub(crate) fn unavailable(runs: &[PluginRun]) -> Option<&PluginRun> {
    runs.iter().find(|run| run.outcome == Outcome::Unavailable)
}

/// An artifact that would decide between causes, and the exact setting that produces it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Echo {
    /// Number of the echo in the timeline.
    pub event: usize,
    /// Number of the event it follows from.
    pub of: usize,
}

/// Evidence of one kind: whether it was there to be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Coverage {
    /// What was looked for, by the name of its artifacts' kind.
    pub kind: ArtifactKind,
    /// Whether it was there.
    pub state: Presence,
    /// The artifacts of this kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// What is wrong with them, or why there are none, as far as that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
    /// Ids of other reports of the incident whose artifacts of such kinds were judged together with these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<String>,
}

/// Whether evidence was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// It was, and could be read.
    Found,
    /// It was, and not all of it could be read.
    Damaged,
    /// It was not.
    Absent,
}
