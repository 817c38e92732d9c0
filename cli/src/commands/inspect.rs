//! `whycrash inspect`: what do these files say?

use std::process::ExitCode;

use anyhow::Context as _;
use serde::Serialize;
use whycrash_evidence::Evidence;
use whycrash_plugin_host::ReportHead;

use crate::config::Config;
use crate::inputs::{self, Knowledge, Paths};
use crate::output::{self, Format};
use crate::scrub::{self, Changed};
use crate::{diagnoser, render};

/// Show what the files of a crash say, without diagnosing
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    paths: Paths,
    #[command(flatten)]
    knowledge: Knowledge,
    /// Show what would be sent to a server: the lines that are scrubbed first, and what the rest says without them
    #[arg(long)]
    scrubbed: bool,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The evidence, with what it was read from.
#[derive(Debug, Serialize)]
struct Inspection<'a> {
    report: ReportHead,
    /// What is different about texts that would be sent, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    scrubbed: Option<Vec<Changed>>,
    /// As in the document of a report.
    evidence: &'a Evidence,
    /// The same beside it, where it was before documents had it as a member.
    #[serde(flatten)]
    members: &'a Evidence,
}

/// Reads the artifacts and prints the evidence.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    let mut input = diagnoser::input(inputs::from_paths(&args.paths.paths)?);
    // Its files go with it.
    let outgoing = args.scrubbed.then(|| scrub::outgoing(&input.artifacts)).transpose()?;
    let changes = outgoing
        .as_ref()
        .map(|outgoing| outgoing.changes(&input.artifacts))
        .transpose();
    if let Some(outgoing) = &outgoing {
        input.artifacts.clone_from(&outgoing.artifacts);
    }
    let read = diagnoser::with(&args.knowledge, config)?.read(&input);
    let inspection = Inspection {
        report: read.head,
        scrubbed: changes.context("can not compare what would be sent")?,
        evidence: &read.evidence,
        members: &read.evidence,
    };
    output::answer(args.format, &inspection, |it| {
        render::evidence(&it.report, it.scrubbed.as_deref(), it.evidence, output::width())
    })?;
    Ok(ExitCode::SUCCESS)
}
