//! `whycrash ask-driver`: what is started to ask the CUDA driver, which may hang or crash.

use std::process::ExitCode;

use crate::{collect, output};

/// Write down what the CUDA driver says, as JSON
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct Args {}

/// Writes it down.
pub fn execute(_: &Args) -> anyhow::Result<ExitCode> {
    collect::ask_driver(output::to_reader())?;
    Ok(ExitCode::SUCCESS)
}
