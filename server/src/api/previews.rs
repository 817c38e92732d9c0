//! Previews: plugins and pages tried on stored reports before they are installed.

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::{CustomizeResponder, Responder as _};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use whycrash_plugin_host::{Diagnosis, Diff, Finding};

use super::access::Admin;
use super::cursor;
use super::prelude::*;
use super::reports::report_id;
use super::symbols;
use crate::pipeline::renewal::Renewed;
use crate::previews::{self, Done, PreviewError};
use crate::public_text::without_paths;
use crate::store::{Change, ChangeCount, PreviewRecord, PreviewState, ReportId, StoreError, Summary};

/// Reports in a list, if nobody says how many; and at most.
const REPORTS: (u32, u32) = (20, 200);

/// A plugin or page that is tried on stored reports.
#[derive(Debug, Serialize, ToSchema)]
pub struct Preview {
    /// Counted from 1.
    pub number: u64,
    /// Name of the plugin, or id of the page's cause.
    pub name: String,
    /// Version of the plugin; empty for a page.
    pub version: String,
    /// SHA-256 of its file.
    pub sha256: String,
    /// `plugin` or `page`.
    pub kind: &'static str,
    /// The search whose results are looked at; all reports when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// How far it has come.
    pub state: PreviewState,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it was asked for (RFC 3339).
    pub created: String,
    /// Reports in its scope.
    pub reports: u64,
    /// Those that were looked at.
    pub looked_at: u64,
    /// Those of which something else would be concluded.
    pub changed: u64,
}

/// Previews.
#[derive(Debug, Serialize, ToSchema)]
pub struct Previews {
    /// The last one first.
    pub previews: Vec<Preview>,
}

/// A preview, and what it would change.
#[derive(Debug, Serialize, ToSchema)]
pub struct PreviewChanges {
    /// The preview.
    #[serde(flatten)]
    pub preview: Preview,
    /// What changes in how many reports, most first.
    pub changes: Vec<ChangeCount>,
    /// What follows for the other reports when it is applied, once it is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnosed_anew: Option<Renewed>,
}

/// What was done.
#[derive(Debug, Serialize, ToSchema)]
pub struct PreviewDone {
    /// The preview.
    #[serde(flatten)]
    pub preview: Preview,
    /// Reports of which something else is concluded now.
    pub reports_changed: u64,
    /// What follows for the other reports that are stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnosed_anew: Option<Renewed>,
}

impl From<PreviewRecord> for Preview {
    fn from(record: PreviewRecord) -> Self {
        let of = record.of;
        Self {
            number: record.number,
            kind: if of.extension == "md" { "page" } else { "plugin" },
            name: of.name,
            version: of.version,
            sha256: of.sha256,
            query: of.query,
            state: record.state,
            reason: record.reason.as_deref().map(without_paths),
            created: record.created.to_string(),
            reports: record.reports,
            looked_at: record.looked_at,
            changed: record.changed,
        }
    }
}

/// What is tried on which reports.
#[derive(Debug, Deserialize, IntoParams)]
pub struct BeginQuery {
    /// A search: its results are looked at. All reports when absent.
    pub q: Option<String>,
    /// The file's name, for a page of a cause: its id and `.md`. Without it the body is a plugin.
    pub page: Option<String>,
}

/// Begins a preview of the plugin (a package, or a component alone) or page in the body: each report is diagnosed with
/// it from its stored evidence, and nothing changes. Needs the scope `admin`, as publishing does.
#[utoipa::path(post, path = "/api/v1/previews", tag = "plugins", params(BeginQuery),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 202, body = Preview), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn begin(
    _: Allowed<Admin>,
    services: Data<Services>,
    request: HttpRequest,
    query: Query<BeginQuery>,
    body: actix_web::web::Payload,
) -> ApiResult<CustomizeResponder<Json<Preview>>> {
    let limit = (services.published.package_bytes(), "the size of a plugin");
    let staged = symbols::receive(&services, &request, body.into_inner(), limit).await?;
    let BeginQuery { q, page } = query.into_inner();
    let turn = services.published.turn_to_look().await;
    let _turn = turn.ok_or_else(super::plugins::too_many)?;
    let bytes = tokio::fs::read(&staged).await?;
    let record = previews::begin(&services, bytes, page, q.filter(|q| !q.trim().is_empty())).await?;
    Ok(Json(Preview::from(record))
        .customize()
        .with_status(StatusCode::ACCEPTED))
}

