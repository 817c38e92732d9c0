//! The command line itself: which commands there are, and what all of them take.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::commands;
use crate::config::Config;

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
    #[arg(long, global = true, value_name = "FILE", env = "WHYCRASH_CONFIG", hide_env = true)]
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

impl Cli {
    /// Does what was asked.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let config = match (Config::load(self.config.as_deref()), &self.command) {
            (Ok(config), _) => config,
            // Nothing about us keeps a job from running, but for what was asked for on this very command line.
            (Err(error), Command::Run(_) | Command::FinishReport(_) | Command::LookAt(_) | Command::AskDriver(_))
                if self.config.is_none() =>
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
