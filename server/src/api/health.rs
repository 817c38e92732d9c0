//! What operators and their tools ask.

use actix_web::HttpResponse;

use super::prelude::*;

/// Whether the process answers at all.
#[utoipa::path(get, path = "/healthz", tag = "operation", responses((status = 200, body = String, content_type = "text/plain")))]
pub async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether the stores answer, so that requests can be served.
#[utoipa::path(get, path = "/readyz", tag = "operation",
    responses((status = 200, body = String, content_type = "text/plain"), (status = "default", body = super::problem::Problem)))]
pub async fn readyz(services: Data<Services>) -> ApiResult<&'static str> {
    services.stores.jobs.counts().await?;
    services.stores.search.missing(&[]).await?;
    services.ingest.check_space(0)?;
    Ok("ready\n")
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
    services.metrics.run_upkeep();
    let text = services.metrics.render();
    Ok(HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4; charset=utf-8")
        .body(text))
}
