//! Artifacts as people and tools read them.

use actix_web::HttpResponse;
use actix_web::http::header::{ContentDisposition, ContentEncoding, DispositionParam, DispositionType};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::prelude::*;
use super::reports::report_id;
use crate::ingest::Refusal;
use crate::lines::Window;
use crate::store::ArtifactRecord;

/// The artifact's bytes as they were sent. Always a download: an artifact is never shown as a page of this site.
#[utoipa::path(get, path = "/api/v1/reports/{id}/artifacts/{name}", tag = "reports",
    params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = Vec<u8>, content_type = "application/octet-stream"), (status = "default", body = super::problem::Problem)))]
pub async fn download(
    _: Allowed<Read>,
    services: Data<Services>,
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
        // Keeps the bytes, and their number, as they are: most artifacts are packed or large.
        .insert_header(ContentEncoding::Identity)
        .insert_header(("ETag", format!("\"{}\"", artifact.digest)))
        .body(actix_web::body::SizedStream::new(artifact.bytes, bytes)))
}

async fn stored(services: &Services, path: &(String, String)) -> ApiResult<ArtifactRecord> {
    let (id, name) = (report_id(&path.0)?, &path.1);
    let report = services.ingest.report(&id).await?;
    let artifact = report.artifacts.into_iter().find(|artifact| artifact.name == *name);
    let artifact = artifact.ok_or_else(|| Refusal::NoArtifact(id, name.clone()))?;
    if !artifact.stored {
        return Err(ApiError::new(
            Code::NotStored,
            format!("the bytes of {name:?} are not here"),
        ));
    }
    Ok(artifact)
}

/// Which lines.
#[derive(Debug, Deserialize, IntoParams)]
pub struct LinesQuery {
    /// First line, counted from 1; 1 if absent.
    pub from: Option<u64>,
    /// Last line, included; 499 after the first if absent. Fewer lines come than asked for when they are many.
    pub to: Option<u64>,
}

/// Some lines of a text artifact.
#[derive(Debug, Serialize, ToSchema)]
pub struct Lines {
    /// Number of the first of `lines`, counted from 1.
    pub from: u64,
    /// Without line ends; very long ones are cut, and what is no UTF-8 is U+FFFD.
    pub lines: Vec<String>,
    /// How many lines the artifact has.
    pub total: u64,
    /// False when there are more, which are not looked at or can not be unpacked: download it to see them.
    pub complete: bool,
}

/// Lines of a text artifact, unpacked if it is compressed.
#[utoipa::path(get, path = "/api/v1/reports/{id}/artifacts/{name}/lines", tag = "reports",
    params(("id" = String, Path), ("name" = String, Path), LinesQuery),
    responses((status = 200, body = Lines), (status = "default", body = super::problem::Problem)))]
pub async fn lines(
    _: Allowed<Read>,
    services: Data<Services>,
    path: Path<(String, String)>,
    query: Query<LinesQuery>,
) -> ApiResult<Json<Lines>> {
    let artifact = stored(&services, &path).await?;
    let blob = services.stores.blobs.local(&artifact.digest).await?;
    let blob = blob.ok_or_else(|| ApiError::new(Code::Internal, "the artifact's bytes are gone from the store"))?;
    let from = query.from.unwrap_or(1).max(1);
    let to = query.to.unwrap_or(from.saturating_add(499));
    let window = services
        .lines
        .window(&artifact.name, &artifact.digest, blob, from..=to)
        .await?;
    let Some(Window { lines, total, complete }) = window else {
        return Err(ApiError::new(Code::NotText, format!("{:?} is no text", artifact.name)));
    };
    Ok(Json(Lines {
        from,
        lines,
        total,
        complete,
    }))
}
