//! How far a report or a preview has come, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, ContentEncoding};
use bytes::Bytes;
use futures_util::{Stream, stream};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::prelude::*;
use super::previews::Preview;
use super::reports::{Progress, report_id};
use crate::previews;
use crate::store::{PreviewRecord, PreviewState, ReportRecord, ReportState, StoreError};
use crate::watching::{Seen, Watcher};

/// How often a client that there is nothing to tell is told that: it may be gone, and nobody would know.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// How far a report has come, told whenever that changes: server-sent events named `progress`, with what
/// `/reports/{id}/state` answers. The last one says that it was read, or could not be; then the answer ends, as it does
/// when it has lasted as long as it may. 429 when as many are told as may be: ask `/state` then.
#[utoipa::path(get, path = "/api/v1/reports/{id}/events", tag = "reports", params(("id" = String, Path)),
    responses((status = 200, body = String, content_type = "text/event-stream"),
        (status = "default", response = super::problem::ProblemDocument)))]
pub async fn report(_: Allowed<Read>, services: Data<Services>, path: Path<String>) -> ApiResult<HttpResponse> {
    let id = report_id(&path)?;
    let now = report_seen(&services.ingest.report(&id).await?)?;
    let records = Arc::clone(&services.stores.records);
    let name = format!("report {id}");
    let watcher = services.watching.watch(name, now, move || {
        let (records, id) = (Arc::clone(&records), id.clone());
        async move { records.report(&id).await?.as_ref().map(report_seen).transpose() }
    });
    answer(&services, watcher)
}

/// How far a preview has come, told whenever that changes: server-sent events named `progress`, with the preview but
/// for what it would change. It ends, and is refused, as that of a report.
#[utoipa::path(get, path = "/api/v1/previews/{number}/events", tag = "plugins", params(("number" = u64, Path)),
    responses((status = 200, body = String, content_type = "text/event-stream"),
        (status = "default", response = super::problem::ProblemDocument)))]
pub async fn preview(_: Allowed<Read>, services: Data<Services>, path: Path<u64>) -> ApiResult<HttpResponse> {
    let number = *path;
    let now = preview_seen(previews::find(&services, number).await?)?;
    let previews = Arc::clone(&services.stores.previews);
    let watcher = services.watching.watch(format!("preview {number}"), now, move || {
        let previews = Arc::clone(&previews);
        async move { previews.preview(number).await?.map(preview_seen).transpose() }
    });
    answer(&services, watcher)
}

fn report_seen(report: &ReportRecord) -> Result<Seen, StoreError> {
    let is_last = !matches!(report.state, ReportState::Uploading | ReportState::Processing);
    seen(&Progress::of(report), is_last)
}

fn preview_seen(preview: PreviewRecord) -> Result<Seen, StoreError> {
    let is_last = preview.state != PreviewState::Running;
    seen(&Preview::from(preview), is_last)
}

fn seen(progress: &impl Serialize, is_last: bool) -> Result<Seen, StoreError> {
    let json = serde_json::to_string(progress).map_err(|error| StoreError::Failed(error.to_string()))?;
    Ok(Seen { json, is_last })
}

fn answer(services: &Services, watcher: Option<Watcher>) -> ApiResult<HttpResponse> {
    let limits = &services.config.limits;
    let watcher = watcher.ok_or_else(|| {
        let detail = format!("{} clients are told how far reports have come", limits.watchers);
        ApiError::new(Code::TooManyRequests, detail)
    })?;
    let until = Instant::now() + Duration::from_secs(limits.watch_seconds);
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        // Each event goes out when it happens: nothing in between gathers them.
        .insert_header(ContentEncoding::Identity)
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(events(watcher, until)))
}

/// Where a client's answer stands.
enum Next {
    /// Tell it what is true now.
    Now(Watcher),
    /// Tell it what becomes true.
    Change(Watcher),
    /// Nothing more.
    End,
}

fn events(watcher: Watcher, until: Instant) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(Next::Now(watcher), move |next| async move {
        let (bytes, next) = match next {
            Next::Now(mut watcher) => {
                let now = watcher.now();
                told(&now, watcher)
            }
            Next::Change(mut watcher) => {
                match timeout_at(until.min(Instant::now() + SIGN_OF_LIFE), watcher.next()).await {
                    Ok(now) => told(&now?, watcher),
                    Err(_) if Instant::now() >= until => return None,
                    Err(_) => (Bytes::from_static(b": nothing new\n\n"), Next::Change(watcher)),
                }
            }
            Next::End => return None,
        };
        Some((Ok(bytes), next))
    })
}

fn told(now: &Seen, watcher: Watcher) -> (Bytes, Next) {
    let event = format!("event: progress\ndata: {}\n\n", now.json);
    (
        event.into(),
        if now.is_last { Next::End } else { Next::Change(watcher) },
    )
}
