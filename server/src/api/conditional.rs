//! Answers that are sent only to who does not have them yet: `ETag`, `If-None-Match` and 304.

use actix_web::http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;

use super::problem::{ApiError, ApiResult, Code};
use crate::store::Digest;

/// Kept by the browser alone, and asked about every time: an answer may hold a job's secrets.
const CACHE: &str = "private, no-cache";

/// The version of an answer. It is weak, because the same answer may travel packed or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag(String);

impl Tag {
    /// The tag of what these bytes, and nothing else, decide.
    pub fn of(bytes: &[u8]) -> Self {
        let digest = Digest::of(bytes);
        Self(format!("W/\"{}\"", digest.as_str().get(..32).unwrap_or_default()))
    }

    /// Whether the one who asks has this version.
    fn is_known_to(&self, request: &HttpRequest) -> bool {
        let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        let known = request.headers().get_all(IF_NONE_MATCH);
        known
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|tag| tag.trim() == "*" || opaque(tag) == opaque(&self.0))
    }

    /// 304 for who has this version; none for who needs the answer itself.
    pub fn unchanged(&self, request: &HttpRequest) -> Option<HttpResponse> {
        self.is_known_to(request).then(|| {
            HttpResponse::NotModified()
                .insert_header((ETAG, self.0.as_str()))
                .insert_header((CACHE_CONTROL, CACHE))
                .finish()
        })
    }

    /// The answer itself, which is JSON.
    pub fn answer(&self, json: String) -> HttpResponse {
        HttpResponse::Ok()
            .content_type("application/json")
            .insert_header((ETAG, self.0.as_str()))
            .insert_header((CACHE_CONTROL, CACHE))
            .body(json)
    }
}

/// A small answer, or 304 for who has it already.
pub fn answer(request: &HttpRequest, value: &impl Serialize) -> ApiResult<HttpResponse> {
    let json = serde_json::to_string(value).map_err(|error| ApiError::new(Code::Internal, error))?;
    Ok(answer_json(request, json))
}

/// An answer that is JSON already, or 304 for who has it.
pub fn answer_json(request: &HttpRequest, json: String) -> HttpResponse {
    let tag = Tag::of(json.as_bytes());
    tag.unchanged(request).unwrap_or_else(|| tag.answer(json))
}