/// The previews that are kept, the last one first.
#[utoipa::path(get, path = "/api/v1/previews", tag = "plugins",
    responses((status = 200, body = Previews), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn list(_: Allowed<Read>, services: Data<Services>) -> ApiResult<Json<Previews>> {
    let previews = services.stores.previews.previews().await?;
    Ok(Json(Previews {
        previews: previews.into_iter().map(Preview::from).collect(),
    }))
}

/// A preview: how far it has come, and what would be gained, lost and changed so far.
#[utoipa::path(get, path = "/api/v1/previews/{number}", tag = "plugins", params(("number" = u64, Path)),
    responses((status = 200, body = PreviewChanges), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn show(_: Allowed<Read>, services: Data<Services>, path: Path<u64>) -> ApiResult<Json<PreviewChanges>> {
    let record = previews::find(&services, *path).await?;
    let diagnosed_anew = match record.state {
        PreviewState::Ready => Some(previews::follows(&services, &record).await?),
        _ => None,
    };
    Ok(Json(PreviewChanges {
        changes: services.stores.previews.changes(*path).await?,
        preview: record.into(),
        diagnosed_anew,
    }))
}

/// Which of the reports that change.
#[derive(Debug, Deserialize, IntoParams)]
pub struct ReportsQuery {
    /// Those of which a cause would be `gained`, `lost` or `changed`; with `cause`.
    pub change: Option<Change>,
    /// The cause.
    pub cause: Option<String>,
    /// Reports at most, 20 if absent, at most 200.
    pub limit: Option<u32>,
    /// Where the page before ended: its `next`. The first page when absent.
    pub after: Option<String>,
}

/// Reports that change. How many there are in all, the preview says.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChangedReports {
    /// In the order of their ids.
    pub reports: Vec<Summary>,
    /// What to give as `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The reports of which something else would be concluded, or those that change in one way.
#[utoipa::path(get, path = "/api/v1/previews/{number}/reports", tag = "plugins",
    params(("number" = u64, Path), ReportsQuery),
    responses((status = 200, body = ChangedReports), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn reports(
    _: Allowed<Read>,
    services: Data<Services>,
    path: Path<u64>,
    query: Query<ReportsQuery>,
) -> ApiResult<Json<ChangedReports>> {
    previews::find(&services, *path).await?;
    let way = match (query.change, query.cause.as_deref()) {
        (Some(change), Some(cause)) => Some((change, cause)),
        (None, None) => None,
        _ => {
            let detail = "`change` and `cause` are given together or not at all";
            return Err(ApiError::new(Code::InvalidRequest, detail));
        }
    };
    let after: Option<ReportId> = cursor::place(query.after.as_ref())?;
    let limit = query.limit.unwrap_or(REPORTS.0).min(REPORTS.1);
    let previews = &services.stores.previews;
    let page = previews.changed(*path, way, after.as_ref(), limit).await?;
    Ok(Json(ChangedReports {
        reports: page.entries,
        next: cursor::word(page.next.as_ref())?,
    }))
}

/// A report without and with what is tried.
#[derive(Debug, Serialize, ToSchema)]
pub struct Compared {
    /// What is found now.
    pub before: Vec<Finding>,
    /// What would be found.
    pub after: Vec<Finding>,
    /// What would change.
    #[serde(flatten)]
    pub diff: Diff,
}

/// What is found in a report without and with what is tried, side by side.
#[utoipa::path(get, path = "/api/v1/previews/{number}/reports/{id}", tag = "plugins",
    params(("number" = u64, Path), ("id" = String, Path)),
    responses((status = 200, body = Compared), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn compare(
    _: Allowed<Read>,
    services: Data<Services>,
    path: Path<(u64, String)>,
) -> ApiResult<Json<Compared>> {
    let id = report_id(&path.1)?;
    previews::find(&services, path.0).await?;
    let pair = services.stores.previews.pair(path.0, &id).await?;
    let pair = pair.ok_or_else(|| {
        let detail = format!("preview {} changes nothing in report {id}", path.0);
        ApiError::new(Code::NotFound, detail)
    })?;
    let (before, after) = (diagnosis(&pair.before)?, diagnosis(&pair.after)?);
    let documents = services.documents();
    Ok(Json(Compared {
        diff: Diff::between(&before, &after),
        before: documents.findings(before.findings),
        after: documents.findings(after.findings),
    }))
}

/// Publishes what was tried, and makes what was seen true of all reports at once.
#[utoipa::path(post, path = "/api/v1/previews/{number}/apply", tag = "plugins", params(("number" = u64, Path)),
    responses((status = 200, body = PreviewDone), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn apply(_: Allowed<Admin>, services: Data<Services>, path: Path<u64>) -> ApiResult<Json<PreviewDone>> {
    let (number, services) = (*path, services.into_inner());
    // What was begun goes on when the client leaves.
    let done = tokio::spawn(async move {
        let what = previews::apply(&services, number).await?;
        done(&services, number, what).await
    });
    done.await.map_err(|error| ApiError::new(Code::Internal, error))?
}

/// Undoes a preview that was applied: the plugin or page that stood there before, and what was concluded, are back.
#[utoipa::path(post, path = "/api/v1/previews/{number}/undo", tag = "plugins", params(("number" = u64, Path)),
    responses((status = 200, body = PreviewDone), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn undo(_: Allowed<Admin>, services: Data<Services>, path: Path<u64>) -> ApiResult<Json<PreviewDone>> {
    let (number, services) = (*path, services.into_inner());
    let done = tokio::spawn(async move {
        let what = previews::undo(&services, number).await?;
        done(&services, number, what).await
    });
    done.await.map_err(|error| ApiError::new(Code::Internal, error))?
}

/// Ends a preview that is running or ready; nothing has changed.
#[utoipa::path(post, path = "/api/v1/previews/{number}/cancel", tag = "plugins", params(("number" = u64, Path)),
    responses((status = 200, body = Preview), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn cancel(_: Allowed<Admin>, services: Data<Services>, path: Path<u64>) -> ApiResult<Json<Preview>> {
    let record = previews::cancel(&services, *path).await?;
    Ok(Json(record.into()))
}

async fn done(services: &Services, number: u64, done: Done) -> ApiResult<Json<PreviewDone>> {
    let preview = previews::find(services, number).await?.into();
    Ok(Json(PreviewDone {
        preview,
        reports_changed: done.changed,
        diagnosed_anew: done.renewed,
    }))
}

fn diagnosis(json: &str) -> ApiResult<Diagnosis> {
    let diagnosis = serde_json::from_str(json);
    Ok(diagnosis.map_err(|error| StoreError::Damaged(format!("diagnosis: {error}")))?)
}

impl From<PreviewError> for ApiError {
    fn from(error: PreviewError) -> Self {
        let words = without_paths(&error.to_string());
        match error {
            PreviewError::Refused(_) => Self::new(Code::PluginRefused, words),
            PreviewError::Unknown(_) => Self::new(Code::NoPreview, words),
            PreviewError::Conflict(_) => Self::new(Code::PreviewState, words),
            PreviewError::Query(_) => Self::new(Code::InvalidQuery, words),
            PreviewError::Store(error) => error.into(),
        }
    }
}
