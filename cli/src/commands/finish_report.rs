//! `whycrash finish-report`: what `run` starts when its job has crashed.

use std::process::ExitCode;

use crate::report::{self, Handover};

/// Make the report of a crash, as `run` hands it over on standard input
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct Args {}

/// Makes it.
pub fn execute(_: &Args) -> anyhow::Result<ExitCode> {
    // The job's limit on the size of files is ours too: what is too large is not kept, and said.
    // SAFETY: no code of ours is run by that.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    report::finish(Handover::read(std::io::stdin().lock())?)?;
    Ok(ExitCode::SUCCESS)
}
