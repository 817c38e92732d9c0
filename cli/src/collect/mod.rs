//! What a crash leaves, gathered: output, core dumps, kernel messages, files of frameworks, and the context they
//! need to be understood.

mod core_pattern;
mod cores;
mod descendants;
mod environment;
mod gpu;
pub mod host;
mod kernel_log;
mod leftovers;
mod missing;
mod python;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub use core_pattern::{Destination, Handler};
pub use gpu::{facts as gpu_facts, load as load_gpu_library};
pub use kernel_log::readable as kernel_log_readable;
pub use missing::Missing;

use crate::run::{Ending, Job, Over};
use descendants::{Descendants, Process};
use host::ControlGroup;
use kernel_log::KernelLog;
use python::Python;

/// File times may lie behind the clock by a tick of the kernel's.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// Watches a job from its start.
#[derive(Debug)]
pub struct Collector {
    command: Vec<OsString>,
    folder: Option<PathBuf>,
    started: Timestamp,
    since: SystemTime,
    pid: u32,
    core_limit: Option<u64>,
    oom_kills: Option<u64>,
    descendants: Descendants,
    gpus: gpu::Sampler,
    kernel_log: KernelLog,
}

impl Collector {
    /// Starts watching a job that has just been started.
    pub fn start(command: &[OsString], job: &Job, gpu_interval: Duration) -> Self {
        Self {
            command: command.to_owned(),
            folder: std::env::current_dir().ok(),
            started: Timestamp::now(),
            since: SystemTime::now()
                .checked_sub(CLOCK_TICK)
                .unwrap_or(SystemTime::UNIX_EPOCH),
            pid: job.pid,
            core_limit: job.core_limit,
            oom_kills: ControlGroup::own().and_then(|group| group.oom_kills()),
            descendants: Descendants::watch(job.pid),
            gpus: gpu::Sampler::start(gpu_interval),
            kernel_log: KernelLog::from_now(),
        }
    }

    /// Puts everything the job left into a folder.
    pub fn gather(self, over: &mut Over, into: &Path) -> anyhow::Result<()> {
        let mut missing = Vec::new();
        missing.extend(output(over, into)?);
        let processes = self.descendants.seen();
        missing.extend(self.cores(over.ending, &processes, into)?);
        let folders = self.folders(&processes);
        for file in leftovers::find(self.since, folders.iter()) {
            keep(&file, into, &file_name(&file), Keep::Copy)?;
        }
        let context = self.context(over, &processes);
        match self.kernel_log.since() {
            Ok(text) if text.is_empty() => {}
            Ok(text) => std::fs::write(into.join("kernel.log"), text)?,
            Err(reason) => missing.push(reason),
        }
        write_context(context, missing, into)
    }

    /// Moves or copies the run's core dumps.
    fn cores(
        &self,
        ending: Ending,
        processes: &BTreeMap<u32, Process>,
        into: &Path,
    ) -> anyhow::Result<Option<Missing>> {
        let pids: BTreeSet<u32> = processes.keys().copied().chain([self.pid]).collect();
        let search = cores::Search {
            since: self.since,
            job: self.pid,
            processes: &pids,
            folders: &self.folders(processes),
            dumped: matches!(ending, Ending::Killed { core: true, .. }),
            expected: ending.dumps_core(),
        };
        let (found, missing) = search.run(into);
        // Without us there would have been no core dump in the job's folder: then it is ours to take away.
        let how = if self.core_limit == Some(0) {
            Keep::Move
        } else {
            Keep::Copy
        };
        for core in found {
            let own = core.pid == Some(self.pid);
            let name = if own {
                "core".to_owned()
            } else {
                format!("core.{}", core.pid.unwrap_or_default())
            };
            keep(&core.path, into, &name, how)?;
        }
        Ok(missing)
    }

    fn folders(&self, processes: &BTreeMap<u32, Process>) -> BTreeSet<PathBuf> {
        processes
            .values()
            .filter_map(|process| process.folder.clone())
            .chain(self.folder.clone())
            .collect()
    }

