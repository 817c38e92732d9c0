//! `whycrash plugin`: write, try and publish diagnosis plugins (`docs/plugins.md`).

mod build;
mod inspect;
mod installed;
mod new;
mod project;
mod publish;
mod scaffold;
mod test;

use std::process::ExitCode;

use crate::config::Config;

/// Write, try and publish diagnosis plugins
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    New(new::Args),
    Build(build::Args),
    Test(test::Args),
    Inspect(inspect::Args),
    Publish(publish::PublishArgs),
    List(publish::ListArgs),
    Remove(publish::RemoveArgs),
}

/// Does what was asked.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::New(args) => new::execute(args),
        Command::Build(args) => build::execute(args),
        Command::Test(args) => test::execute(args),
        Command::Inspect(args) => inspect::execute(args, config),
        Command::Publish(args) => publish::publish(args, config),
        Command::List(args) => publish::list(args, config),
        Command::Remove(args) => publish::remove(args, config),
    }
}
