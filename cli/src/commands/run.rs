//! `whycrash run`: run a job, and say why when it crashes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use whycrash_plugin_host::Input;

use crate::client::Client;
use crate::collect::Collector;
use crate::config::{self, Config};
use crate::inputs::{self, Knowledge};
use crate::output::{self, Bar, Clean};
use crate::render;
use crate::run::{Job, Over};

/// Run a job; when it crashes, keep what it leaves and say why
///
/// The job's output, exit status and signals are what they would be without whycrash. When it ends well, nothing is
/// kept and nothing is printed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How often to sample GPU memory, such as 100ms or 1s [default: 100ms]
    #[arg(long, value_name = "TIME", env = "WHYCRASH_GPU_INTERVAL", hide_env = true)]
    gpu_interval: Option<String>,
    /// Upload the report of a crash to this server
    #[arg(long, value_name = "URL", env = "WHYCRASH_SERVER", hide_env = true)]
    server: Option<String>,
    /// Keep what a crash leaves in this folder [default: a folder named after the report below ~/.local/state/whycrash]
    #[arg(long, value_name = "FOLDER", env = "WHYCRASH_OUTPUT", hide_env = true)]
    output: Option<PathBuf>,
    /// Leave standard output and error alone and do not record them: for full-screen programs
    #[arg(long)]
    no_output: bool,
    /// Write the uploaded report's id and address to this file as JSON
    #[arg(long, value_name = "FILE")]
    report_to: Option<PathBuf>,
    #[command(flatten)]
    knowledge: Knowledge,
    /// The job and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CMD"
    )]
    command: Vec<OsString>,
}

/// Runs the job and ends as it did.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    let interval = args
        .gpu_interval
        .as_deref()
        .or(config.gpu_interval.as_deref())
        .unwrap_or("100ms");
    let interval = duration(interval)?;
    let job = match Job::start(&args.command, !args.no_output)? {
        Ok(job) => job,
        Err(error) => return Ok(not_started(&args.command, &error)),
    };
    let collector = Collector::start(&args.command, &job, interval);
    let mut over = job.wait()?;
    if !over.is_crash() {
        over.drain();
    } else if let Err(error) = report(collector, &mut over, args, config) {
        output::tell(&render::error(&error.context("whycrash can not report the crash")));
    }
    over.ending.imitate()
}

/// Keeps what the job left, says why it crashed and uploads it where that is wanted.
fn report(collector: Collector, over: &mut Over, args: &Args, config: &Config) -> anyhow::Result<()> {
    let folder = Folder::create(args.output.as_deref())?;
    collector.gather(over, folder.path())?;
    let input = inputs::from_paths(&[folder.path().to_owned()])?;
    let document = args.knowledge.diagnoser(config)?.diagnose(&input);
    let folder = folder.settle(&document.report.id)?;
    let input = inputs::from_paths(std::slice::from_ref(&folder))?;
    let width = output::error_width();
    let mut text = Clean::default();
    text.end_line();
    text.push(render::document(&document, &render::Files::of(&input.artifacts), width));
    text.end_line();
    text.push(render::kept(&folder));
    output::tell(&text);
    match args.server.as_deref().or(config.server.as_deref()) {
        Some(server) => upload(server, &input, args, config),
        None => Ok(()),
    }
}

/// Standard output is the job's, so the report's id and address go to standard error, and to a file for programs.
fn upload(server: &str, input: &Input, args: &Args, config: &Config) -> anyhow::Result<()> {
    let uploaded = Client::new(Some(server), config)?.upload(&input.artifacts, &input.metadata, &Bar::new())?;
    let json = serde_json::to_string(&uploaded).context("the report's address has no JSON form")?;
    if let Some(file) = &args.report_to {
        std::fs::write(file, format!("{json}\n")).with_context(|| format!("can not write {}", file.display()))?;
    }
    output::tell(&Clean::json(&json));
    Ok(())
}

/// As a shell says it: 127 for a program that is not there, 126 for one that can not be run.
fn not_started(command: &[OsString], error: &std::io::Error) -> ExitCode {
    let program = command
        .first()
        .map(|program| program.to_string_lossy())
        .unwrap_or_default();
    output::tell(&render::error(&anyhow::anyhow!("can not run {program}: {error}")));
    ExitCode::from(if error.kind() == std::io::ErrorKind::NotFound {
        127
    } else {
        126
    })
}

/// `100ms`, `1s`, `2m`: a positive time.
fn duration(text: &str) -> anyhow::Result<Duration> {
    let parsed: Option<jiff::SignedDuration> = text.parse().ok();
    let positive = parsed
        .and_then(|duration| Duration::try_from(duration).ok())
        .filter(|duration| !duration.is_zero());
    positive.with_context(|| format!("{text:?} is no time between two samples: say something like 100ms or 1s"))
}

/// Where a report is put together.
#[derive(Debug)]
enum Folder {
    /// The one that was asked for.
    Given(PathBuf),
    /// One of ours, which gets its report's name when that is known.
    Ours { partial: PathBuf, reports: PathBuf },
}

impl Folder {
    /// A folder with nothing in it. A given one that has something in it keeps it: then the report gets a folder in
    /// there.
    fn create(given: Option<&Path>) -> anyhow::Result<Self> {
        let reports = match given {
            Some(folder) if is_free(folder) => {
                std::fs::create_dir_all(folder)
                    .with_context(|| format!("can not make the folder {}", folder.display()))?;
                return Ok(Self::Given(folder.to_owned()));
            }
            Some(folder) => folder.to_owned(),
            None => config::state_folder().context("no home folder to keep the report in: give one with --output")?,
        };
        let partial = reports.join(format!(".partial-{}", std::process::id()));
        std::fs::create_dir_all(&partial).with_context(|| format!("can not make the folder {}", partial.display()))?;
        Ok(Self::Ours { partial, reports })
    }

    fn path(&self) -> &Path {
        match self {
            Self::Given(folder) => folder,
            Self::Ours { partial, .. } => partial,
        }
    }

    /// Gives our folder its report's name.
    fn settle(self, id: &str) -> anyhow::Result<PathBuf> {
        match self {
            Self::Given(folder) => Ok(folder),
            Self::Ours { partial, reports } => {
                let folder = reports.join(id);
                std::fs::rename(&partial, &folder)
                    .with_context(|| format!("can not keep the report in {}", folder.display()))?;
                Ok(folder)
            }
        }
    }
}

fn is_free(folder: &Path) -> bool {
    std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}