    /// Everything but what is missing.
    fn context(&self, over: &Over, processes: &BTreeMap<u32, Process>) -> Map<String, Value> {
        let (signal, code) = over.ending.named();
        let mut context = Map::new();
        let mut add = |name: &str, value: Value| context.insert(name.to_owned(), value);
        add("whycrash_context", json!(1));
        add("command", json!(environment::command(&self.command)));
        add("cwd", json!(self.folder));
        add("host", json!(host::name()));
        add("pid", json!(self.pid));
        add("started", json!(self.started.to_string()));
        add("ended", json!(Timestamp::now().to_string()));
        add("exit", json!({"signal": signal, "code": code}));
        add(
            "signals_received",
            over.sent.iter().map(crate::run::Sent::to_json).collect(),
        );
        add("processes", json!(processes.len()));
        add("environment", Value::Object(environment::kept()));
        add("rank", number("RANK"));
        add("world_size", number("WORLD_SIZE"));
        let python = self.python(processes);
        add(
            "python",
            json!(
                python
                    .as_ref()
                    .map(|p| json!({"executable": p.executable, "version": p.version}))
            ),
        );
        add("packages", json!(python.map(|python| python.packages)));
        add("os", json!(host::system()));
        add("kernel", json!(host::kernel()));
        add("cpu", host::processor());
        add("memory", host::memory());
        let kills_now = ControlGroup::own().and_then(|group| group.oom_kills());
        add(
            "oom_kills",
            json!(
                kills_now
                    .zip(self.oom_kills)
                    .map(|(now, before)| now.saturating_sub(before))
            ),
        );
        add("limits", Value::Object(host::limits()));
        if let Ok(facts) = self.gpus.facts() {
            add("driver", facts.get("driver").cloned().unwrap_or_default());
            add("cuda", facts.get("cuda").cloned().unwrap_or_default());
            add("gpus", facts.get("devices").cloned().unwrap_or_default());
            add("gpu_timeline", self.gpus.timeline());
        }
        if let Err(reason) = self.gpus.facts() {
            add("unavailable", json!([reason]));
        }
        context.retain(|_, value| !value.is_null());
        context
    }

    /// The Python of the job, or of the first of its processes that has one.
    fn python(&self, processes: &BTreeMap<u32, Process>) -> Option<Python> {
        let command: Vec<String> = self
            .command
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        Python::of(&command).or_else(|| processes.values().find_map(|process| Python::of(&process.command)))
    }
}

/// What the job printed: `output.log`, and `stdout.log` or `stderr.log` for what it wrote to files itself.
fn output(over: &mut Over, into: &Path) -> anyhow::Result<Option<Missing>> {
    match over.transcript() {
        Ok(transcript) if transcript.is_empty() => {}
        Ok(transcript) => {
            std::fs::write(into.join("output.log"), transcript).context("can not keep the job's output")?
        }
        Err(error) => return Ok(Some(Missing::for_good("output", format!("{error:#}")))),
    }
    for (name, written) in over.files() {
        match written {
            Ok(bytes) if bytes.is_empty() => {}
            Ok(bytes) => std::fs::write(into.join(name), bytes).context("can not keep the job's output")?,
            Err(error) => return Ok(Some(Missing::for_good(name, format!("can not read it back: {error}")))),
        }
    }
    Ok(None)
}

fn write_context(mut context: Map<String, Value>, missing: Vec<Missing>, into: &Path) -> anyhow::Result<()> {
    if let Value::Array(unavailable) = context.entry("unavailable").or_insert_with(|| json!([])) {
        unavailable.extend(missing.iter().map(|item| json!(item)));
    }
    let text = serde_json::to_string_pretty(&context).context("the context has no JSON form")?;
    std::fs::write(into.join("context.json"), text + "\n").context("can not keep the context of the crash")
}

/// How a file gets into the report's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    Copy,
    Move,
}

fn keep(file: &Path, into: &Path, name: &str, how: Keep) -> anyhow::Result<()> {
    let target = into.join(name);
    if file == target || (how == Keep::Move && std::fs::rename(file, &target).is_ok()) {
        return Ok(());
    }
    std::fs::copy(file, &target).with_context(|| format!("can not copy {} to {}", file.display(), into.display()))?;
    if how == Keep::Move {
        std::fs::remove_file(file).with_context(|| format!("can not remove {} after copying it", file.display()))?;
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A variable that holds a number.
fn number(variable: &str) -> Value {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse::<u32>().ok())
        .map_or(Value::Null, Value::from)
}
