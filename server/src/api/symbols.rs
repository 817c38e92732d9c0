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
use whycrash_symbols::{SymbolIdentity, SymbolKind};

use super::access::{Admin, Write};
use super::body;
use super::prelude::*;
use crate::symbols::{Existing, KeepError, SymbolFolder};

/// A file of symbols that is kept here.
#[derive(Debug, Serialize, ToSchema)]
pub struct Kept {
    /// Build id in hex, or the debug id of a Breakpad file.
    pub id: String,
    /// `executable`, `debuginfo` or `breakpad`.
    pub kind: &'static str,
    /// False when the very same was here before.
    pub new: bool,
    /// Reports that are read again, because they lacked it or used the one that it replaces.
    pub reports: u64,
}

/// What is kept for a build id or debug id.
#[derive(Debug, Serialize, ToSchema)]
pub struct Known {
    /// The id.
    pub id: String,
    /// `executable`, `debuginfo`, `breakpad`, or several.
    pub kinds: Vec<&'static str>,
    /// The files.
    pub files: Vec<KnownFile>,
}

/// One file that is kept.
#[derive(Debug, Serialize, ToSchema)]
pub struct KnownFile {
    /// `executable`, `debuginfo` or `breakpad`.
    pub kind: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Keeps a binary, a debug file or a Breakpad symbol file. Reports that lacked it are read again. There is one file of
/// a kind for an id: another one is refused with 409.
#[utoipa::path(post, path = "/api/v1/symbols", tag = "symbols",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = Kept), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn keep(
    _: Allowed<Write>,
    services: Data<Services>,
    request: HttpRequest,
    body: actix_web::web::Payload,
) -> ApiResult<Json<Kept>> {
    receive_and_keep(services, &request, body, Existing::Stays).await
}

/// Keeps a file of symbols in place of another one with its id and kind. Reports that used that one are read again too.
/// Needs the scope `admin`: it changes what an id stands for.
#[utoipa::path(put, path = "/api/v1/symbols", tag = "symbols",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = Kept), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn replace(
    _: Allowed<Admin>,
    services: Data<Services>,
    request: HttpRequest,
    body: actix_web::web::Payload,
) -> ApiResult<Json<Kept>> {
    receive_and_keep(services, &request, body, Existing::IsReplaced).await
}

/// Keeps what was sent, and has reports read again. What was begun goes on when the client leaves.
async fn receive_and_keep(
    services: Data<Services>,
    request: &HttpRequest,
    body: actix_web::web::Payload,
    existing: Existing,
) -> ApiResult<Json<Kept>> {
    let staged = artifact(&services, request, body.into_inner()).await?;
    let kept = tokio::spawn(async move { keep_staged(&services, staged, existing).await }).await;
    kept.map_err(|error| ApiError::new(Code::Internal, error))?.map(Json)
}

/// A file with what was sent, of the size that artifacts may have.
async fn artifact(services: &Services, request: &HttpRequest, body: Payload) -> ApiResult<TempPath> {
    let limit = services.config.limits.artifact_bytes;
    receive(services, request, body, (limit, "limits.artifact_bytes")).await
}

/// A file with what was sent; removed when dropped. A limit has its name in the settings.
pub(super) async fn receive(
    services: &Services,
    request: &HttpRequest,
    body: Payload,
    (limit, setting): (u64, &'static str),
) -> ApiResult<TempPath> {
    let too_long = || body::too_long(limit, setting);
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

async fn keep_staged(services: &Services, staged: TempPath, existing: Existing) -> ApiResult<Kept> {
    let (staged, file) = blocking(services, move || {
        let file = SymbolIdentity::of(&staged).map_err(KeepError::from)?;
        Ok((staged, file))
    })
    .await?;
    let modules = &services.stores.modules;
    let arrival = modules.add_arrival(&file.id, existing == Existing::IsReplaced).await?;
    let (folder, identity) = (services.symbols.clone(), file.clone());
    let kept = blocking(services, move || folder.keep(staged, &identity, existing)).await;
    let reports = match kept {
        Ok(true) => {
            let reports = modules.count_reports_of(&arrival).await?;
            modules.arrived(&arrival).await?;
            services.stores.arrivals.came.notify_one();
            reports
        }
        Ok(false) | Err(_) => {
            modules.end_arrival(&arrival).await?;
            0
        }
    };
    let new = kept?;
    tracing::info!(
        id = file.id,
        kind = file.kind.as_str(),
        new,
        replaces = arrival.replaces,
        "symbols came"
    );
    Ok(Kept {
        id: file.id,
        kind: file.kind.as_str(),
        new,
        reports,
    })
}

/// Runs work on files, which may be large.
async fn blocking<T: Send + 'static>(
    services: &Services,
    work: impl FnOnce() -> Result<T, KeepError> + Send + 'static,
) -> ApiResult<T> {
    let done = services.spawn_long(work).await;
    let done = done.map_err(|error| ApiError::new(Code::Internal, error))?;
    done.map_err(|error| match error {
        KeepError::NotSymbols(reason) => ApiError::new(Code::NotSymbols, reason),
        error @ KeepError::Other { .. } => ApiError::new(Code::SymbolsExist, error),
        KeepError::Io(error) => error.into(),
    })
}

/// What is kept for a build id or debug id.
#[utoipa::path(get, path = "/api/v1/symbols/{id}", tag = "symbols",
    params(("id" = String, Path)),
    responses((status = 200, body = Known), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn known(_: Allowed<Read>, services: Data<Services>, id: Path<String>) -> ApiResult<Json<Known>> {
    let id = id.into_inner();
    let (folder, wanted) = (services.symbols.clone(), id.clone());
    let files = blocking(&services, move || Ok(known_files(&folder, &wanted))).await?;
    if files.is_empty() {
        return Err(no_symbols(&id));
    }
    let kinds = files.iter().map(|file| file.kind).collect();
    Ok(Json(Known { id, kinds, files }))
}

fn known_files(folder: &SymbolFolder, id: &str) -> Vec<KnownFile> {
    let kinds = [SymbolKind::Executable, SymbolKind::DebugInfo, SymbolKind::Breakpad];
    let file = |kind: SymbolKind| {
        let about = folder.find(id, kind)?.metadata().ok()?;
        Some(KnownFile {
            kind: kind.as_str(),
            bytes: about.len(),
        })
    };
    kinds.into_iter().filter_map(file).collect()
}

fn no_symbols(id: &str) -> ApiError {
    ApiError::new(Code::NoSymbols, format!("there are no symbols with the id {id:?}"))
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
