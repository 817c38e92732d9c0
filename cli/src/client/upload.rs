//! Uploading a report: what it is made of first, then what the server does not have yet.

use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom};
use std::ops::Range;
use std::time::Duration;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::blocking::Body;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use whycrash_evidence::Artifact;

use super::{Client, Refused, encode, sent};
use crate::scrub;

/// Artifacts up to this many bytes travel with the report itself.
const SMALL: u64 = 64 << 10;
/// How long a file of symbols may take.
pub(super) const TRANSFER: Duration = Duration::from_secs(24 * 60 * 60);
/// Bytes of an artifact that are sent at once, and how long that may take: 140 kB/s at least.
const PART: u64 = 16 << 20;
const PART_TIME: Duration = Duration::from_secs(120);
/// How often in a row it may fail, and how much longer the pause is each time.
const FAILURES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(250);
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
    /// Uploads a report, without its secrets unless the settings say otherwise, and tells its address as soon as it has
    /// one. The same report twice is one report.
    pub fn upload(
        &self,
        artifacts: &[Artifact],
        metadata: &Map<String, Value>,
        progress: &impl Progress,
        announce: &dyn Fn(&Uploaded) -> anyhow::Result<()>,
    ) -> anyhow::Result<Uploaded> {
        let scrubbed = self.scrubs.then(|| scrub::outgoing(artifacts)).transpose()?;
        let artifacts = scrubbed.as_ref().map_or(artifacts, |scrubbed| &scrubbed.artifacts);
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
        let uploaded = Uploaded {
            id: accepted.id.clone(),
            url: accepted.url.clone(),
        };
        announce(&uploaded)?;
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
        sent::remember(self.server(), &uploaded.id);
        Ok(uploaded)
    }

    /// Sends an artifact in chunks, each from where the server says that it has come: what breaks, stalls or is at odds
    /// with what the server has is taken up again from there.
    fn put(&self, id: &str, name: &str, hashed: &Hashed<'_>, progress: &impl Progress) -> anyhow::Result<()> {
        let address = self.address(&format!("reports/{}/artifacts/{}", encode(id), encode(name)));
        let path = &hashed.artifact.path;
        let file = File::open(path).with_context(|| format!("can not read {}", path.display()))?;
        let mut offset = self.offset(&address).unwrap_or(0).min(hashed.bytes);
        progress.begin(name, hashed.bytes - offset);
        let mut failures = 0;
        loop {
            let end = (offset + PART).min(hashed.bytes);
            match self.put_part(&address, &file, offset..end, progress) {
                Ok(()) if end == hashed.bytes => return Ok(()),
                Ok(()) => (offset, failures) = (end, 0),
                Err(error) if error.is::<Refused>() || failures == FAILURES => return Err(error),
                Err(error) => {
                    tracing::debug!("{error:#}");
                    failures += 1;
                    std::thread::sleep(PAUSE * failures);
                    let here = self.offset(&address).unwrap_or(offset).min(hashed.bytes);
                    failures = if here > offset { 0 } else { failures };
                    offset = here;
                }
            }
        }
    }

    /// Sends a part of an artifact, once.
    fn put_part(&self, address: &str, file: &File, part: Range<u64>, progress: &impl Progress) -> anyhow::Result<()> {
        let mut file = file.try_clone().context("can not read the artifact again")?;
        file.seek(SeekFrom::Start(part.start))
            .context("can not read the artifact")?;
        let bytes = part.end - part.start;
        let body = Body::sized(Counted::new(file.take(bytes), progress.clone()), bytes);
        self.once(|http| {
            http.put(address)
                .header("Upload-Offset", part.start)
                .timeout(PART_TIME)
                .body(body)
        })
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

/// Something that tells how far it has been read.
pub(super) struct Counted<R, P> {
    file: R,
    progress: P,
}

impl<R, P> Counted<R, P> {
    pub(super) fn new(file: R, progress: P) -> Self {
        Self { file, progress }
    }
}

impl<R: Read, P: Progress> Read for Counted<R, P> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.progress.advance(length as u64);
        Ok(length)
    }
}
