//! Large artifacts, whole or in chunks that can be resumed.
//!
//! `HEAD` tells how many bytes are here (`Upload-Offset`). A `PUT` with `Upload-Offset` or `Content-Range` goes on
//! there; one without either is the whole artifact. Each answer means that the bytes so far are durable. A body that
//! breaks off or stalls keeps what came, and frees the artifact for another request.

use actix_web::HttpRequest;
use actix_web::http::header::{CONTENT_RANGE, HeaderMap};
use futures_util::StreamExt;
use serde::Serialize;
use utoipa::ToSchema;

use super::body;
use super::prelude::*;
use super::reports::report_id;
use crate::ingest::Refusal;
use crate::store::{ArtifactRecord, ReportId};

/// Header that tells where a chunk starts, or how many bytes are here.
pub const UPLOAD_OFFSET: &str = "Upload-Offset";
/// Header that tells how many bytes there will be.
pub const UPLOAD_LENGTH: &str = "Upload-Length";

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

/// Sends an artifact, or a chunk of it. With all bytes here their SHA-256 is compared with the declared one: on a
/// mismatch (422) they are dropped. A chunk that does not go on where the last one ended gets 409 and the `offset`.
#[utoipa::path(put, path = "/api/v1/reports/{id}/artifacts/{name}", tag = "ingest",
    params(("id" = String, Path), ("name" = String, Path),
        ("Upload-Offset" = Option<u64>, Header, description = "where the chunk starts"),
        ("Content-Range" = Option<String>, Header, description = "the same as `bytes first-last/total`")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = Uploaded), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn put(
    _: Allowed<Ingest>,
    services: Data<Services>,
    request: HttpRequest,
    path: Path<(String, String)>,
    body: actix_web::web::Payload,
) -> ApiResult<Json<Uploaded>> {
    let offset = chunk_offset(request.headers())?;
    let mut pieces = body::pieces(&services, body.into_inner())?;
    let (id, artifact) = find(&services, &path).await?;
    if artifact.stored {
        // A client that did not get the last answer sends again.
        return Ok(Json(Uploaded {
            offset: artifact.bytes,
            bytes: artifact.bytes,
            stored: true,
        }));
    }
    let too_long = || {
        let (name, declared) = (artifact.name.clone(), artifact.bytes);
        Refusal::TooLong { name, declared }.into()
    };
    let part = services.ingest.resume(&id, &artifact, offset).await?;
    if body::says_more_than(&request, artifact.bytes.saturating_sub(part.length())) {
        return Err(too_long());
    }
    let mut writer = services.ingest.writer(&artifact, part);
    let mut broken = None;
    while let Some(piece) = pieces.next().await {
        match piece {
            Ok(piece) => {
                if let Err(error) = writer.write(&piece).await {
                    writer.undo().await;
                    return Err(body::append_error(error, too_long));
                }
            }
            Err(error) => broken = Some(body::broken(&error)),
        }
    }
    // What came before a body broke off is kept: the client goes on from there.
    let part = writer.finish().await;
    let part = part.map_err(|error| body::append_error(error, too_long))?;
    let (came, bytes) = (part.length(), artifact.bytes);
    let stored = if came == bytes {
        services.ingest.seal(&id, &artifact, part).await?;
        true
    } else {
        services.ingest.leave(&id, &artifact, part).await?
    };
    match broken {
        Some(error) if !stored => Err(error.with("offset", came)),
        _ => Ok(Json(Uploaded {
            offset: if stored { bytes } else { came },
            bytes,
            stored,
        })),
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
