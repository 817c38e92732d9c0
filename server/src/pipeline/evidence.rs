//! Evidence on its way between the reader's files and the store.

use std::fs;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use whycrash_reading::stored::{Body, Head, Parts, text_part};

use crate::store::{Blobs, Digest, LocalBlob, PartBody, ReportRecord, Result, StoreError, StoredEvidence, StoredPart};

/// Bytes up to which a part is kept beside its record: one commit for many reports instead of a file for each.
const INLINE_BYTES: u64 = 64 << 10;

/// Evidence that can be read, for as long as this lives.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Its parts. One whose blob is gone is missing.
    pub parts: Parts,
    /// Those that are blobs.
    pub blobs: Vec<LocalBlob>,
}

/// Makes stored evidence readable.
pub async fn load(blobs: &dyn Blobs, evidence: StoredEvidence) -> Result<Loaded> {
    let mut loaded = Loaded::default();
    for part in evidence.parts {
        let body = match part.body {
            PartBody::Inline(bytes) => Body::Memory(bytes),
            PartBody::Blob(digest) => {
                let Some(blob) = blobs.local(&digest).await? else {
                    continue;
                };
                let path = blob.path.clone();
                loaded.blobs.push(blob);
                Body::File(path)
            }
        };
        loaded.parts.0.insert(part.name, body);
    }
    Ok(loaded)
}

/// Takes over what a reader has stored. Long parts become blobs, and their files are gone then.
pub async fn take_over(blobs: &dyn Blobs, parts: Parts, head: &Head, key: String) -> Result<StoredEvidence> {
    let mut stored = Vec::new();
    for (name, body) in parts.0 {
        let (bytes, body) = match body {
            Body::Memory(bytes) => (bytes.len() as u64, PartBody::Inline(bytes)),
            Body::File(path) => take_file(blobs, &path).await?,
        };
        stored.push(StoredPart {
            artifact: artifact_of(head, &name),
            name,
            bytes,
            body,
        });
    }
    Ok(StoredEvidence {
        key,
        reader: head.reader,
        parts: stored,
    })
}

async fn take_file(blobs: &dyn Blobs, path: &Path) -> Result<(u64, PartBody)> {
    let bytes = fs::metadata(path)?.len();
    if bytes <= INLINE_BYTES {
        return Ok((bytes, PartBody::Inline(fs::read(path)?)));
    }
    let digest = digest_of(path)?;
    blobs.put(&digest, path).await?;
    Ok((bytes, PartBody::Blob(digest)))
}

/// Whose text a part is.
fn artifact_of(head: &Head, part: &str) -> Option<String> {
    let mut texts = head.texts.iter().enumerate();
    let text = texts.find(|(number, _)| text_part(*number) == part);
    text.map(|(_, text)| text.artifact.clone())
}

fn digest_of(path: &Path) -> Result<Digest> {
    whycrash_reading::sha256_of_file(path)?
        .parse()
        .map_err(|error| StoreError::Failed(format!("a digest: {error}")))
}

/// Identifies what evidence is made of: the artifacts and metadata of a report, the reader, and the symbols there are.
pub fn key(report: &ReportRecord, reader: u32, symbols: u64) -> String {
    let mut artifacts: Vec<[&str; 2]> = report
        .artifacts
        .iter()
        .map(|artifact| [artifact.name.as_str(), artifact.digest.as_str()])
        .collect();
    artifacts.sort_unstable();
    let of = serde_json::json!([report.id.as_str(), artifacts, reader, symbols]);
    hex::encode(Sha256::digest(of.to_string()))
}
