//! What operators and their tools ask.

use actix_web::HttpResponse;
use serde::Serialize;
use utoipa::ToSchema;
use whycrash_plugin_host::LeftOut;

use super::prelude::*;
use crate::pipeline::indexer::{IndexState, IndexStatus};
use crate::pipeline::renewal::RenewalStatus;

/// Whether the process answers at all.
#[utoipa::path(get, path = "/healthz", tag = "operation", responses((status = 200, body = String, content_type = "text/plain")))]
pub async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether requests can be served.
#[derive(Debug, Serialize, ToSchema)]
pub struct Ready {
    /// `ready`, or `degraded` while searches may lack something.
    pub status: &'static str,
    /// What the index is doing.
    pub index: IndexStatus,
    /// Stored reports that are diagnosed anew, because plugins or pages changed or somebody asked for it.
    pub diagnosing_anew: RenewalStatus,
    /// What is wrong with pages of causes that are left out. Requests are served all the same; what these pages would say
    /// is missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// Whether reports can be taken in and read. While the index is not whole it is `degraded`: reports come in and are
/// processed all the same, and searches follow later.
#[utoipa::path(get, path = "/readyz", tag = "operation",
    responses((status = 200, body = Ready), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn readyz(services: Data<Services>) -> ApiResult<Json<Ready>> {
    services.stores.jobs.counts().await?;
    services.ingest.check_space(1)?;
    let index = services.indexer.status(&services.stores).await?;
    let status = match index.state {
        IndexState::Ready => "ready",
        IndexState::Rebuilding | IndexState::Unavailable => "degraded",
    };
    let diagnosing_anew = services.renewals.status(&services.stores).await?;
    Ok(Json(Ready {
        status,
        index,
        diagnosing_anew,
        left_out: services.diagnoser.left_out(),
    }))
}

/// Measurements in Prometheus' text format.
#[utoipa::path(get, path = "/metrics", tag = "operation", responses((status = 200, body = String, content_type = "text/plain")))]
pub async fn metrics(services: Data<Services>) -> ApiResult<HttpResponse> {
    let counts = services.stores.jobs.counts().await?;
    for (state, count) in [
        ("queued", counts.queued),
        ("running", counts.running),
        ("failed", counts.failed),
    ] {
        metrics::gauge!("whycrash_jobs", "state" => state).set(count as f64);
    }
    let index = services.indexer.status(&services.stores).await?;
    metrics::gauge!("whycrash_index_waiting").set(index.waiting as f64);
    metrics::gauge!("whycrash_index_lag_seconds").set(index.lag_seconds);
    metrics::gauge!("whycrash_index_ready").set(if index.state == IndexState::Ready { 1.0 } else { 0.0 });
    let renewal = services.renewals.status(&services.stores).await?;
    metrics::gauge!("whycrash_diagnosing_anew").set(renewal.waiting as f64);
    services.metrics.run_upkeep();
    let text = services.metrics.render();
    Ok(HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4; charset=utf-8")
        .body(text))
}
