//! The command line itself: which commands there are, and what all of them take.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::commands;
use crate::config::Config;
use crate::limits::{Resource, limit};

/// The variable that names the settings file.
const CONFIG: &str = "WHYCRASH_CONFIG";

/// Says why a GPU training job crashed, with proof.
///
/// Run a job under it, or hand over what a crash left behind:
///
///   whycrash run -- torchrun train.py
///   whycrash diagnose core.4711 snapshot.pickle train.log
#[derive(Debug, Parser)]
#[command(
    name = "whycrash",
    version,
    verbatim_doc_comment,
    propagate_version = true,
    max_term_width = 100
)]
pub struct Cli {
    /// Settings file; by default config.toml in ~/.config/whycrash
    #[arg(long, global = true, value_name = "FILE", env = CONFIG, hide_env = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(commands::run::Args),
    Snapshot(commands::snapshot::Args),
    #[cfg(feature = "diagnosis")]
    #[command(flatten)]
    Reading(commands::reading::Command),
    Upload(commands::upload::Args),
    Delete(commands::delete::Args),
    Rediagnose(commands::rediagnose::Args),
    Symbols(commands::symbols::Args),
    Spool(commands::spool::Args),
    Doctor(commands::doctor::Args),
    Core(commands::core::Args),
    CoreHandler(commands::core_handler::Args),
    Completions(commands::completions::Args),
    Man(commands::man::Args),
    Licenses(commands::licenses::Args),
    FinishReport(commands::finish_report::Args),
    LookAt(commands::look_at::Args),
    AskDriver(commands::ask_driver::Args),
}

/// A main thread with a stack of fewer bytes (`ulimit -s`) is not for us: the words alone take half of that to read.
const STACK: u64 = 256 << 10;
/// What they are read on then.
const AMPLE: usize = 4 << 20;

/// Whether this process may have less of a stack than it needs.
pub fn has_little_stack() -> bool {
    limit(Resource::RLIMIT_STACK)
        .and_then(|limit| limit.soft)
        .is_some_and(|bytes| bytes < STACK)
}

impl Cli {
    /// What the words of the command line say, and the variables that stand for some of them. One that is empty says
    /// nothing; one that is wrong keeps no job from running.
    pub fn read() -> Result<Self, clap::Error> {
        if has_little_stack() {
            let reader = std::thread::Builder::new().stack_size(AMPLE).spawn(Self::read_here);
            if let Some(Ok(read)) = reader.ok().map(std::thread::JoinHandle::join) {
                return read;
            }
        }
        Self::read_here()
    }

    fn read_here() -> Result<Self, clap::Error> {
        let is_empty = |variable: &OsStr| std::env::var_os(variable).is_some_and(|value| value.is_empty());
        let wrong = match Self::of(without(Self::command(), is_empty)) {
            Ok(cli) => return Ok(cli),
            Err(wrong) => wrong,
        };
        match Self::of(without(Self::command(), |_| true)) {
            Ok(cli) if wrong.use_stderr() && matches!(cli.command, Command::Run(_)) => {
                let text = wrong.render().to_string();
                let line = text.lines().next().unwrap_or_default();
                tracing::warn!("no variable WHYCRASH_… counts, because one is wrong: {line}");
                Ok(cli)
            }
            _ => Err(wrong),
        }
    }

    fn of(mut command: clap::Command) -> Result<Self, clap::Error> {
        let mut matches = command.try_get_matches_from_mut(std::env::args_os())?;
        Self::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
    }

    /// The variables that stand for flags of any command.
    pub fn variables() -> BTreeSet<String> {
        fn of(command: &clap::Command) -> BTreeSet<String> {
            let own = command.get_arguments().filter_map(|arg| arg.get_env());
            let own = own.map(|name| name.to_string_lossy().into_owned());
            own.chain(command.get_subcommands().flat_map(of)).collect()
        }
        of(&Self::command())
    }

    /// Does what was asked.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let config = match (Config::load(self.config.as_deref()), &self.command) {
            (Ok(config), _) => config,
            // Nothing about us keeps a job from running, but for what was asked for on this very command line.
            (Err(error), Command::Run(_) | Command::FinishReport(_) | Command::LookAt(_) | Command::AskDriver(_))
                if self.config.is_none() || self.config == std::env::var_os(CONFIG).map(PathBuf::from) =>
            {
                tracing::warn!("{error:#}");
                Config::default()
            }
            (Err(error), _) => return Err(error),
        };
        match self.command {
            #[cfg(feature = "diagnosis")]
            Command::Reading(command) => commands::reading::execute(command, &config),
            Command::Run(args) => commands::run::execute(&args, &config),
            Command::Upload(args) => commands::upload::execute(&args, &config),
            Command::Delete(args) => commands::delete::execute(&args, &config),
            Command::Rediagnose(args) => commands::rediagnose::execute(&args, &config),
            Command::Symbols(args) => commands::symbols::execute(&args, &config),
            Command::Doctor(args) => commands::doctor::execute(&args, &config),
            Command::Core(args) => commands::core::execute(&args, &config),
            Command::CoreHandler(args) => commands::core_handler::execute(&args),
            Command::Man(args) => commands::man::execute(&args),
            Command::Licenses(args) => commands::licenses::execute(&args),
            Command::Completions(args) => commands::completions::execute(&args),
            Command::Spool(args) => commands::spool::execute(&args, &config),
            Command::Snapshot(args) => commands::snapshot::execute(&args, &config),
            Command::FinishReport(args) => commands::finish_report::execute(&args),
            Command::AskDriver(args) => commands::ask_driver::execute(&args),
            Command::LookAt(args) => commands::look_at::execute(&args),
        }
    }
}

/// A command that does not look at these variables, nor do those below it.
fn without(command: clap::Command, ignored: fn(&OsStr) -> bool) -> clap::Command {
    let command = command.mut_args(|arg| match arg.get_env().is_some_and(ignored) {
        true => arg.env(clap::builder::Resettable::Reset),
        false => arg,
    });
    command.mut_subcommands(|below| without(below, ignored))
}
