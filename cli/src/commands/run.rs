//! `whycrash run`: run a job, and say why when it crashes.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;

use crate::arm::{self, Armed, Choice, Switch};
use crate::collect::{Destination, Looks, Marks, Watch};
use crate::config::Config;
use crate::inputs::Knowledge;
use crate::output;
use crate::render;
use crate::report::{self, HangReport, Options};
use crate::run::{Arming, Beside, Job, Printed, lifeboat};

/// What holds where neither a flag nor the settings say otherwise.
const GPU_INTERVAL: Option<Duration> = Some(Duration::from_millis(100));
const WAIT: Option<Duration> = Some(Duration::from_secs(10));
const SERVER_WAIT: Option<Duration> = Some(Duration::from_secs(3));

/// A time that was asked for; none for `off`.
#[derive(Clone, Copy, Debug)]
pub struct Time(Option<Duration>);

/// Run a job; when it crashes, keep what it leaves and say why
///
/// The job's output, exit status and signals are what they would be without whycrash. When it ends well, nothing is
/// kept and nothing is printed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How often to sample GPU memory, such as 100ms or 1s, or off [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = time, env = "WHYCRASH_GPU_INTERVAL", hide_env = true)]
    gpu_interval: Option<Time>,
    /// Upload the report of a crash to this server
    #[arg(long, value_name = "URL", env = "WHYCRASH_SERVER", hide_env = true)]
    server: Option<String>,
    /// Keep what a crash leaves in this folder [default: a folder named after the report below ~/.local/state/whycrash]
    #[arg(long, value_name = "FOLDER", env = "WHYCRASH_OUTPUT", hide_env = true)]
    output: Option<PathBuf>,
    /// Leave standard output and error alone and do not record them: for full-screen programs
    #[arg(long)]
    no_output: bool,
    /// Leave the limit on core dumps alone: without this, a job that dumps none does
    #[arg(long, env = "WHYCRASH_NO_CORE", hide_env = true)]
    no_core: bool,
    /// Have the job leave this evidence too, or again where the settings say that it shall not
    #[arg(
        long,
        value_name = "EVIDENCE",
        value_enum,
        value_delimiter = ',',
        env = "WHYCRASH_ARM",
        hide_env = true
    )]
    arm: Vec<Switch>,
    /// Leave the variables of this evidence alone (as of --arm)
    #[arg(
        long,
        value_name = "EVIDENCE",
        value_enum,
        value_delimiter = ',',
        env = "WHYCRASH_NO_ARM",
        hide_env = true,
        hide_possible_values = true
    )]
    no_arm: Vec<Switch>,
    /// Keep what a crash leaves, and say nothing about it
    #[arg(long, env = "WHYCRASH_NO_DIAGNOSIS", hide_env = true)]
    no_diagnosis: bool,
    /// Say nothing: once what the job left is gathered, the rest is done in the background
    #[arg(long, env = "WHYCRASH_QUIET", hide_env = true)]
    quiet: bool,
    /// How long after a crash the job's exit status may be held up at most, or off; what is not done then goes on in
    /// the background [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = time, env = "WHYCRASH_WAIT", hide_env = true)]
    wait: Option<Time>,
    /// How long of that the answer of a server is waited for, or off [default: 3s]
    #[arg(long, value_name = "TIME", value_parser = time, env = "WHYCRASH_SERVER_WAIT", hide_env = true)]
    server_wait: Option<Time>,
    /// Make a report while the job still runs when it makes no progress for so long (no output, no processor time),
    /// such as 10m, or off [default: off]
    #[arg(long, value_name = "TIME", value_parser = time, env = "WHYCRASH_HANG_AFTER", hide_env = true)]
    hang_after: Option<Time>,
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
    lifeboat::prepare(&args.command);
    if crate::cli::has_little_stack() {
        lifeboat::leave();
    }
    catch_unwind(AssertUnwindSafe(|| beside(args, config))).unwrap_or_else(|panic| {
        lifeboat::leave();
        resume_unwind(panic)
    })
}

