//! Reports: sending them, completing them, reading them.

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, LOCATION};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use whycrash_plugin_host::{Document, Finding};

use super::conditional::{self, Tag};
use super::cursor;
use super::json::{self, NewReport};
use super::look;
use super::multipart;
use super::prelude::*;
use crate::documents::{Extent, failed};
use crate::ingest::Declared;
use crate::store::sqlite::blocking;
use crate::store::{ArtifactRecord, Digest, Listed, Page, ReportId, ReportRecord, ReportState, Summary};

/// Digits that a short id has at least.
const SHORTEST_ID: usize = 4;

/// The answer to a report that was sent.
#[derive(Debug, Serialize, ToSchema)]
pub struct Accepted {
    /// The report's id: the same for the same metadata and artifacts.
    #[schema(value_type = String)]
    pub id: ReportId,
    /// Where people look at it.
    pub url: String,
    /// How far it has come.
    pub state: ReportState,
    /// Artifacts whose bytes are still to be sent.
    pub wants: Vec<Wanted>,
    /// What the artifacts that are here already tell, before anything else is known.
    pub findings: Vec<Finding>,
}

/// An artifact whose bytes are still to be sent.
#[derive(Debug, Serialize, ToSchema)]
pub struct Wanted {
    /// Its name: `PUT …/artifacts/{name}`.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its digest.
    #[schema(value_type = String)]
    pub sha256: Digest,
}

