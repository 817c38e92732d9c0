//! `whycrash core`: what can be done with core dumps.

mod shrink;

use std::process::ExitCode;

use clap::Subcommand;

use crate::config::Config;

/// Make core dumps small
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Shrink(shrink::Args),
}

/// Does what was asked.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Shrink(args) => shrink::execute(args, config),
    }
}
