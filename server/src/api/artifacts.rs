//! Artifacts as people and tools read them.

use std::ops::RangeInclusive;

use actix_web::body::SizedStream;
use actix_web::http::StatusCode;
use actix_web::http::header::{ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_RANGE, CONTENT_TYPE, ContentEncoding, ETAG};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::access::IngestOrRead;
use super::disposition::attachment;
use super::prelude::*;
use super::range::{Part, asked};
use super::reports::report_id;
use super::uploads::{UPLOAD_LENGTH, UPLOAD_OFFSET};
use crate::ingest::Refusal;
use crate::lines::Window;
use crate::store::ArtifactRecord;

/// The artifact's bytes as they were sent, or a range of them. Always a download: an artifact is never shown as a page
/// of this site.
#[utoipa::path(get, path = "/api/v1/reports/{id}/artifacts/{name}", tag = "reports",
    params(("id" = String, Path), ("name" = String, Path),
        ("Range" = Option<String>, Header, description = "a single range, such as `bytes=0-1023`")),
    responses((status = 200, body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 206, body = Vec<u8>, content_type = "application/octet-stream"), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn download(
    _: Allowed<Read>,
    services: Data<Services>,
    request: HttpRequest,
    path: Path<(String, String)>,
) -> ApiResult<HttpResponse> {
    let artifact = find(&services, &path).await?;
    if !artifact.stored {
        return Err(not_stored(&artifact));
    }
    let mut response = HttpResponse::Ok();
    describe(&mut response, &artifact);
    let range = match asked(request.headers(), artifact.bytes, &tag(&artifact)) {
        Part::Known => return Ok(response.status(StatusCode::NOT_MODIFIED).finish()),
        Part::Outside => {
            let detail = format!("{:?} has {} bytes", artifact.name, artifact.bytes);
            let header = format!("bytes */{}", artifact.bytes);
            return Err(ApiError::new(Code::OutOfRange, detail).with_header(CONTENT_RANGE, header));
        }
        Part::Whole => 0..artifact.bytes,
        Part::Bytes(range) => {
            let header = format!("bytes {}-{}/{}", range.start, range.end - 1, artifact.bytes);
            response
                .status(StatusCode::PARTIAL_CONTENT)
                .insert_header((CONTENT_RANGE, header));
            range
        }
    };
    let length = range.end - range.start;
    let bytes = services.stores.blobs.read(&artifact.digest, range).await?;
    let bytes = bytes.ok_or_else(|| ApiError::new(Code::Internal, "the artifact's bytes are gone from the store"))?;
    Ok(response.body(SizedStream::new(length, bytes)))
}

/// What a download would give, without the bytes; and how many of them are here (`Upload-Offset`) of how many there
/// will be (`Upload-Length`), 204 while some are missing.
#[utoipa::path(head, path = "/api/v1/reports/{id}/artifacts/{name}", tag = "ingest",
    params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, description = "it is here; its size, tag and name in the headers"),
        (status = 204, description = "not all of it is here; how much is in the headers"), (status = "default", description = "no such artifact")))]
pub async fn head(
    _: Allowed<IngestOrRead>,
    services: Data<Services>,
    path: Path<(String, String)>,
) -> ApiResult<HttpResponse> {
    let artifact = find(&services, &path).await?;
    let id = report_id(&path.0)?;
    let here = match artifact.stored {
        true => artifact.bytes,
        false => services.ingest.offset(&id, &artifact)?,
    };
    let mut response = HttpResponse::NoContent();
    response
        .insert_header((UPLOAD_OFFSET, here.to_string()))
        .insert_header((UPLOAD_LENGTH, artifact.bytes.to_string()));
    if !artifact.stored {
        return Ok(response.finish());
    }
    describe(response.status(StatusCode::OK), &artifact);
    let none = stream::empty::<Result<bytes::Bytes, std::io::Error>>();
    Ok(response.body(SizedStream::new(artifact.bytes, none)))
}

/// The headers of a download.
fn describe(response: &mut HttpResponseBuilder, artifact: &ArtifactRecord) {
    response
        .insert_header((CONTENT_TYPE, "application/octet-stream"))
        .insert_header((CONTENT_DISPOSITION, attachment(&artifact.name)))
        // Keeps the bytes, and their number, as they are: most artifacts are packed or large.
        .insert_header(ContentEncoding::Identity)
        .insert_header((ACCEPT_RANGES, "bytes"))
        .insert_header((ETAG, tag(artifact)));
}

