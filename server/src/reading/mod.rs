//! Reading artifacts where it can do no harm: in processes of their own.
//!
//! A core may name a terabyte, and a reader may have a flaw that nobody knows. So artifacts are read by children of the
//! server: this very program, told to do nothing else ([`child`]), with limits on memory, open files and time. One that
//! dies costs the report that it read and nothing else; [`Children`] starts another.

pub mod child;
mod children;
mod scratch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use whycrash_evidence::Artifact;
use whycrash_plugin_host::Input;
use whycrash_reading::stored::{Body, Parts};

pub use children::Children;
pub use scratch::Scratch;

/// Why a report was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The process that read it ended, by a signal or for want of memory, or was ended because its time was over. In
    /// words for people who look at the report.
    #[error("{0}")]
    Died(String),
    /// The reader panicked, and lives on.
    #[error("reading it panicked: {0}")]
    Panicked(String),
    /// What was read can not be written down, or no process be started.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Reads the artifacts of a report.
pub trait ReadReports: Send + Sync + std::fmt::Debug {
    /// Reads them, and stores what they say as [`Report::store`](whycrash_plugin_host::Report::store) does, long parts
    /// in this folder.
    fn read(&self, input: &Input, folder: &Path) -> Result<Parts, ReadError>;
}

/// What a child is asked: a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    artifacts: Vec<RequestArtifact>,
    metadata: Map<String, Value>,
    folder: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct RequestArtifact {
    name: String,
    path: String,
    sha256: Option<String>,
}

/// What it answers: another.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    /// What is stored now, by the names of the parts.
    Read(BTreeMap<String, Sent>),
    /// The reader panicked.
    Panicked(String),
    /// It got no memory where a reader can go on without. What it found depends on this machine, and is no evidence.
    NoMemory,
    /// It could not be stored: the error's number where the system gave one, and what it was in words.
    Failed(Option<i32>, String),
}

/// A part of what was read.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Sent {
    /// A short one, in base64.
    Bytes(String),
    /// A longer one, in the folder.
    File(PathBuf),
}

impl From<Body> for Sent {
    fn from(body: Body) -> Self {
        match body {
            Body::Memory(bytes) => Self::Bytes(STANDARD.encode(bytes)),
            Body::File(path) => Self::File(path),
        }
    }
}

impl Sent {
    fn body(self) -> Result<Body, ReadError> {
        Ok(match self {
            Self::Bytes(text) => Body::Memory(STANDARD.decode(text).map_err(std::io::Error::other)?),
            Self::File(path) => Body::File(path),
        })
    }
}

impl Request {
    fn new(input: &Input, folder: &Path) -> Self {
        let artifacts = input.artifacts.iter().map(|artifact| RequestArtifact {
            name: artifact.name.clone(),
            path: artifact.path.to_string_lossy().into_owned(),
            sha256: artifact.sha256.clone(),
        });
        Self {
            artifacts: artifacts.collect(),
            metadata: input.metadata.clone(),
            folder: folder.to_string_lossy().into_owned(),
        }
    }

    fn input(self) -> Input {
        let artifacts = self.artifacts.into_iter().map(|given| {
            let artifact = Artifact::new(given.name, given.path);
            match given.sha256 {
                Some(sha256) => artifact.with_sha256(sha256),
                None => artifact,
            }
        });
        Input {
            artifacts: artifacts.collect(),
            metadata: self.metadata,
        }
    }
}
