//! What the process that watched the job hands over to the one that makes the report.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsRawFd as _, IntoRawFd as _, RawFd};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::FdFlags;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::arm::Scratch;
use crate::collect::{Missing, cores::Search};
use crate::config::Config;
use crate::inputs::Knowledge;

/// Everything but the files that the job left.
#[derive(Debug, Serialize, Deserialize)]
pub struct Handover {
    /// The context of the crash.
    pub context: Map<String, Value>,
    /// What could not be got.
    pub unavailable: Vec<Missing>,
    /// How to find the files that the job left.
    pub search: Search,
    /// Where the job wrote what it was asked for.
    pub scratch: Option<Scratch>,
    /// Whether the job has ended: else there is no core dump to look for.
    pub ended: bool,
    /// Whether the CUDA driver is asked what it knows.
    pub gpus: bool,
    /// What is in open files.
    pub pieces: Vec<Piece>,
    /// What was asked for.
    pub options: Options,
    /// The settings.
    pub config: Config,
}

/// What was asked for, about the report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Options {
    /// Where to keep it.
    pub output: Option<PathBuf>,
    /// Where to upload it to.
    pub server: Option<String>,
    /// Where to write its id and address.
    pub report_to: Option<PathBuf>,
    /// Where symbols and knowledge are.
    pub knowledge: Knowledge,
    /// Whether to say why the job crashed.
    pub diagnose: bool,
    /// Whether nothing is said at all.
    pub quiet: bool,
    /// Whether a line is all that is said.
    pub brief: bool,
    /// Columns to lay text out in.
    pub width: usize,
    /// How long the answer of a server is waited for.
    pub server_wait: Duration,
}

/// A part of the report that is in a file which both processes have open.
#[derive(Debug, Serialize, Deserialize)]
pub struct Piece {
    /// The name of the artifact.
    pub name: String,
    /// The descriptor.
    descriptor: RawFd,
    /// Where in the file it begins.
    from: u64,
}

impl Piece {
    /// Of bytes, in memory.
    pub fn of_bytes(name: &str, bytes: &[u8]) -> std::io::Result<Self> {
        let mut file = in_memory(name)?;
        file.write_all(bytes)?;
        Self::of_file(name, file, 0)
    }

    /// Of a file, from a place in it to its end.
    pub fn of_file(name: &str, file: File, from: u64) -> std::io::Result<Self> {
        rustix::io::fcntl_setfd(&file, FdFlags::empty())?;
        Ok(Self {
            name: name.to_owned(),
            // The other process has it too, and this one ends soon.
            descriptor: file.into_raw_fd(),
            from,
        })
    }

    /// Lets go of it, where this process goes on.
    pub fn close(self) {
        let _ = nix::unistd::close(self.descriptor);
    }

    /// What it holds; the last bytes of it where it is large.
    pub fn bytes(&self) -> std::io::Result<Vec<u8>> {
        /// As much of a file as of a transcript, roughly: the end is what tells.
        const LIMIT: u64 = 9 << 20;
        let mut file = File::open(format!("/proc/self/fd/{}", self.descriptor))?;
        let end = file.metadata()?.len();
        file.seek(SeekFrom::Start(self.from.max(end.saturating_sub(LIMIT))))?;
        let mut bytes = Vec::new();
        file.take(LIMIT).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl Handover {
    /// A file of it, at its beginning.
    pub fn write(&self) -> anyhow::Result<File> {
        let mut file = in_memory("handover").context("no memory to hand the report over")?;
        serde_json::to_writer(&file, self).context("what is known of the crash has no JSON form")?;
        file.rewind()?;
        Ok(file)
    }

    /// Reads what [`Self::write`] wrote.
    pub fn read(from: impl std::io::Read) -> anyhow::Result<Self> {
        serde_json::from_reader(std::io::BufReader::new(from)).context("this is for whycrash itself to start")
    }
}

/// A file without a place on a disk, by whose path other code can open it.
pub fn in_memory(name: &str) -> std::io::Result<File> {
    Ok(memfd_create(name, MemfdFlags::CLOEXEC)?.into())
}

/// The path of an open file, for as long as it is open.
pub fn path_of(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}
