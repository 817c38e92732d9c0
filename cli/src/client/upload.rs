//! Uploading a report: what it is made of first, then what the server does not have yet.

use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom};
use std::time::Duration;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::blocking::Body;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use whycrash_evidence::Artifact;

use super::{Client, encode};

/// Artifacts up to this many bytes travel with the report itself.
const SMALL: u64 = 64 << 10;
/// How long one artifact may take: a core dump of a big job has tens of GB.
pub(super) const TRANSFER: Duration = Duration::from_secs(24 * 60 * 60);
/// Read at once.
const CHUNK: usize = 256 << 10;

/// A report on a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Uploaded {
    /// Its id.
    pub id: String,
    /// Where people look at it.
    pub url: String,
}

/// Told of the bytes that have been read: of every artifact once to hash it, and again of those that are sent.
pub trait Progress: Clone + Send + 'static {
    /// What is done next, with so many bytes.
    fn begin(&self, what: &str, bytes: u64);
    /// So many bytes more.
    fn advance(&self, bytes: u64);
    /// No more to come.
    fn finish(&self);
}

/// What the server answers to a report.
#[derive(Debug, Deserialize)]
struct Accepted {
    id: String,
    url: String,
    #[serde(default)]
    wants: Vec<Wanted>,
}

/// An artifact that the server does not have.
#[derive(Debug, Deserialize)]
struct Wanted {
    /// Its name there, which may be a cleaned version of ours.
    name: String,
    sha256: String,
}

/// An artifact with what identifies its bytes.
struct Hashed<'a> {
    artifact: &'a Artifact,
    bytes: u64,
    sha256: String,
}

impl Client {
    /// Uploads a report. The same report twice is one report.
    pub fn upload(
        &self,
        artifacts: &[Artifact],
        metadata: &Map<String, Value>,
        progress: &impl Progress,
    ) -> anyhow::Result<Uploaded> {
        let hashed = artifacts
            .iter()
            .map(|artifact| hash(artifact, progress))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let declared = hashed.iter().map(Hashed::declare).collect::<anyhow::Result<Vec<_>>>()?;
        let report = json!({"metadata": metadata, "artifacts": declared});
        let answer = self.send(|http| http.post(self.address("reports")).json(&report))?;
        let accepted: Accepted = answer
            .json()
            .with_context(|| format!("{} did not take the report", self.server()))?;
        for wanted in &accepted.wants {
            let ours = hashed.iter().find(|hashed| hashed.sha256 == wanted.sha256);
            let ours = ours.with_context(|| {
                format!(
                    "{} wants {:?}, which is not part of the report",
                    self.server(),
                    wanted.name
                )
            })?;
            self.put(&accepted.id, &wanted.name, ours, progress)?;
        }
        if !accepted.wants.is_empty() {
            self.send(|http| http.post(self.address(&format!("reports/{}/complete", encode(&accepted.id)))))?;
        }
        progress.finish();
        Ok(Uploaded {
            id: accepted.id,
            url: accepted.url,
        })
    }

    /// Sends an artifact; a broken connection is resumed where it broke.
    fn put(&self, id: &str, name: &str, hashed: &Hashed<'_>, progress: &impl Progress) -> anyhow::Result<()> {
        let address = self.address(&format!("reports/{}/artifacts/{}", encode(id), encode(name)));
        let path = &hashed.artifact.path;
        let file = File::open(path).with_context(|| format!("can not read {}", path.display()))?;
        self.send(|http| {
            let offset = self.offset(&address).unwrap_or(0).min(hashed.bytes);
            progress.begin(name, hashed.bytes - offset);
            let request = http.put(&address).header("Upload-Offset", offset).timeout(TRANSFER);
            // A file that can not be read any more is refused by the server: what it got is too short.
            match file
                .try_clone()
                .and_then(|mut file| file.seek(SeekFrom::Start(offset)).map(|_| file))
            {
                Ok(file) => request.body(Body::sized(Counted::new(file, progress.clone()), hashed.bytes - offset)),
                Err(_) => request,
            }
        })?;
        Ok(())
    }

    /// How many bytes of an artifact the server has.
    fn offset(&self, address: &str) -> Option<u64> {
        let answer = self.send(|http| http.head(address)).ok()?;
        answer.headers().get("Upload-Offset")?.to_str().ok()?.parse().ok()
    }
}

impl Hashed<'_> {
    fn declare(&self) -> anyhow::Result<Value> {
        let mut declared = json!({"name": self.artifact.name, "bytes": self.bytes, "sha256": self.sha256});
        if self.bytes <= SMALL {
            let path = &self.artifact.path;
            let bytes = std::fs::read(path).with_context(|| format!("can not read {}", path.display()))?;
            declared["data"] = STANDARD.encode(bytes).into();
        }
        Ok(declared)
    }
}

fn hash<'a>(artifact: &'a Artifact, progress: &impl Progress) -> anyhow::Result<Hashed<'a>> {
    let cannot_read = || format!("can not read {}", artifact.path.display());
    let mut file = File::open(&artifact.path).with_context(cannot_read)?;
    progress.begin(&artifact.name, file.metadata().with_context(cannot_read)?.len());
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    let mut bytes = 0;
    loop {
        let length = file.read(&mut chunk).with_context(cannot_read)?;
        if length == 0 {
            break;
        }
        hasher.update(chunk.get(..length).unwrap_or_default());
        bytes += length as u64;
        progress.advance(length as u64);
    }
    let sha256 = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Hashed {
        artifact,
        bytes,
        sha256,
    })
}

/// A file that tells how far it has been read.
pub(super) struct Counted<P> {
    file: File,
    progress: P,
}

impl<P> Counted<P> {
    pub(super) fn new(file: File, progress: P) -> Self {
        Self { file, progress }
    }
}

impl<P: Progress> Read for Counted<P> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.progress.advance(length as u64);
        Ok(length)
    }
}
