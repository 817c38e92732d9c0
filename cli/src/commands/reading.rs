//! The commands that read crashes and what is known about them: all that the collector alone lacks.

use std::process::ExitCode;

use clap::Subcommand;

use super::{cause, diagnose, diff, inspect, plugin, search, show};
use crate::config::Config;

/// One of them.
#[derive(Debug, Subcommand)]
pub enum Command {
    Diagnose(diagnose::Args),
    Inspect(inspect::Args),
    Search(search::Args),
    Show(show::Args),
    Diff(diff::Args),
    Cause(cause::Args),
    Plugin(plugin::Args),
}

/// Does what was asked.
pub fn execute(command: Command, config: &Config) -> anyhow::Result<ExitCode> {
    match command {
        Command::Diagnose(args) => diagnose::execute(&args, config),
        Command::Inspect(args) => inspect::execute(&args, config),
        Command::Search(args) => search::execute(&args, config),
        Command::Show(args) => show::execute(&args, config),
        Command::Diff(args) => diff::execute(&args, config),
        Command::Cause(args) => cause::execute(&args, config),
        Command::Plugin(args) => plugin::execute(&args, config),
    }
}
