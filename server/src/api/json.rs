//! Reports sent as JSON: read within limits, and checked as a whole before anything of them is kept.

use std::fmt;

use actix_web::HttpRequest;
use actix_web::dev::Payload;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::body::{Whole, append_error, says_more_than, too_long, unpacked, whole};
use super::prelude::*;
use crate::config::Limits;
use crate::ingest::metadata::{Budget, Object};
use crate::ingest::{Declared, Refusal, check, names};
use crate::store::Digest;

/// What limits the body.
const SETTING: &str = "limits.json_bytes";

/// A new report.
#[derive(Debug, ToSchema)]
pub struct NewReport {
    /// What is known about the crash: host, rank, job, command (free form).
    #[schema(required = false)]
    pub metadata: Map<String, Value>,
    /// What the crash left.
    pub artifacts: Vec<NewArtifact>,
}

/// An artifact of a new report: small ones come with their `data`, large ones are declared and sent with PUT.
#[derive(Debug, Deserialize, ToSchema)]
pub struct NewArtifact {
    /// File name.
    pub name: String,
    /// Size in bytes; needed without `data`.
    pub bytes: Option<u64>,
    /// SHA-256 of the bytes, hex; needed without `data`.
    #[schema(value_type = Option<String>)]
    pub sha256: Option<Digest>,
    /// The bytes in base64.
    pub data: Option<String>,
}

/// Receives a report as JSON.
pub async fn receive(services: &Services, request: &HttpRequest, payload: Payload) -> ApiResult<Whole> {
    if !is_json(request) {
        return Err(ApiError::new(
            Code::UnsupportedType,
            "the Content-Type is neither application/json nor multipart/form-data",
        ));
    }
    let most = services.config.limits.json_bytes as u64;
    if says_more_than(request, most) {
        return Err(too_long(most, SETTING));
    }
    whole(services, unpacked(services, request, payload)?, most, SETTING).await
}

/// Its metadata and its artifacts, the bytes of those that came with it in files.
pub async fn read(services: &Services, body: Whole) -> ApiResult<(Map<String, Value>, Vec<Declared>)> {
    // Reading takes several times the memory of the body, so only some are read at one time.
    let permit = services.parses.acquire().await;
    let (limits, is_long) = (services.config.limits.clone(), body.is_long());
    let read = move || {
        let NewReport { metadata, artifacts } = parse(&body.read()?, &limits)?;
        ApiResult::Ok((metadata, declared(artifacts, &limits)?))
    };
    let read = match is_long {
        true => services.spawn_long(read),
        false => tokio::task::spawn_blocking(read),
    };
    let (metadata, artifacts) = read.await.map_err(|error| ApiError::new(Code::Internal, error))??;
    let artifacts = stage(services, artifacts).await?;
    drop(permit);
    Ok((metadata, artifacts))
}

fn is_json(request: &HttpRequest) -> bool {
    use actix_web::HttpMessage as _;
    let kind = request.content_type().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// Reads a report, up to the first thing in it that is over a limit.
fn parse(text: &[u8], limits: &Limits) -> ApiResult<NewReport> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let mut reading = Reading {
        budget: Budget::new(limits),
        artifacts: limits.artifacts,
        refusal: None,
    };
    let report = reader.deserialize_map(&mut reading);
    let report = report.and_then(|report| reader.end().map(|()| report));
    report.map_err(|error| {
        let refusal = reading.refusal.take().or_else(|| reading.budget.refusal());
        refusal.map_or_else(|| ApiError::new(Code::InvalidJson, error), ApiError::from)
    })
}

/// Reads a report.
struct Reading {
    budget: Budget,
    /// How many artifacts there may be.
    artifacts: usize,
    refusal: Option<Refusal>,
}

