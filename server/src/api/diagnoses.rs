//! The versions of a report's diagnosis, and what changed between them.

use actix_web::http::StatusCode;
use actix_web::{CustomizeResponder, HttpRequest, HttpResponse, Responder as _};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use whycrash_plugin_host::{CollectNext, Coverage, Diff, Echo, Finding, PluginRun};

use super::access::Write;
use super::conditional;
use super::prelude::*;
use super::reports::report_id;
use crate::documents::conclusion;
use crate::pipeline::renewal::{RenewalStatus, Renewed};
use crate::previews;
use crate::store::{DiagnosisRecord, ReportId, Work};

/// The versions that are kept.
#[derive(Debug, Serialize, ToSchema)]
pub struct Diagnoses {
    /// The last one first.
    pub diagnoses: Vec<DiagnosisVersion>,
}

/// One version, in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct DiagnosisVersion {
    /// 1 for the first.
    pub version: u64,
    /// When it was made, or found to be still the same (RFC 3339).
    pub made: String,
    /// Version of the plugins it was made with.
    pub plugins: String,
    /// Version of the knowledge it was made with.
    pub knowledge: String,
    /// What it was made of: the same for two versions of the same evidence.
    pub evidence: String,
    /// Ids of the causes it found, best first.
    pub causes: Vec<String>,
}

impl DiagnosisVersion {
    fn of(record: &DiagnosisRecord) -> ApiResult<Self> {
        let findings = conclusion(record)?.findings;
        Ok(Self {
            version: record.version,
            made: record.made.to_string(),
            plugins: record.made_with.plugins.clone(),
            knowledge: record.made_with.knowledge.clone(),
            evidence: record.evidence.clone(),
            causes: findings.into_iter().map(|claim| claim.cause).collect(),
        })
    }
}

/// One version.
#[derive(Debug, Serialize, ToSchema)]
pub struct ShownDiagnosis {
    /// Which.
    #[serde(flatten)]
    pub listed: DiagnosisVersion,
    /// Causes that explain the report, best first.
    pub findings: Vec<Finding>,
    /// Every plugin that was considered, and how its run ended.
    pub plugins_run: Vec<PluginRun>,
    /// What to collect next, where the evidence can not decide between causes.
    pub next: Vec<CollectNext>,
    /// Events that are consequences of the first failure.
    pub echoes: Vec<Echo>,
    /// What was looked for, and whether it was there.
    pub coverage: Vec<Coverage>,
}

/// What changed from one version to another.
#[derive(Debug, Serialize, ToSchema)]
pub struct DiagnosisChanges {
    /// The earlier version.
    pub from: u64,
    /// The later version.
    pub to: u64,
    /// What changed.
    #[serde(flatten)]
    pub diff: Diff,
}

