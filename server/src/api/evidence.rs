//! The evidence of a report by parts: a document has only the first entries of long lists.

use super::conditional;
use super::prelude::*;
use super::reports::report_id;
use actix_web::{HttpRequest, HttpResponse};
use whycrash_evidence::Evidence;

async fn lists(
    services: &Services,
    request: &HttpRequest,
    id: &str,
    names: &'static [&'static str],
) -> ApiResult<HttpResponse> {
    let id = report_id(id)?;
    services.ingest.report(&id).await?;
    let lists = services.documents().lists(&id, names).await?;
    // They can have megabytes, so they are not parsed for this.
    let members: Vec<String> = names
        .iter()
        .zip(lists)
        .map(|(name, list)| format!("\"{name}\":{list}"))
        .collect();
    Ok(conditional::answer_json(request, format!("{{{}}}", members.join(","))))
}

macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident, $path:literal, $lists:expr;)*) => {
        $($(#[$doc])*
        #[utoipa::path(get, path = $path, tag = "reports", params(("id" = String, Path)),
            responses((status = 200, body = Evidence), (status = 304), (status = "default", response = super::problem::ProblemDocument)))]
        pub async fn $name(
            _: Allowed<Read>,
            services: Data<Services>,
            request: HttpRequest,
            path: Path<String>,
        ) -> ApiResult<HttpResponse> {
            lists(&services, &request, &path, $lists).await
        })*
    };
}

parts! {
    /// All threads of all processes, with their frames: `{"threads": […]}`.
    threads, "/api/v1/reports/{id}/threads", &["threads"];
    /// All events in order: `{"timeline": […]}`.
    timeline, "/api/v1/reports/{id}/timeline", &["timeline"];
    /// All binaries: `{"modules": […]}`.
    modules, "/api/v1/reports/{id}/modules", &["modules"];
    /// GPU memory: `{"memory_snapshots": […], "memory_curves": […]}`.
    memory, "/api/v1/reports/{id}/memory", &["memory_snapshots", "memory_curves"];
    /// GPU memory block by block, and the trace entry by entry, as far as they are kept: `{"memory_details": […]}`.
    memory_details, "/api/v1/reports/{id}/memory-details", &["memory_details"];
    /// GPU core dumps: `{"gpu_cores": […]}`.
    gpu_cores, "/api/v1/reports/{id}/gpu-cores", &["gpu_cores"];
    /// What the ranks did together: `{"collectives": {…}}`.
    collectives, "/api/v1/reports/{id}/collectives", &["collectives"];
}
