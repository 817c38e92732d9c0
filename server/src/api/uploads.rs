//! Large artifacts, whole or in chunks that can be resumed.
//!
//! `HEAD` tells how many bytes are here (`Upload-Offset`). A `PUT` with `Upload-Offset` or `Content-Range` goes on
//! there; one without either is the whole artifact. Each answer means that the bytes so far are durable.

use actix_web::http::header::{CONTENT_RANGE, HeaderMap};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::StreamExt;
use serde::Serialize;
use utoipa::ToSchema;

use super::multipart::permit;
use super::prelude::*;
use super::reports::report_id;
use crate::ingest::{AppendError, Refusal, Writer};
use crate::store::{ArtifactRecord, ReportId};

/// Header that tells where a chunk starts, or how many bytes are here.
const UPLOAD_OFFSET: &str = "Upload-Offset";

/// Most bytes of a body that are read although they are not wanted.
const DRAINED: usize = 64 << 20;

/// How far an upload has come.
#[derive(Debug, Serialize, ToSchema)]
pub struct Uploaded {
    /// Bytes that are durably here.
    pub offset: u64,
    /// Bytes that were declared.
    pub bytes: u64,
    /// Whether the artifact is whole and has the declared SHA-256.
    pub stored: bool,
}

/// How many bytes of an artifact are here: header `Upload-Offset`, and `Upload-Length` for how many there will be.
#[utoipa::path(head, path = "/api/v1/reports/{id}/artifacts/{name}", tag = "ingest",
    params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 204, description = "offset in the headers"), (status = "default", description = "no such artifact")))]
pub async fn offset(
    _: Allowed<Ingest>,
    services: Data<Services>,
    path: Path<(String, String)>,
) -> ApiResult<HttpResponse> {
    let (id, artifact) = find(&services, &path).await?;
    let offset = services.ingest.offset(&id, &artifact).await?;
    Ok(HttpResponse::NoContent()
        .insert_header((UPLOAD_OFFSET, offset.to_string()))
        .insert_header(("Upload-Length", artifact.bytes.to_string()))
        .finish())
}

/// Sends an artifact, or a chunk of it. With all bytes here their SHA-256 is compared with the declared one: on a
/// mismatch (422) they are dropped. A chunk that does not go on where the last one ended gets 409 and the `offset`.
#[utoipa::path(put, path = "/api/v1/reports/{id}/artifacts/{name}", tag = "ingest",
    params(("id" = String, Path), ("name" = String, Path),
        ("Upload-Offset" = Option<u64>, Header, description = "where the chunk starts"),
        ("Content-Range" = Option<String>, Header, description = "the same as `bytes first-last/total`")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = Uploaded), (status = "default", body = super::problem::Problem)))]
pub async fn put(
    _: Allowed<Ingest>,
    services: Data<Services>,
    request: HttpRequest,
    path: Path<(String, String)>,
    mut body: actix_web::web::Payload,
) -> ApiResult<Json<Uploaded>> {
    let _permit = permit(&services)?;
    let offset = chunk_offset(request.headers())?;
    let (id, artifact) = find(&services, &path).await?;
    if artifact.stored {
        // A client that did not get the last answer sends again.
        drain(&mut body).await;
        return Ok(Json(Uploaded {
            offset: artifact.bytes,
            bytes: artifact.bytes,
            stored: true,
        }));
    }
    let part = services.ingest.resume(&id, &artifact, offset).await?;
    let writer = Writer::start(part, artifact.bytes);
    while let Some(Ok(piece)) = body.next().await {
        if !writer.write(piece).await {
            drain(&mut body).await;
        }
    }
    // What came before a connection broke is kept: the client goes on from there.
    let part = writer.finish().await.map_err(|error| append_error(error, &artifact))?;
    let (offset, bytes) = (part.length(), artifact.bytes);
    let stored = offset == bytes;
    if stored {
        services.ingest.seal(&id, &artifact, part).await?;
    }
    Ok(Json(Uploaded { offset, bytes, stored }))
}

fn append_error(error: AppendError, artifact: &ArtifactRecord) -> ApiError {
    match error {
        AppendError::TooLong => Refusal::TooLong {
            name: artifact.name.clone(),
            declared: artifact.bytes,
        }
        .into(),
        AppendError::Io(error) => error.into(),
    }
}

async fn find(services: &Services, path: &(String, String)) -> ApiResult<(ReportId, ArtifactRecord)> {
    let (id, name) = (report_id(&path.0)?, &path.1);
    let report = services.ingest.report(&id).await?;
    let artifact = report.artifacts.into_iter().find(|artifact| artifact.name == *name);
    let artifact = artifact.ok_or_else(|| Refusal::NoArtifact(id.clone(), name.clone()))?;
    Ok((id, artifact))
}

/// Where the chunk starts, if the request says so.
fn chunk_offset(headers: &HeaderMap) -> ApiResult<Option<u64>> {
    let text = |value: &actix_web::http::header::HeaderValue| value.to_str().unwrap_or_default().trim().to_owned();
    if let Some(value) = headers.get(UPLOAD_OFFSET).map(text) {
        let offset = value.parse();
        return offset
            .map(Some)
            .map_err(|_| bad_header(format!("Upload-Offset {value:?} is no number of bytes")));
    }
    let Some(value) = headers.get(CONTENT_RANGE).map(text) else {
        return Ok(None);
    };
    let first = value
        .strip_prefix("bytes ")
        .and_then(|range| range.split('-').next()?.parse().ok());
    first
        .map(Some)
        .ok_or_else(|| bad_header(format!("Content-Range {value:?} is not `bytes first-last/total`")))
}

fn bad_header(detail: String) -> ApiError {
    ApiError::new(Code::InvalidRequest, detail)
}

/// Reads on for a while: a client that is still sending does not look for the answer, and a connection that is
/// closed on it loses the answer.
async fn drain(body: &mut actix_web::web::Payload) {
    let mut left = DRAINED;
    while let Some(Ok(piece)) = body.next().await {
        left = left.saturating_sub(piece.len());
        if left == 0 {
            return;
        }
    }
}
