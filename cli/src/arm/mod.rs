//! Evidence that a job leaves because its environment asks for it. What the user set stays as it is.

mod scratch;

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use serde::{Deserialize, Serialize};

use crate::collect::Missing;

pub use scratch::Scratch;

/// The start-up hook of Python.
const MEMORY_HISTORY: &str = include_str!("memory_history.py");
/// Bytes of the driver's log that are kept; what comes after them is not.
const CUDA_LOG_BYTES: u64 = 8 << 20;
/// Of all there is in a GPU, registers, stacks and code where it stopped. No flag that drivers of CUDA 12 do not know,
/// and not `skip_abort`, which lets the job go on as if there had been no error.
const LIGHT_GPU_CORE: &str = "skip_nonrelocated_elf_images,skip_global_memory,skip_shared_memory,skip_local_memory";

/// Evidence that can be armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// Python prints its stacks when a signal ends it
    Faulthandler,
    /// The CUDA driver says in words which call it refused, and why
    CudaLog,
    /// PyTorch notes its collectives, and writes them down when one times out
    FlightRecorder,
    /// PyTorch notes its allocations on GPUs, and writes them down when memory runs out
    MemoryHistory,
    /// The CUDA driver dumps a GPU that stops at an error, and ends the process
    GpuCore,
}

/// Those that change nothing about a job but its environment.
const BY_DEFAULT: [Switch; 3] = [Switch::Faulthandler, Switch::CudaLog, Switch::FlightRecorder];

/// What was asked for about switches.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    arm: &'a [Switch],
    no_arm: &'a [Switch],
}

impl<'a> Choice<'a> {
    /// These, and not those.
    pub fn of(arm: &'a [Switch], no_arm: &'a [Switch]) -> Self {
        Self { arm, no_arm }
    }
}

