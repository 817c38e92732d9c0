//! Artifacts as people and tools read them.

use actix_web::http::header::{ContentDisposition, DispositionParam, DispositionType};
use actix_web::{HttpRequest, HttpResponse};

use super::prelude::*;
use super::reports::report_id;
use crate::ingest::Refusal;
use crate::store::ArtifactRecord;

/// The artifact's bytes as they were sent. Always a download: an artifact is never shown as a page of this site.
#[utoipa::path(get, path = "/api/v1/reports/{id}/artifacts/{name}", tag = "reports",
    params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = Vec<u8>, content_type = "application/octet-stream"), (status = "default", body = super::problem::Problem)))]
pub async fn download(
    _: Allowed<Read>,
    services: Data<Services>,
    _request: HttpRequest,
    path: Path<(String, String)>,
) -> ApiResult<HttpResponse> {
    let artifact = stored(&services, &path).await?;
    let bytes = services.stores.blobs.read(&artifact.digest, 0..artifact.bytes).await?;
    let bytes = bytes.ok_or_else(|| ApiError::new(Code::Internal, "the artifact's bytes are gone from the store"))?;
    let disposition = ContentDisposition {
        disposition: DispositionType::Attachment,
        parameters: vec![DispositionParam::Filename(artifact.name.clone())],
    };
    Ok(HttpResponse::Ok()
        .content_type("application/octet-stream")
        .insert_header(disposition)
        .insert_header(("ETag", format!("\"{}\"", artifact.digest)))
        .body(actix_web::body::SizedStream::new(artifact.bytes, bytes)))
}

async fn stored(services: &Services, path: &(String, String)) -> ApiResult<ArtifactRecord> {
    let (id, name) = (report_id(&path.0)?, &path.1);
    let report = services.ingest.report(&id).await?;
    let artifact = report.artifacts.into_iter().find(|artifact| artifact.name == *name);
    let artifact = artifact.ok_or_else(|| Refusal::NoArtifact(id, name.clone()))?;
    if !artifact.stored {
        return Err(ApiError::new(Code::NotStored, format!("the bytes of {name:?} are not here")));
    }
    Ok(artifact)
}
