//! Where a page of a list ended, as clients carry it: in no form that they could rely on.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::problem::{ApiError, ApiResult, Code};
use crate::store::StoreError;

/// The word for a place in a list.
pub fn word(place: Option<&impl Serialize>) -> ApiResult<Option<String>> {
    let json = place.map(serde_json::to_vec).transpose();
    let json = json.map_err(|error| StoreError::Failed(error.to_string()))?;
    Ok(json.map(|json| BASE64.encode(json)))
}

/// The place that a word stands for.
pub fn place<T: DeserializeOwned>(word: Option<&String>) -> ApiResult<Option<T>> {
    let Some(word) = word else { return Ok(None) };
    let json = BASE64.decode(word).ok();
    let place = json.and_then(|json| serde_json::from_slice(&json).ok());
    place.map(Some).ok_or_else(|| {
        let detail = "`after` is not where a page of this list ended: take it from `next` of the page before";
        ApiError::new(Code::InvalidRequest, detail)
    })
}