fn tag(artifact: &ArtifactRecord) -> String {
    format!("\"{}\"", artifact.digest)
}

fn not_stored(artifact: &ArtifactRecord) -> ApiError {
    if artifact.expired {
        let detail = format!("the bytes of {:?} were removed for their age", artifact.name);
        return ApiError::new(Code::Expired, detail);
    }
    ApiError::new(
        Code::NotStored,
        format!("the bytes of {:?} are not here", artifact.name),
    )
}

async fn find(services: &Services, path: &(String, String)) -> ApiResult<ArtifactRecord> {
    match find_any(services, path).await? {
        Named::Artifact(artifact) => Ok(artifact),
        Named::Member(archive) => {
            let name = &path.1;
            let detail = format!("{name:?} is a file in the archive {archive:?}: download that");
            Err(ApiError::new(Code::NoArtifact, detail))
        }
    }
}

/// What a name may stand for.
enum Named {
    Artifact(ArtifactRecord),
    /// A file in the archive of this name.
    Member(String),
}

async fn find_any(services: &Services, path: &(String, String)) -> ApiResult<Named> {
    let (id, name) = (report_id(&path.0)?, &path.1);
    let report = services.ingest.report(&id).await?;
    let holds = |archive: &str| name.strip_prefix(archive).is_some_and(|rest| rest.starts_with('/'));
    let (exact, archive): (Vec<_>, Vec<_>) = report
        .artifacts
        .into_iter()
        .filter(|artifact| artifact.name == *name || holds(&artifact.name))
        .partition(|artifact| artifact.name == *name);
    let named = exact.into_iter().map(Named::Artifact);
    let mut named = named.chain(archive.into_iter().map(|archive| Named::Member(archive.name)));
    Ok(named.next().ok_or_else(|| Refusal::NoArtifact(id, name.clone()))?)
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

/// Lines of a text artifact, unpacked if it is compressed, or of a text in an archive among the artifacts.
#[utoipa::path(get, path = "/api/v1/reports/{id}/artifacts/{name}/lines", tag = "reports",
    params(("id" = String, Path), ("name" = String, Path), LinesQuery),
    responses((status = 200, body = Lines), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn lines(
    _: Allowed<Read>,
    services: Data<Services>,
    path: Path<(String, String)>,
    query: Query<LinesQuery>,
) -> ApiResult<Json<Lines>> {
    let from = query.from.unwrap_or(1).max(1);
    let range = from..=query.to.unwrap_or(from.saturating_add(499));
    let window = match find_any(&services, &path).await? {
        Named::Artifact(artifact) => artifact_lines(&services, &artifact, range).await?,
        Named::Member(_) => member_lines(&services, &path, range).await?,
    };
    let Some(Window { lines, total, complete }) = window else {
        return Err(ApiError::new(Code::NotText, format!("{:?} is no text", path.1)));
    };
    Ok(Json(Lines {
        from,
        lines,
        total,
        complete,
    }))
}

async fn artifact_lines(
    services: &Services,
    artifact: &ArtifactRecord,
    range: RangeInclusive<u64>,
) -> ApiResult<Option<Window>> {
    if !artifact.stored {
        return Err(not_stored(artifact));
    }
    let blob = services.stores.blobs.local(&artifact.digest).await?;
    let blob = blob.ok_or_else(|| ApiError::new(Code::Internal, "the artifact's bytes are gone from the store"))?;
    let lines = &services.lines;
    Ok(lines.window(&artifact.name, &artifact.digest, blob, range).await?)
}

async fn member_lines(
    services: &Services,
    path: &(String, String),
    range: RangeInclusive<u64>,
) -> ApiResult<Option<Window>> {
    let (id, name) = (report_id(&path.0)?, &path.1);
    match services.documents().text(&id, name).await? {
        Some(text) => Ok(services.lines.stored_window(text, range).await?),
        None => Err(Refusal::NoArtifact(id, name.clone()).into()),
    }
}
