//! The upload that Breakpad and Crashpad clients speak, so that existing clients can send here.

use actix_web::{HttpRequest, HttpResponse};

use super::multipart::{self, Form};
use super::prelude::*;
use super::reports;

/// Takes a minidump as crash clients send it: a form with the file part `upload_file_minidump`, further files, and
/// annotations as fields, possibly gzip-encoded. Answers with the report's id as plain text, as they expect.
#[utoipa::path(post, path = "/api/v1/minidump", tag = "ingest",
    request_body(content = Vec<u8>, content_type = "multipart/form-data"),
    responses((status = 200, body = String, content_type = "text/plain"), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn create(
    _: Allowed<Ingest>,
    services: Data<Services>,
    request: HttpRequest,
    body: actix_web::web::Payload,
) -> ApiResult<HttpResponse> {
    let Form {
        metadata, artifacts, ..
    } = multipart::receive(&services, &request, body.into_inner()).await?;
    let shared = services.clone();
    let taken = services
        .take_in(async move { reports::add(&shared, metadata, artifacts).await })
        .await?;
    let (report, _) = taken?;
    Ok(HttpResponse::Ok()
        .content_type("text/plain; charset=utf-8")
        .body(report.id.to_string()))
}