impl<'de> Visitor<'de> for &mut Reading {
    type Value = NewReport;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a report: an object with `metadata` and `artifacts`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<NewReport, A::Error> {
        let (mut metadata, mut artifacts) = (None, None);
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "metadata" if metadata.is_none() => {
                    let budget = &mut self.budget;
                    metadata = Some(members.next_value_seed(Object { budget })?);
                }
                "artifacts" if artifacts.is_none() => {
                    artifacts = Some(members.next_value_seed(Artifacts(self))?);
                }
                "metadata" => return Err(Error::duplicate_field("metadata")),
                "artifacts" => return Err(Error::duplicate_field("artifacts")),
                // Clients may know more than this server.
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(NewReport {
            metadata: metadata.unwrap_or_default(),
            artifacts: artifacts.ok_or_else(|| A::Error::missing_field("artifacts"))?,
        })
    }
}

/// Reads artifacts, not more than there may be.
struct Artifacts<'a>(&'a mut Reading);

impl<'de> DeserializeSeed<'de> for Artifacts<'_> {
    type Value = Vec<NewArtifact>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Artifacts<'_> {
    type Value = Vec<NewArtifact>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of artifacts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut artifacts = Vec::new();
        while let Some(artifact) = items.next_element::<NewArtifact>()? {
            if artifacts.len() == self.0.artifacts {
                let refusal = Refusal::TooMany(self.0.artifacts);
                let error = A::Error::custom(&refusal);
                self.0.refusal = Some(refusal);
                return Err(error);
            }
            artifacts.push(artifact);
        }
        Ok(artifacts)
    }
}

/// An artifact, and its bytes if they came with it.
type WithBytes = (Declared, Option<Vec<u8>>);

/// The artifacts as they were declared, all checked.
fn declared(artifacts: Vec<NewArtifact>, limits: &Limits) -> ApiResult<Vec<WithBytes>> {
    let declared: Vec<WithBytes> = artifacts.into_iter().map(declare).collect::<ApiResult<_>>()?;
    check(declared.iter().map(|(artifact, _)| artifact), limits)?;
    Ok(declared)
}

fn declare(artifact: NewArtifact) -> ApiResult<WithBytes> {
    let invalid = |detail: String| ApiError::new(Code::InvalidArtifact, detail);
    let NewArtifact {
        name,
        bytes,
        sha256,
        data,
    } = artifact;
    let name = names::clean(&name).ok_or_else(|| invalid(format!("{name:?} is no file name")))?;
    let Some(data) = data else {
        let (Some(bytes), Some(digest)) = (bytes, sha256) else {
            return Err(invalid(format!(
                "artifact {name:?} has no `data`, so `bytes` and `sha256` are needed"
            )));
        };
        let declared = Declared {
            name,
            bytes,
            digest,
            staged: None,
        };
        return Ok((declared, None));
    };
    let data = STANDARD
        .decode(data)
        .map_err(|error| invalid(format!("the data of {name:?} is no base64: {error}")))?;
    let actual = Digest::of(&data);
    if sha256.is_some_and(|declared| declared != actual) || bytes.is_some_and(|bytes| bytes != data.len() as u64) {
        let detail = format!("artifact {name:?} was declared with another size or sha256 than its data has ({actual})");
        return Err(ApiError::new(Code::Mismatch, detail).with("actual", actual.as_str()));
    }
    let declared = Declared {
        name,
        bytes: data.len() as u64,
        digest: actual,
        staged: None,
    };
    Ok((declared, Some(data)))
}

/// Puts the bytes that came into files, which go away unless the report is taken in.
async fn stage(services: &Services, artifacts: Vec<WithBytes>) -> ApiResult<Vec<Declared>> {
    let limit = services.config.limits.artifact_bytes;
    let mut staged = Vec::with_capacity(artifacts.len());
    for (mut artifact, bytes) in artifacts {
        if let Some(bytes) = bytes {
            let too_large = || {
                let name = artifact.name.clone();
                Refusal::TooLarge { name, limit }.into()
            };
            let mut incoming = services.ingest.receive(limit)?;
            let written = incoming.write(&bytes).await;
            written.map_err(|error| append_error(error, too_large))?;
            let received = incoming.finish().await;
            artifact.staged = Some(received.map_err(|error| append_error(error, too_large))?.path);
        }
        staged.push(artifact);
    }
    Ok(staged)
}
