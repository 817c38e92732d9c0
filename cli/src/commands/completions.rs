//! `whycrash completions`: completion scripts for shells.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::output::{self, Clean};

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell to complete in
    shell: Shell,
}

/// Prints the script.
pub fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "whycrash", &mut script);
    output::print(&Clean::own(String::from_utf8_lossy(&script).into_owned()))?;
    Ok(ExitCode::SUCCESS)
}
