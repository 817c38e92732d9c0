//! Symbols: binaries and debug files that make functions and lines out of addresses.

use actix_web::body::SizedStream;
use actix_web::dev::Payload;
use actix_web::http::header::{ContentEncoding, LastModified};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::StreamExt;
use serde::Serialize;
use tempfile::TempPath;
use tokio_util::io::ReaderStream;
use utoipa::ToSchema;
use whycrash_symbols::SymbolKind;

use super::access::Write;
use super::body;
use super::prelude::*;
use crate::pipeline::reopen_with_module;
use crate::symbols::KeepError;

/// A file of symbols that is kept here.
#[derive(Debug, Serialize, ToSchema)]
pub struct Kept {
    /// Build id in hex, or the debug id of a Breakpad file.
    pub id: String,
    /// `executable`, `debuginfo` or `breakpad`.
    pub kind: &'static str,
    /// False when it was here before: that one stays.
    pub new: bool,
    /// Reports that are read again because they lacked it: the newest thousand at most.
    pub reports: u64,
}

/// What is kept for a build id.
#[derive(Debug, Serialize, ToSchema)]
pub struct Known {
    /// The build id.
    pub id: String,
    /// `executable`, `debuginfo`, or both.
    pub kinds: Vec<&'static str>,
}

/// Keeps a binary, a debug file or a Breakpad symbol file. Reports that lacked it are read again.
#[utoipa::path(post, path = "/api/v1/symbols", tag = "symbols",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = Kept), (status = "default", body = super::problem::Problem)))]
pub async fn keep(
    _: Allowed<Write>,
    services: Data<Services>,
    request: HttpRequest,
    body: actix_web::web::Payload,
) -> ApiResult<Json<Kept>> {
    let path = receive(&services, &request, body.into_inner()).await?;
    let folder = services.symbols.clone();
    let kept = tokio::task::spawn_blocking(move || folder.keep(path)).await;
    let (file, new) = kept
        .map_err(|error| ApiError::new(Code::Internal, error))?
        .map_err(keep_error)?;
    if new && file.kind == SymbolKind::Breakpad {
        services.diagnoser.symbols_added();
    }
    let reports = if new {
        reopen_with_module(&services.stores, &file.id).await?
    } else {
        0
    };
    if reports > 0 {
        services.wake.notify_waiters();
    }
    Ok(Json(Kept {
        id: file.id,
        kind: file.kind.as_str(),
        new,
        reports,
    }))
}

/// A file with what was sent; removed when dropped.
async fn receive(services: &Services, request: &HttpRequest, body: Payload) -> ApiResult<TempPath> {
    const SETTING: &str = "limits.artifact_bytes";
    let limit = services.config.limits.artifact_bytes;
    let too_long = || body::too_long(limit, SETTING);
    let mut pieces = body::pieces(services, body)?;
    if body::says_more_than(request, limit) {
        return Err(too_long());
    }
    let mut incoming = services.ingest.receive(limit)?;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| body::broken(&error))?;
        let written = incoming.write(&piece).await;
        written.map_err(|error| body::append_error(error, too_long))?;
    }
    let received = incoming.finish().await;
    Ok(received.map_err(|error| body::append_error(error, too_long))?.path)
}

fn keep_error(error: KeepError) -> ApiError {
    match error {
        KeepError::NotSymbols(reason) => ApiError::new(Code::NotSymbols, reason),
        KeepError::Io(error) => error.into(),
    }
}

/// What is kept for a build id.
#[utoipa::path(get, path = "/api/v1/symbols/{build_id}", tag = "symbols",
    params(("build_id" = String, Path)),
    responses((status = 200, body = Known), (status = "default", body = super::problem::Problem)))]
pub async fn known(_: Allowed<Read>, services: Data<Services>, id: Path<String>) -> ApiResult<Json<Known>> {
    let id = id.into_inner();
    let mut kinds = vec![SymbolKind::Executable, SymbolKind::DebugInfo];
    kinds.retain(|kind| services.symbols.find(&id, *kind).is_some());
    if kinds.is_empty() {
        return Err(no_symbols(&id));
    }
    let kinds = kinds.into_iter().map(SymbolKind::as_str).collect();
    Ok(Json(Known { id, kinds }))
}

fn no_symbols(id: &str) -> ApiError {
    ApiError::new(Code::NoSymbols, format!("there are no symbols with the build id {id}"))
}

/// A file of symbols, under the address that debuginfod's clients (gdb, elfutils, `whycrash`) ask for.
pub async fn debuginfod(
    _: Allowed<Read>,
    services: Data<Services>,
    path: Path<(String, String)>,
) -> ApiResult<HttpResponse> {
    let (id, kind) = path.into_inner();
    let kind = [SymbolKind::Executable, SymbolKind::DebugInfo]
        .into_iter()
        .find(|known| known.as_str() == kind)
        .ok_or_else(|| ApiError::new(Code::NotFound, format!("{kind:?} is no kind of symbols that is served")))?;
    let (folder, build_id) = (services.symbols.clone(), id.clone());
    let path = tokio::task::spawn_blocking(move || folder.serve(&build_id, kind)).await;
    let path = path.map_err(|error| ApiError::new(Code::Internal, error))?;
    let file = tokio::fs::File::open(path.ok_or_else(|| no_symbols(&id))?).await?;
    let about = file.metadata().await?;
    let mut response = HttpResponse::Ok();
    // Clients give the files they keep this time.
    if let Ok(changed) = about.modified() {
        response.insert_header(LastModified(changed.into()));
    }
    Ok(response
        .content_type("application/octet-stream")
        // They learn the size from the length of the body: it must not be packed.
        .insert_header(ContentEncoding::Identity)
        .body(SizedStream::new(
            about.len(),
            ReaderStream::with_capacity(file, 256 << 10),
        )))
}
