//! `whycrash diagnose`: why did this crash?

use std::process::ExitCode;

use anyhow::bail;

use crate::config::Config;
use crate::inputs::{self, Knowledge, Paths};
use crate::output::{self, Clean, Format};
use crate::{diagnoser, render};

/// Say why something crashed, from the files it left
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    paths: Paths,
    #[command(flatten)]
    knowledge: Knowledge,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Reads the artifacts, runs the plugins and prints the report document. No server is asked.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    let input = diagnoser::input(inputs::from_paths(&args.paths.paths)?);
    let document = diagnoser::with(&args.knowledge, config)?.diagnose(&input);
    let files = render::Files::of(&input.artifacts);
    output::answer(args.format, &document, |document| {
        render::document(document, &files, output::width())
    })?;
    for left_out in &document.left_out {
        output::tell(&Clean::from(format!("warning: {left_out}")));
    }
    match document.unavailable() {
        None => Ok(ExitCode::SUCCESS),
        Some(run) => bail!(
            "this is not the whole diagnosis, since the plugin {} could not be run: {}; try again when the machine has \
             more memory free",
            run.name,
            run.reason.as_deref().unwrap_or_default()
        ),
    }
}