/// The switches that are on, by choices of which the later ones win.
pub fn chosen(choices: &[Choice<'_>]) -> Vec<Switch> {
    let mut chosen = BY_DEFAULT.to_vec();
    for choice in choices {
        chosen.extend(choice.arm);
        chosen.retain(|switch| !choice.no_arm.contains(switch));
    }
    chosen.sort_by_key(|switch| *switch as u8);
    chosen.dedup();
    chosen
}

/// What a job gets so that it leaves evidence, and where that goes.
#[derive(Debug, Default)]
pub struct Armed {
    /// The switches that were set.
    pub switches: Vec<Switch>,
    /// Variables that the job gets beside its own, or in their stead.
    pub variables: Vec<(OsString, OsString)>,
    /// Why others could not be set.
    pub problems: Vec<Missing>,
    mark: Option<String>,
    cuda_log: Option<File>,
    scratch: Option<Scratch>,
}

/// What is left of it when the job runs.
#[derive(Debug, Default)]
pub struct Yield {
    /// The switches that were set.
    pub switches: Vec<Switch>,
    /// Why others could not be set.
    pub problems: Vec<Missing>,
    /// A variable (`NAME=value`) that is in the environment of the job and of what it starts, and in no other.
    pub mark: Option<String>,
    /// Memory that the driver writes to.
    cuda_log: Option<File>,
    /// Where files are written.
    pub scratch: Option<Scratch>,
}

impl Armed {
    /// Sets these switches where the user has not.
    pub fn new(switches: &[Switch]) -> Self {
        let mut armed = Self::default();
        for switch in switches {
            match armed.set(*switch) {
                Ok(true) => armed.switches.push(*switch),
                Ok(false) => {}
                Err(error) => armed.problems.push(Missing::new(
                    "armed evidence",
                    format!("{switch:?} could not be armed: {error}"),
                    "make the temporary folder (TMPDIR) writable",
                )),
            }
        }
        armed
    }

    /// What the job does not need.
    pub fn into_yield(self) -> Yield {
        Yield {
            switches: self.switches,
            problems: self.problems,
            mark: self.mark,
            cuda_log: self.cuda_log,
            scratch: self.scratch,
        }
    }

    /// False where the user has set it.
    fn set(&mut self, switch: Switch) -> std::io::Result<bool> {
        match switch {
            Switch::Faulthandler => Ok(self.set_unless(&[], "PYTHONFAULTHANDLER", "1")),
            Switch::CudaLog => {
                if is_set("CUDA_LOG_FILE") {
                    return Ok(false);
                }
                let log: File = memfd_create("cuda.log", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?.into();
                // Nothing is left on any disk, whatever happens to us.
                let path = format!("/proc/{}/fd/{}", std::process::id(), log.as_raw_fd());
                self.cuda_log = Some(log);
                // It has our number: no other run's has that while we live.
                self.mark = Some(format!("CUDA_LOG_FILE={path}"));
                Ok(self.set_unless(&[], "CUDA_LOG_FILE", path))
            }
            Switch::FlightRecorder => {
                // The older names win over nothing, and newer versions print a warning where they are set.
                let size = self.set_unless(&["TORCH_NCCL_TRACE_BUFFER_SIZE"], "TORCH_FR_BUFFER_SIZE", "2000");
                let dump = self.set_unless(&["TORCH_NCCL_DUMP_ON_TIMEOUT"], "TORCH_FR_DUMP_ON_TIMEOUT", "1");
                Ok(size || dump)
            }
            Switch::MemoryHistory => {
                let scratch = self.scratch()?;
                let (hook, snapshots) = (scratch.join("python"), scratch.clone());
                std::fs::create_dir_all(&hook)?;
                std::fs::write(hook.join("sitecustomize.py"), MEMORY_HISTORY)?;
                let mut path = hook.into_os_string();
                // Where the user's is empty, an entry of it would be the folder that the job works in.
                if let Some(own) = std::env::var_os("PYTHONPATH").filter(|own| !own.is_empty()) {
                    path.push(":");
                    path.push(own);
                }
                self.variables.push(("PYTHONPATH".into(), path));
                self.variables.push(("WHYCRASH_SNAPSHOTS".into(), snapshots.into()));
                Ok(true)
            }
            Switch::GpuCore => {
                if is_set("CUDA_ENABLE_COREDUMP_ON_EXCEPTION") {
                    return Ok(false);
                }
                let file = self.scratch()?.join("core.cuda.%h.%p");
                self.set_unless(&[], "CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1");
                self.set_unless(&[], "CUDA_COREDUMP_FILE", file);
                let light = ["CUDA_ENABLE_LIGHTWEIGHT_COREDUMP"];
                self.set_unless(&light, "CUDA_COREDUMP_GENERATION_FLAGS", LIGHT_GPU_CORE);
                Ok(true)
            }
        }
    }

    fn set_unless(&mut self, others: &[&str], name: &str, value: impl Into<OsString>) -> bool {
        let is_free = !is_set(name) && !others.iter().any(|other| is_set(other));
        if is_free {
            self.variables.push((name.into(), value.into()));
        }
        is_free
    }

    fn scratch(&mut self) -> std::io::Result<PathBuf> {
        if self.scratch.is_none() {
            self.scratch = Some(Scratch::create()?);
        }
        let scratch = self.scratch.as_ref().map(|scratch| scratch.path().to_owned());
        scratch.ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }
}

impl Yield {
    /// What the driver said so far.
    pub fn cuda_log(&self) -> Vec<u8> {
        let mut said = Vec::new();
        if let Some(Ok(mut log)) = self
            .cuda_log
            .as_ref()
            .map(|log| File::open(crate::report::path_of(log)))
        {
            let _ = log.read_to_end(&mut said);
        }
        said
    }

    /// Removes what was made for a job that has left nothing.
    pub fn clear_away(&self) {
        if let Some(scratch) = &self.scratch {
            scratch.remove();
        }
    }

    /// Keeps what the driver says from taking memory without a bound.
    pub fn attend(&self) {
        let Some(log) = &self.cuda_log else { return };
        if log.metadata().is_ok_and(|about| about.len() > CUDA_LOG_BYTES) {
            let _ = fcntl_add_seals(log, SealFlags::GROW);
        }
    }
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::{BY_DEFAULT, Choice, Switch, chosen};

    #[test]
    fn what_is_chosen_later_wins() {
        assert_eq!(chosen(&[]), BY_DEFAULT);
        let settings = Choice::of(&[Switch::GpuCore], &[Switch::CudaLog, Switch::Faulthandler]);
        let flags = Choice::of(&[Switch::CudaLog], &[Switch::FlightRecorder]);
        assert_eq!(chosen(&[settings]), [Switch::FlightRecorder, Switch::GpuCore]);
        assert_eq!(chosen(&[settings, flags]), [Switch::CudaLog, Switch::GpuCore]);
    }
}
