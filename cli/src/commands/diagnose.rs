//! `whycrash diagnose`: why did this crash?

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use whycrash_plugin_host::VerdictKind;

use super::answering::Form;
use crate::config::Config;
use crate::inputs::{self, Knowledge, Paths};
use crate::output::{self, Clean};
use crate::{diagnoser, render};

/// Say why something crashed, from the files it left
///
/// The first line tells which of four things is true: a cause is known, something failed and nobody knows why, nothing
/// failed, or it could not be read. The exit status is 0, and 1 where it could not be read; --exit-code tells all four.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    paths: Paths,
    #[command(flatten)]
    knowledge: Knowledge,
    #[command(flatten)]
    form: Form,
}

/// Reads the artifacts, runs the plugins and prints what they come to. No server is asked.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    let input = diagnoser::input(inputs::from_paths(&args.paths.paths)?);
    let (document, texts) = diagnoser::with(&args.knowledge, config)?.diagnose_with_texts(&input);
    let files = render::Files::of(&input.artifacts).with_texts(texts);
    let paths = listed(&args.paths.paths);
    let answer = render::Answer::new(
        &document,
        &files,
        paths.clone(),
        format!("whycrash diagnose --full {paths}"),
    );
    args.form.print(&document, &answer)?;
    for left_out in &document.left_out {
        output::tell(&Clean::from(format!("warning: {left_out}")));
    }
    if let Some(not_run) = render::not_run(&document) {
        bail!("{not_run}");
    }
    Ok(args.form.status(&answer).unwrap_or(match answer.kind() {
        Some(VerdictKind::Unreadable) => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }))
}

/// The paths as they were given; of many the first.
fn listed(paths: &[PathBuf]) -> String {
    const NAMED: usize = 3;
    let named: Vec<String> = paths
        .iter()
        .take(NAMED)
        .map(|path| path.display().to_string())
        .collect();
    let more = if paths.len() > NAMED { " …" } else { "" };
    format!("{}{more}", named.join(" "))
}
