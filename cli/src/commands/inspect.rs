//! `whycrash inspect`: what do these files say?

use std::process::ExitCode;

use serde::Serialize;
use whycrash_evidence::Evidence;
use whycrash_plugin_host::ReportHead;

use crate::config::Config;
use crate::inputs::{self, Knowledge, Paths};
use crate::output::{self, Format};
use crate::render;

/// Show what the files of a crash say, without diagnosing
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

/// The evidence, with what it was read from.
#[derive(Debug, Serialize)]
struct Inspection {
    report: ReportHead,
    #[serde(flatten)]
    evidence: Evidence,
}

/// Reads the artifacts and prints the evidence.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    let input = inputs::from_paths(&args.paths.paths)?;
    let read = args.knowledge.diagnoser(config)?.read(&input);
    let inspection = Inspection {
        report: read.head,
        evidence: read.evidence,
    };
    output::answer(args.format, &inspection, |it| {
        render::evidence(&it.report, &it.evidence, output::width())
    })?;
    Ok(ExitCode::SUCCESS)
}