fn beside(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    let looks = Looks {
        gpus: setting(args.gpu_interval, config.gpu_interval.as_deref(), GPU_INTERVAL),
        hang: setting(args.hang_after, config.hang_after.as_deref(), None),
    };
    let wait = setting(args.wait, config.wait.as_deref(), WAIT);
    let server_wait = setting(args.server_wait, config.server_wait.as_deref(), SERVER_WAIT);
    let arming = Arming {
        output: !args.no_output,
        core: !args.no_core
            && !Destination::of_this_machine()
                .as_ref()
                .is_some_and(Destination::is_taken),
    };
    let marks = Marks::take();
    let choices = [
        Choice::of(&config.arm, &config.no_arm),
        Choice::of(&args.arm, &args.no_arm),
    ];
    let mut armed = Armed::new(&arm::chosen(&choices));
    let variables = std::mem::take(&mut armed.variables);
    let armed = armed.into_yield();
    let job = match Job::start(&args.command, &variables, arming) {
        Ok(job) => job,
        Err(error) => {
            armed.clear_away();
            return Ok(not_started(&args.command, &error));
        }
    };
    let options = Options {
        output: args.output.clone(),
        server: args.server.clone(),
        report_to: args.report_to.clone(),
        knowledge: args.knowledge.clone(),
        diagnose: !args.no_diagnosis,
        quiet: args.quiet,
        brief: false,
        width: output::error_width(),
        server_wait: server_wait.unwrap_or_default(),
    };
    let mut beside = Attendance {
        watch: Watch::over(&args.command, job.pid(), job.core_is_ours, marks, looks, armed),
        options,
        config,
        hangs: Vec::new(),
    };
    let over = job.wait(&mut beside);
    let ending = over.ending;
    let Attendance {
        watch, options, hangs, ..
    } = beside;
    // Whatever happens from here on, the job's status is told.
    let ended = catch_unwind(AssertUnwindSafe(|| {
        if let Err(error) = report::end(over, watch, hangs, options, config, wait.unwrap_or_default()) {
            output::tell(&render::error(&error.context("whycrash can not report the crash")));
        }
    }));
    drop(ended);
    ending.imitate()
}

/// Watches the job, and has a report made when it hangs.
struct Attendance<'a> {
    watch: Watch,
    options: Options,
    config: &'a Config,
    /// The reports of hangs that were made so far.
    hangs: Vec<HangReport>,
}

impl Beside for Attendance<'_> {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.watch.descriptors()
    }

    fn pause(&self) -> Duration {
        self.watch.pause()
    }

    fn attend(&mut self, printed: &mut Printed<'_>) {
        self.watch.attend(printed);
        if self.watch.hangs() {
            // Nothing is said while the job runs: what could not be done now is missing in the report of its end.
            let made = report::hang(self.watch.so_far(), printed.transcript(), &self.options, self.config);
            self.hangs.extend(made);
        }
    }
}

/// As a shell says it: 127 for a program that is not there, 126 for one that can not be run.
fn not_started(command: &[OsString], error: &anyhow::Error) -> ExitCode {
    let program = command
        .first()
        .map(|program| program.to_string_lossy())
        .unwrap_or_default();
    output::tell(&render::error(&anyhow::anyhow!("can not run {program}: {error:#}")));
    let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    ExitCode::from(if kind == Some(std::io::ErrorKind::NotFound) {
        127
    } else {
        126
    })
}

/// The time that a word says.
fn time(text: &str) -> anyhow::Result<Time> {
    if text == "off" {
        return Ok(Time(None));
    }
    let parsed: Option<jiff::SignedDuration> = text.parse().ok();
    let positive = parsed
        .and_then(|duration| Duration::try_from(duration).ok())
        .filter(|duration| !duration.is_zero());
    let positive = positive.with_context(|| format!("{text:?} is no time: say something like 100ms or 1s, or off"));
    positive.map(|time| Time(Some(time)))
}

/// A time by flag, settings or default; none for `off`. What is wrong in the settings keeps no job from running.
fn setting(flag: Option<Time>, configured: Option<&str>, default: Option<Duration>) -> Option<Duration> {
    let configured = || {
        let read = time(configured?);
        read.inspect_err(|error| tracing::warn!("in the settings, {error}"))
            .ok()
    };
    flag.or_else(configured).map_or(default, |Time(time)| time)
}