/// The versions of a report's diagnosis that are kept, the last one first.
#[utoipa::path(get, path = "/api/v1/reports/{id}/diagnoses", tag = "reports", params(("id" = String, Path)),
    responses((status = 200, body = Diagnoses), (status = 304), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn list(
    _: Allowed<Read>,
    services: Data<Services>,
    request: HttpRequest,
    path: Path<String>,
) -> ApiResult<HttpResponse> {
    let id = known(&services, &path).await?;
    let records = services.stores.outcomes.diagnoses(&id).await?;
    let diagnoses = records.iter().map(DiagnosisVersion::of).collect::<ApiResult<_>>()?;
    conditional::answer(&request, &Diagnoses { diagnoses })
}

/// One version, its findings with what today's pages say of their causes.
#[utoipa::path(get, path = "/api/v1/reports/{id}/diagnoses/{version}", tag = "reports",
    params(("id" = String, Path), ("version" = u64, Path)),
    responses((status = 200, body = ShownDiagnosis), (status = 304), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn show(
    _: Allowed<Read>,
    services: Data<Services>,
    request: HttpRequest,
    path: Path<(String, u64)>,
) -> ApiResult<HttpResponse> {
    let id = known(&services, &path.0).await?;
    let record = version(&services, &id, Some(path.1)).await?;
    let diagnosis = conclusion(&record)?;
    let shown = ShownDiagnosis {
        listed: DiagnosisVersion::of(&record)?,
        findings: services.documents().findings(diagnosis.findings),
        plugins_run: diagnosis.plugins,
        next: diagnosis.next,
        echoes: diagnosis.echoes,
        coverage: diagnosis.coverage,
    };
    conditional::answer(&request, &shown)
}

/// Which versions are compared.
#[derive(Debug, Deserialize, IntoParams)]
pub struct DiffQuery {
    /// The earlier one; the one before `to` if absent.
    pub from: Option<u64>,
    /// The later one; the last one if absent.
    pub to: Option<u64>,
}

/// What changed from one version to another: causes gained, lost and changed, and the plugins that did it.
#[utoipa::path(get, path = "/api/v1/reports/{id}/diff", tag = "reports", params(("id" = String, Path), DiffQuery),
    responses((status = 200, body = DiagnosisChanges), (status = 304), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn diff(
    _: Allowed<Read>,
    services: Data<Services>,
    request: HttpRequest,
    path: Path<String>,
    query: Query<DiffQuery>,
) -> ApiResult<HttpResponse> {
    let id = known(&services, &path).await?;
    let to = version(&services, &id, query.to).await?;
    let from = query.from.unwrap_or_else(|| to.version.saturating_sub(1).max(1));
    let from = version(&services, &id, Some(from)).await?;
    let changes = DiagnosisChanges {
        from: from.version,
        to: to.version,
        diff: Diff::between(&conclusion(&from)?, &conclusion(&to)?),
    };
    conditional::answer(&request, &changes)
}

/// What a new diagnosis is made of.
#[derive(Debug, Deserialize, IntoParams)]
pub struct AgainQuery {
    /// Read the artifacts again, rather than diagnose from the evidence that is stored.
    #[serde(default)]
    pub read: bool,
}

/// Has a report diagnosed again, also one that was given up.
#[utoipa::path(post, path = "/api/v1/reports/{id}/diagnoses", tag = "reports", params(("id" = String, Path), AgainQuery),
    responses((status = 202, description = "it is queued"), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn again(
    _: Allowed<Write>,
    services: Data<Services>,
    path: Path<String>,
    query: Query<AgainQuery>,
) -> ApiResult<HttpResponse> {
    let id = known(&services, &path).await?;
    let stores = &services.stores;
    let has_evidence = stores.outcomes.evidence(&id, Some(&[])).await?.is_some();
    if query.read || !has_evidence {
        stores.jobs.enqueue(&id, services.config.limits.queued_jobs).await?;
        stores.records.reopen(&id).await?;
    } else {
        stores.jobs.enqueue_all(&[id], Work::Diagnose).await?;
    }
    services.wake.notify_waiters();
    Ok(HttpResponse::Accepted().finish())
}

/// Which reports are diagnosed anew.
#[derive(Debug, Deserialize, IntoParams)]
pub struct RenewQuery {
    /// A search: its results are, 10,000 at most.
    pub q: Option<String>,
    /// All reports are.
    #[serde(default)]
    pub all: bool,
}

/// How far diagnosing stored reports anew has come: those that somebody asked for, and those that were diagnosed with
/// other plugins or pages than there are now.
#[utoipa::path(get, path = "/api/v1/diagnoses", tag = "reports",
    responses((status = 200, body = RenewalStatus), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn progress(_: Allowed<Read>, services: Data<Services>) -> ApiResult<Json<RenewalStatus>> {
    Ok(Json(services.renewals.status(&services.stores).await?))
}

/// Has all reports, or those that a search finds, diagnosed anew from the evidence that is stored: one after the other,
/// while new reports go first. Nothing of what is asked for is lost when the server ends.
#[utoipa::path(post, path = "/api/v1/diagnoses", tag = "reports", params(RenewQuery),
    responses((status = 202, body = Renewed), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn renew(
    _: Allowed<Write>,
    services: Data<Services>,
    query: Query<RenewQuery>,
) -> ApiResult<CustomizeResponder<Json<Renewed>>> {
    let scope = match (&query.q, query.all) {
        (Some(query), false) => Some(previews::results(&services, query).await?),
        (None, true) => None,
        _ => {
            let detail = "say `q` for what a search finds, or `all=true` for every report";
            return Err(ApiError::new(Code::InvalidRequest, detail));
        }
    };
    let reports = services.stores.outcomes.make_outdated(scope.as_deref()).await?;
    let of = services.renew().await.map_or(reports, |renewed| renewed.of);
    let renewed = Renewed { reports, of };
    Ok(Json(renewed).customize().with_status(StatusCode::ACCEPTED))
}

async fn known(services: &Services, id: &str) -> ApiResult<ReportId> {
    Ok(services.ingest.report(&report_id(id)?).await?.id)
}

async fn version(services: &Services, id: &ReportId, version: Option<u64>) -> ApiResult<DiagnosisRecord> {
    let record = services.stores.outcomes.diagnosis(id, version).await?;
    record.ok_or_else(|| {
        let which = version.map_or_else(
            || "any diagnosis".to_owned(),
            |version| format!("a diagnosis {version}"),
        );
        ApiError::new(Code::NotFound, format!("report {id} does not have {which}"))
    })
}
