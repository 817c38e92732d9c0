//! `whycrash look-at`: what `run` starts when its job makes no progress.

use std::process::ExitCode;

use crate::{collect, output};

/// Write down what processes wait in, a line of JSON each
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct Args {
    /// The processes
    #[arg(required = true, value_name = "PID")]
    pids: Vec<u32>,
}

/// Writes it down.
pub fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    // Should memory run out now, this is what the kernel shall end, not the job.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    collect::look_at(&args.pids, output::to_reader())?;
    Ok(ExitCode::SUCCESS)
}
