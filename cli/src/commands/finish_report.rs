//! `whycrash finish-report`: what `run` starts when its job has crashed.

use std::process::ExitCode;

use crate::report::{self, Handover};

/// Make the report of a crash, as `run` hands it over on standard input
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct Args {}

/// Makes it.
pub fn execute(_: &Args) -> anyhow::Result<ExitCode> {
    report::finish(Handover::read(std::io::stdin().lock())?)?;
    Ok(ExitCode::SUCCESS)
}