/// Sends a report.
///
/// As `application/json`: metadata, and artifacts with their bytes inline or declared by size and SHA-256. A report
/// with nothing left to send is queued at once; else send what it `wants` and complete it. As `multipart/form-data`:
/// a field `metadata` (JSON, optional) and one file part for each artifact, queued at once. Sending the same again
/// changes nothing and answers 200 instead of 201.
#[utoipa::path(post, path = "/api/v1/reports", tag = "ingest", request_body = NewReport,
    responses((status = 201, body = Accepted), (status = 200, body = Accepted), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn create(
    _: Allowed<Ingest>,
    services: Data<Services>,
    request: HttpRequest,
    body: actix_web::web::Payload,
) -> ApiResult<HttpResponse> {
    let payload = body.into_inner();
    let kind = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    let is_form = kind
        .trim_start()
        .to_ascii_lowercase()
        .starts_with("multipart/form-data");
    let shared = services.clone();
    let taken = if is_form {
        let form = multipart::receive(&services, &request, payload).await?;
        services
            .take_in(async move { take_in(&shared, form.metadata, form.artifacts).await })
            .await??
    } else {
        let body = json::receive(&services, &request, payload).await?;
        let read_and_taken = async move {
            let (metadata, artifacts) = json::read(&shared, body).await?;
            take_in(&shared, metadata, artifacts).await
        };
        services.take_in(read_and_taken).await??
    };
    Ok(answer(&services, &request, taken))
}

/// What became of what was sent.
struct Taken {
    report: ReportRecord,
    new: bool,
    /// What the artifacts that are here tell by now.
    findings: Vec<Finding>,
}

async fn take_in(
    services: &Data<Services>,
    metadata: Map<String, Value>,
    artifacts: Vec<Declared>,
) -> ApiResult<Taken> {
    let (report, new) = add(services, metadata, artifacts).await?;
    // After the job: whatever becomes of the look, the report is taken in and will be read.
    let findings = look::findings(services, &report).await;
    Ok(Taken { report, new, findings })
}

/// Adds a report, or finds the one there is: its record, and whether it is new. Queued if it wants nothing more.
pub async fn add(
    services: &Services,
    metadata: Map<String, Value>,
    artifacts: Vec<Declared>,
) -> ApiResult<(ReportRecord, bool)> {
    let (report, new) = services.ingest.declare(metadata, artifacts).await?;
    metrics::counter!("whycrash_reports_total", "seen" => if new { "new" } else { "before" }).increment(1);
    let is_whole = report.artifacts.iter().all(|artifact| artifact.stored);
    let is_queued = matches!(report.state, ReportState::Processing | ReportState::Done);
    if is_whole && !is_queued {
        return Ok((services.ingest.complete(&report.id).await?, new));
    }
    Ok((report, new))
}

fn answer(services: &Services, request: &HttpRequest, taken: Taken) -> HttpResponse {
    let Taken { report, new, findings } = taken;
    let url = report_url(services, request, &report.id);
    let status = if new { StatusCode::CREATED } else { StatusCode::OK };
    let wants = report.artifacts.into_iter().filter(ArtifactRecord::is_wanted);
    let wants = wants.map(|artifact| Wanted {
        name: artifact.name,
        bytes: artifact.bytes,
        sha256: artifact.digest,
    });
    let location = format!("/api/v1/reports/{}", report.id);
    let accepted = Accepted {
        id: report.id,
        url,
        state: report.state,
        wants: wants.collect(),
        findings,
    };
    HttpResponse::build(status)
        .insert_header((LOCATION, location))
        .json(accepted)
}

/// Where people look at a report.
pub fn report_url(services: &Services, request: &HttpRequest, id: &ReportId) -> String {
    let base = services.config.public_url.clone().unwrap_or_else(|| {
        let connection = request.connection_info();
        format!("{}://{}", connection.scheme(), connection.host())
    });
    format!("{}/reports/{id}", base.trim_end_matches('/'))
}

/// Says that a report is complete, so that it is processed.
#[utoipa::path(post, path = "/api/v1/reports/{id}/complete", tag = "ingest", params(("id" = String, Path)),
    responses((status = 200, body = Accepted), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn complete(
    _: Allowed<Ingest>,
    services: Data<Services>,
    request: HttpRequest,
    path: Path<String>,
) -> ApiResult<HttpResponse> {
    let id = report_id(&path)?;
    let report = services.ingest.complete(&id).await?;
    let findings = look::findings(&services, &report).await;
    let url = report_url(&services, &request, &id);
    Ok(HttpResponse::Ok().json(Accepted {
        id,
        url,
        state: report.state,
        wants: Vec::new(),
        findings,
    }))
}

/// How far a report has come. Its document is served with the same members.
#[derive(Debug, Serialize, ToSchema)]
pub struct Progress {
    /// Whether it is read yet.
    pub state: ReportState,
    /// When it came (RFC 3339).
    pub received: String,
    /// When the crash happened, as far as known; else when the report came (RFC 3339).
    pub time: String,
    /// Why processing failed, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Names of artifacts whose bytes are kept no longer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expired: Vec<String>,
}

impl Progress {
    /// How far this report has come.
    pub fn of(report: &ReportRecord) -> Self {
        let expired = report.artifacts.iter().filter(|artifact| artifact.expired);
        Self {
            state: report.state,
            received: report.received.to_string(),
            time: report.happened.to_string(),
            failure: report.failure.clone(),
            expired: expired.map(|artifact| artifact.name.clone()).collect(),
        }
    }
}

/// A report's document, and how far the report has come.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReportDocument {
    /// How far it has come.
    #[serde(flatten)]
    pub progress: Progress,
    /// What is known of it.
    #[serde(flatten)]
    pub document: Document,
}

/// The report document, the same as `whycrash diagnose --format json` prints, with `state` (`uploading`, `processing`,
/// `done`, `failed`), `received`, `time`, after a failure `failure`, and in `expired` the names of artifacts whose
/// bytes are kept no longer. Lists of the evidence that are long have their first entries only, and in `parts` how many
/// there are: `…/threads` and its like have the rest. Without findings until it is `done`. 304 while it is what
/// `If-None-Match` names.
#[utoipa::path(get, path = "/api/v1/reports/{id}", tag = "reports", params(("id" = String, Path), ShowQuery),
    responses((status = 200, body = ReportDocument), (status = 304), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn show(
    _: Allowed<Read>,
    services: Data<Services>,
    request: HttpRequest,
    path: Path<String>,
    query: Query<ShowQuery>,
) -> ApiResult<HttpResponse> {
    let id = report_id(&path)?;
    let report = services.ingest.report(&id).await?;
    let progress = Progress::of(&report);
    // Documents can have megabytes: what they are made of stands for them, so that an unchanged one is not even read.
    let made_of = (
        id.as_str(),
        report.version,
        services.diagnoser.pages(),
        query.evidence == Extent::Whole,
        &progress,
    );
    let made_of = serde_json::to_vec(&made_of).map_err(|error| ApiError::new(Code::Internal, error))?;
    let tag = Tag::of(&made_of);
    let unchanged = tag.unchanged(&request).filter(|_| report.version > 0);
    if let Some(unchanged) = unchanged {
        return Ok(unchanged);
    }
    let document = services.documents().of(&report, query.evidence).await?;
    let answer = ReportDocument { progress, document };
    let json = blocking(move || serde_json::to_string(&answer).map_err(failed)).await?;
    Ok(tag.answer(json))
}

/// How much of a report is asked for.
#[derive(Debug, Deserialize, IntoParams)]
pub struct ShowQuery {
    /// `whole` for all of the evidence; else long lists have their first entries only, and parts of their own.
    #[serde(default)]
    pub evidence: Extent,
}

/// How far a report has come: what to ask while it is being read, instead of the whole document.
#[utoipa::path(get, path = "/api/v1/reports/{id}/state", tag = "reports", params(("id" = String, Path)),
    responses((status = 200, body = Progress), (status = 304), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn state(
    _: Allowed<Read>,
    services: Data<Services>,
    request: HttpRequest,
    path: Path<String>,
) -> ApiResult<HttpResponse> {
    let report = services.ingest.report(&report_id(&path)?).await?;
    conditional::answer(&request, &Progress::of(&report))
}

/// Which part of a list.
#[derive(Debug, Deserialize, IntoParams)]
pub struct ListQuery {
    /// Reports whose ids begin with these digits, at least four, in the order of their ids: what a short id may mean.
    pub prefix: Option<String>,
    /// How many, 50 if absent, at most 200.
    pub limit: Option<u32>,
    /// Where the page before ended: its `next`. The first page when absent.
    pub after: Option<String>,
}

/// Reports by the time they came, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct Reports {
    /// How many there are in all, counted up to 10,000.
    pub total: u64,
    /// Those asked for.
    pub reports: Vec<ListedReport>,
    /// What to give as `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A report in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListedReport {
    /// How far it has come.
    pub state: ReportState,
    /// What it is.
    #[serde(flatten)]
    pub summary: Summary,
    /// How many reports have the same signature, this one included, counted up to 10,000; absent while it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// Recent reports, newest first. 304 while the list is what `If-None-Match` names.
#[utoipa::path(get, path = "/api/v1/reports", tag = "reports", params(ListQuery),
    responses((status = 200, body = Reports), (status = 304), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn list(
    _: Allowed<Read>,
    services: Data<Services>,
    request: HttpRequest,
    query: Query<ListQuery>,
) -> ApiResult<HttpResponse> {
    let (after, limit) = (cursor::place(query.after.as_ref())?, query.limit.unwrap_or(50).min(200));
    let records = &services.stores.records;
    let page = match &query.prefix {
        None => records.list(after.as_ref(), limit).await?,
        Some(digits) => Page {
            entries: records.beginning_with(&beginning(digits)?, limit).await?,
            next: None,
        },
    };
    let signatures: Vec<String> = page
        .entries
        .iter()
        .filter_map(|report| report.summary.signature.clone())
        .collect();
    let mut sizes = records.group_sizes(&signatures).await?.into_iter();
    let total = match query.prefix {
        None => records.count().await?,
        Some(_) => page.entries.len() as u64,
    };
    let reports = page.entries.into_iter().map(|Listed { state, summary, .. }| {
        let count = summary.signature.as_ref().and_then(|_| sizes.next());
        ListedReport { state, summary, count }
    });
    conditional::answer(
        &request,
        &Reports {
            total,
            reports: reports.collect(),
            next: cursor::word(page.next.as_ref())?,
        },
    )
}

/// The first digits of an id, as ids are written.
fn beginning(digits: &str) -> ApiResult<String> {
    let lower = digits.to_ascii_lowercase();
    if (SHORTEST_ID..=32).contains(&lower.len()) && lower.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Ok(lower);
    }
    let detail = format!("a short id is {SHORTEST_ID} to 32 hex digits");
    Err(ApiError::new(Code::InvalidRequest, detail))
}

/// The report id in an address; what is none names no report.
pub fn report_id(text: &str) -> ApiResult<ReportId> {
    text.parse().map_err(|error| ApiError::new(Code::NoReport, error))
}
