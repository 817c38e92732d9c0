//! Reports sent in one go as `multipart/form-data`, streamed to disk part by part.

use std::sync::Arc;

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::HttpRequest;
use actix_web::dev::{Decompress, Payload};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use serde_json::{Map, Value};
use tokio::sync::OwnedSemaphorePermit;

use super::prelude::*;
use crate::ingest::{Declared, Refusal, names};

/// What a form held.
#[derive(Debug, Default)]
pub struct Form {
    /// The JSON object in the field `metadata`, and every other field as a string.
    pub metadata: Map<String, Value>,
    /// Its files, durable by now.
    pub artifacts: Vec<Declared>,
}

/// Leave to receive artifact bytes.
pub fn permit(services: &Services) -> ApiResult<OwnedSemaphorePermit> {
    let permit = Arc::clone(&services.uploads).try_acquire_owned();
    permit.map_err(|_| ApiError::new(Code::TooManyRequests, "as many uploads are running as are allowed"))
}

/// Receives a form; a body with `Content-Encoding` is unpacked on the way, as Crashpad sends it.
pub async fn receive(services: &Services, request: &HttpRequest, payload: Payload) -> ApiResult<Form> {
    let body = Decompress::from_headers(payload, request.headers());
    let mut parts = Multipart::new(request.headers(), body);
    let mut form = Form::default();
    let mut fields_left = services.config.limits.metadata_bytes;
    while let Some(part) = parts.next().await {
        let part = part.map_err(|error| malformed(&error))?;
        let disposition = part.content_disposition();
        let field = disposition.and_then(|d| d.get_name()).unwrap_or_default().to_owned();
        match disposition.and_then(|d| d.get_filename()).map(str::to_owned) {
            Some(file) => receive_file(services, &mut form, part, &file, &field).await?,
            None => {
                let value = receive_field(part, &mut fields_left).await?;
                add_field(&mut form.metadata, field, value)?;
            }
        }
    }
    Ok(form)
}

fn malformed(error: &MultipartError) -> ApiError {
    ApiError::new(Code::InvalidMultipart, error)
}

async fn receive_file(services: &Services, form: &mut Form, mut part: Field, file: &str, field: &str) -> ApiResult<()> {
    let limits = &services.config.limits;
    if form.artifacts.len() == limits.artifacts {
        return Err(Refusal::TooMany(limits.artifacts + 1, limits.artifacts).into());
    }
    let taken: Vec<String> = form.artifacts.iter().map(|artifact| artifact.name.clone()).collect();
    let name = names::clean(file).or_else(|| names::clean(field));
    let name = names::unique(&name.unwrap_or_else(|| "artifact".to_owned()), &taken);
    let incoming = services.ingest.receive()?;
    while let Some(piece) = part.try_next().await.map_err(|error| malformed(&error))? {
        if !incoming.write(piece).await {
            break;
        }
    }
    form.artifacts.push(services.ingest.keep(&name, incoming).await?);
    Ok(())
}

async fn receive_field(mut part: Field, left: &mut usize) -> ApiResult<Bytes> {
    let mut value = Vec::new();
    while let Some(piece) = part.try_next().await.map_err(|error| malformed(&error))? {
        *left = left
            .checked_sub(piece.len())
            .ok_or_else(|| ApiError::new(Code::TooLarge, "the fields of the form are larger than metadata may be"))?;
        value.extend_from_slice(&piece);
    }
    Ok(value.into())
}

fn add_field(metadata: &mut Map<String, Value>, field: String, value: Bytes) -> ApiResult<()> {
    if field == "metadata" {
        let members: Map<String, Value> = serde_json::from_slice(&value).map_err(|error| {
            ApiError::new(
                Code::InvalidJson,
                format!("the field `metadata` is no JSON object: {error}"),
            )
        })?;
        metadata.extend(members);
    } else if !field.is_empty() {
        metadata.insert(field, Value::String(String::from_utf8_lossy(&value).into_owned()));
    }
    Ok(())
}
