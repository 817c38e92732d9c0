//! The user interface, built into the binary from `web/dist`.

use actix_web::http::Method;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use actix_web::{HttpRequest, HttpResponse};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::api::problem::{ApiError, Code};
use crate::store::Digest;

#[derive(RustEmbed)]
#[folder = "../web/dist"]
struct Files;

/// Shown where the interface was not built.
const NOT_BUILT: &str = include_str!("not-built.html");

/// Serves the interface's files; addresses that are none of them belong to its router, so they get its page.
pub async fn serve(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(ApiError::method_not_allowed("GET, HEAD"));
    }
    let path = request.path().trim_start_matches('/');
    if let Some(file) = Files::get(path).filter(|_| path != "index.html" && !path.starts_with('.')) {
        return Ok(answer(&request, path, &file));
    }
    // A missing script is an error, not a page: browsers refuse a page in its place with a message that misleads.
    if path.starts_with("assets/") {
        return Err(ApiError::new(Code::NotFound, format!("there is no file {path}")));
    }
    Ok(Files::get("index.html").map_or_else(
        || {
            HttpResponse::Ok()
                .content_type("text/html; charset=utf-8")
                .body(NOT_BUILT)
        },
        |index| answer(&request, "index.html", &index),
    ))
}

fn answer(request: &HttpRequest, path: &str, file: &EmbeddedFile) -> HttpResponse {
    let tag = format!("\"{}\"", Digest::of(&file.data).as_str().get(..16).unwrap_or_default());
    // The build puts a hash of their content into the names of files in `assets`.
    let cache = if path.starts_with("assets/") {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let known = request
        .headers()
        .get(IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = if known {
        HttpResponse::NotModified()
    } else {
        HttpResponse::Ok()
    };
    response
        .insert_header((CACHE_CONTROL, cache))
        .insert_header((ETAG, tag));
    if known {
        return response.finish();
    }
    let kind = mime_guess::from_path(path).first_or_octet_stream();
    let kind = if kind.type_() == "text" {
        format!("{kind}; charset=utf-8")
    } else {
        kind.to_string()
    };
    response.insert_header((CONTENT_TYPE, kind)).body(file.data.to_vec())
}
