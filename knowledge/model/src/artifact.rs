//! A file a crash left.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Problem;

/// A file a crash left, by the name its report knows it by and where its bytes are now.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// Name within the report, such as `core.zst` or `train.log`. Citations refer to it.
    pub name: String,
    /// Where the bytes are on this machine.
    pub path: PathBuf,
    /// SHA-256 of the bytes in lower-case hex, where somebody has computed it before.
    pub sha256: Option<String>,
    /// What was wrong with it before it came here: it was cut, say.
    pub problems: Vec<Problem>,
    /// The file that `path` leads to only while it is open.
    _open: Option<Arc<File>>,
}

impl Artifact {
    /// An artifact of this name with its bytes at `path`.
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            path: path.into(),
            sha256: None,
            problems: Vec::new(),
            _open: None,
        }
    }

    /// An artifact with its bytes in a file that has no place in a folder, and is there for as long as somebody has the
    /// artifact.
    pub fn of_file(name: impl Into<String>, file: File) -> Self {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        Self {
            _open: Some(Arc::new(file)),
            ..Self::new(name, path)
        }
    }

    /// The same with its hash: bytes that were hashed when they came need not be hashed again.
    #[must_use]
    pub fn with_sha256(self, sha256: impl Into<String>) -> Self {
        Self {
            sha256: Some(sha256.into()),
            ..self
        }
    }
}

/// What an artifact is, told from its content (never from its name alone).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArtifactKind {
    /// ELF core dump of a host process.
    ElfCore,
    /// ELF core dump of a GPU, written by the CUDA driver.
    GpuCore,
    /// Minidump (Breakpad, Crashpad).
    Minidump,
    /// `PyTorch` CUDA memory snapshot.
    MemorySnapshot,
    /// NCCL flight recorder dump of one rank.
    FlightRecorder,
    /// What NCCL's RAS answered, as JSON.
    NcclRas,
    /// Log of NCCL's Inspector.
    NcclInspector,
    /// torchcomms' own log of one rank.
    TorchcommsLog,
    /// What `nvidia-bug-report.sh` gathered of a machine.
    BugReport,
    /// torchelastic `error.json`.
    ElasticError,
    /// What the collector wrote about the process and the machine.
    Context,
    /// Results of tests of the machine (`dcgmi diag -j`).
    Diagnostic,
    /// Reports of compute-sanitizer as XML.
    Sanitizer,
    /// Jupyter notebook: the cells and what they printed.
    Notebook,
    /// Lines of logs as a log store hands them out, as JSON.
    LogExport,
    /// Rows of numbers that a training loop logged: CSV or lines of JSON.
    Metrics,
    /// Scalars as `TensorBoard` keeps them.
    Tfevents,
    /// The record of a run that Weights & Biases keeps (`run-ID.wandb`).
    WandbRun,
    /// Lines of text: logs, tracebacks, kernel messages, sanitizer reports.
    Log,
    /// Files packed into one: a tar or zip file, which is unpacked, and each of its members read.
    Archive,
    /// Nothing in it at all.
    Empty,
    /// None of the above: kept, and named as unknown.
    Unknown,
}

impl ArtifactKind {
    /// Whether such an artifact is shown, and cited, as a text that is made of it.
    pub fn is_rendered(self) -> bool {
        matches!(self, Self::Notebook | Self::LogExport | Self::WandbRun)
    }

    /// Whether lines of such an artifact can be shown and cited.
    pub fn is_text(self) -> bool {
        let binary = [
            Self::ElfCore,
            Self::GpuCore,
            Self::Minidump,
            Self::MemorySnapshot,
            Self::FlightRecorder,
            Self::Archive,
            Self::Tfevents,
            Self::Empty,
            Self::Unknown,
        ];
        !binary.contains(&self)
    }
}

/// A part of an artifact's text that people know by a name of its own, such as a cell of a notebook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Section {
    /// Its first line. It goes on to the next section.
    pub line: u64,
    /// What people call it, such as `cell 4, In [3]`.
    pub name: String,
}
