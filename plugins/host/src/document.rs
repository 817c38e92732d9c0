//! The report document: what `whycrash diagnose --format json` prints and `GET /api/v1/reports/{id}` returns.
//!
//! Every field is optional to a reader of the JSON, and enums may grow.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use whycrash_catalog::{Catalog, Cause, Retry};
use whycrash_evidence::{Evidence, NO_FAILURE};
use whycrash_reading::stored::ListPart;
use whycrash_reading::{History, ReportHead};

use crate::diagnosis::{Citation, Claim, CollectNext, Coverage, Diagnosis, Echo, PluginName, PluginRun, unavailable};
use crate::documented::LeftOut;
use crate::verdict::{self, Verdict};

/// Version of the document's form.
pub const SCHEMA: u32 = 1;

/// One crash, read and diagnosed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What crashed, and what it left.
    pub report: ReportHead,
    /// What it comes to; absent where the report was not read yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
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
    /// What was looked for, and whether it was there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<Coverage>,
    /// Ids of other reports of the incident: what the ranks did together is judged from what all of them tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged_with: Vec<String>,
    /// What plugins were told of other reports, where one wants to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
    /// What the readers found.
    pub evidence: Evidence,
    /// What is wrong with pages of causes that are left out: what they would say is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Lists of the evidence of which only the first entries are in it, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, ListPart>,
}

impl Document {
    /// The document of a report that was diagnosed, with what today's pages say of the causes.
    pub fn render(mut report: ReportHead, mut evidence: Evidence, diagnosis: Diagnosis, catalog: &Catalog) -> Self {
        diagnosis.complete(&mut report, &mut evidence);
        let incident = diagnosis.incident.unwrap_or_default();
        let findings = diagnosis.findings.into_iter();
        let findings: Vec<Finding> = findings.map(|claim| Finding::render(claim, catalog)).collect();
        report.title = title(&report, &evidence, &findings);
        Self {
            schema: SCHEMA,
            verdict: Some(Verdict::of(&report, &evidence, &findings, &diagnosis.plugins)),
            report,
            findings,
            plugins: diagnosis.plugins,
            next: diagnosis.next,
            echoes: diagnosis.echoes,
            coverage: diagnosis.coverage,
            judged_with: incident.reports,
            history: diagnosis.history,
            evidence,
            left_out: Vec::new(),
            parts: BTreeMap::new(),
        }
    }
}

/// What people know a report by: what failed, or, where nothing in it says that of itself, what was found. A kernel that
/// can not reach a GPU any more tells of no failure of the job. Where there is neither, that nothing failed, or what could
/// not be read.
pub fn title(head: &ReportHead, evidence: &Evidence, findings: &[Finding]) -> String {
    /// A guess is no title.
    const SURE: f64 = 0.5;
    if head.title != NO_FAILURE {
        return head.title.clone();
    }
    let found = findings.first().filter(|finding| finding.confidence >= SURE);
    found.map_or_else(|| verdict::title(head, evidence), |finding| finding.title.clone())
}

impl Document {
    /// The first plugin that the host could not run: without it this is not the diagnosis of the report.
    pub fn unavailable(&self) -> Option<&PluginRun> {
        unavailable(&self.plugins)
    }
}

/// A plugin's claim that a cause explains the report, every citation of which was checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Finding {
    /// Id of a documented cause.
    pub cause: String,
    /// The cause's title, or a more exact one.
    pub title: String,
    /// 0 to 1.
    pub confidence: f64,
    /// True for what holds of so much that it explains nothing: it is named where no documented cause fits.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub last_resort: bool,
    /// Who owns such a failure: `program`, `data`, `environment`, `framework`, `hardware`, `network`, `operator` or
    /// `unknown`.
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

/// Something to do about a cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
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

impl Finding {
    /// A claim with what today's page says of its cause.
    pub fn render(claim: Claim, catalog: &Catalog) -> Self {
        let cause = catalog.get(&claim.cause);
        let title = claim.title.or_else(|| cause.map(|cause| cause.title.clone()));
        Self {
            // A page that was taken away since has left its name.
            title: title.unwrap_or_else(|| claim.cause.clone()),
            confidence: claim.confidence,
            last_resort: cause.is_some_and(|cause| cause.last_resort),
            domain: claim
                .domain
                .or_else(|| cause.map(|cause| cause.domain.clone()))
                .unwrap_or_default(),
            retry: claim
                .retry
                .or_else(|| cause.map(|cause| cause.retry.clone()))
                .unwrap_or_default(),
            plugin: claim.plugin,
            explanation: claim.explanation,
            citations: claim.citations,
            contradictions: claim.contradictions,
            fixes: fixes(claim.first_step, cause),
            references: cause.map(|cause| cause.references.clone()).unwrap_or_default(),
            cause: claim.cause,
        }
    }
}

/// What to do: first what the plugin knows about this very case, then what is documented.
fn fixes(first_step: Option<String>, cause: Option<&Cause>) -> Vec<Fix> {
    let own = first_step.map(|summary| Fix {
        summary,
        ..Fix::default()
    });
    let documented = cause.into_iter().flat_map(|cause| &cause.fixes).map(|fix| Fix {
        summary: fix.summary.clone(),
        steps: fix.steps.clone(),
        not_when: fix.not_when.clone(),
    });
    own.into_iter().chain(documented).collect()
}
