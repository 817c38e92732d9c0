//! Reports sent in one go as `multipart/form-data`, streamed to disk part by part.

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::HttpRequest;
use actix_web::dev::Payload;
use futures_util::{StreamExt, TryStreamExt};
use serde_json::{Map, Value};

use super::body::{append_error, broken, unpacked};
use super::prelude::*;
use crate::ingest::metadata::{Budget, ObjectError};
use crate::ingest::{Declared, Incoming, Refusal, names};

/// What a form held.
#[derive(Debug)]
pub struct Form {
    /// The JSON object in the field `metadata`, and every other field as a string.
    pub metadata: Map<String, Value>,
    /// Its files; removed unless they are taken in.
    pub artifacts: Vec<Declared>,
    budget: Budget,
    /// Bytes that the fields may still have.
    left: usize,
}

/// Receives a form.
pub async fn receive(services: &Services, request: &HttpRequest, payload: Payload) -> ApiResult<Form> {
    let mut parts = Multipart::new(request.headers(), unpacked(services, request, payload)?);
    let limits = &services.config.limits;
    let mut form = Form {
        metadata: Map::new(),
        artifacts: Vec::new(),
        budget: Budget::new(limits),
        left: limits.metadata_bytes,
    };
    while let Some(part) = parts.next().await {
        let part = part.map_err(|error| malformed(&error))?;
        let disposition = part.content_disposition();
        let field = disposition.and_then(|d| d.get_name()).unwrap_or_default().to_owned();
        match disposition.and_then(|d| d.get_filename()).map(str::to_owned) {
            Some(file) => form.receive_file(services, part, &file, &field).await?,
            None => form.receive_field(services, part, field).await?,
        }
    }
    Ok(form)
}

fn malformed(error: &MultipartError) -> ApiError {
    match error {
        MultipartError::Payload(error) => broken(error),
        error => ApiError::new(Code::InvalidMultipart, error),
    }
}

impl Form {
    async fn receive_file(&mut self, services: &Services, mut part: Field, file: &str, field: &str) -> ApiResult<()> {
        let limits = &services.config.limits;
        if self.artifacts.len() == limits.artifacts {
            return Err(Refusal::TooMany(limits.artifacts).into());
        }
        let taken: Vec<String> = self.artifacts.iter().map(|artifact| artifact.name.clone()).collect();
        let name = names::clean(file).or_else(|| names::clean(field));
        let name = names::unique(&name.unwrap_or_else(|| "artifact".to_owned()), &taken);
        let limit = limits.artifact_bytes;
        let too_large = || {
            let name = name.clone();
            Refusal::TooLarge { name, limit }.into()
        };
        let mut incoming: Incoming = services.ingest.receive(limit)?;
        while let Some(piece) = part.try_next().await.map_err(|error| malformed(&error))? {
            let written = incoming.write(&piece).await;
            written.map_err(|error| append_error(error, too_large))?;
        }
        let received = incoming.finish().await;
        let received = received.map_err(|error| append_error(error, too_large))?;
        self.artifacts.push(Declared::received(name, received));
        Ok(())
    }

    async fn receive_field(&mut self, services: &Services, mut part: Field, field: String) -> ApiResult<()> {
        let mut value = Vec::new();
        while let Some(piece) = part.try_next().await.map_err(|error| malformed(&error))? {
            let left = self.left.checked_sub(piece.len());
            self.left = left.ok_or(Refusal::MetadataBytes(services.config.limits.metadata_bytes))?;
            value.extend_from_slice(&piece);
        }
        if field == "metadata" {
            return self.add_object(&value);
        }
        self.budget.take_value()?;
        self.budget.take_bytes(field.len() + value.len())?;
        if !field.is_empty() {
            let value = Value::String(String::from_utf8_lossy(&value).into_owned());
            self.budget.insert(&mut self.metadata, field, value)?;
        }
        Ok(())
    }

    fn add_object(&mut self, text: &[u8]) -> ApiResult<()> {
        let members = self.budget.parse(text).map_err(|error| match error {
            ObjectError::Refused(refusal) => refusal.into(),
            ObjectError::Json(error) => ApiError::new(
                Code::InvalidJson,
                format!("the field `metadata` is no JSON object: {error}"),
            ),
        })?;
        for (name, value) in members {
            self.budget.insert(&mut self.metadata, name, value)?;
        }
        Ok(())
    }
}
