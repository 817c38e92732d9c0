//! `whycrash cause`: what is known about why jobs crash.

use std::process::ExitCode;

use anyhow::bail;
use serde::Serialize;
use whycrash_catalog::Cause;

use super::pages;
use crate::config::Config;
use crate::output::{self, Format};
use crate::render;

/// Read about a cause of crashes
///
/// With the id of a cause, its page; with words, the causes they fit; with nothing, all of them.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// A cause's id, or words to find it by
    #[arg(value_name = "ID|WORDS")]
    words: Vec<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Check(pages::CheckArgs),
    Try(pages::TryArgs),
}

/// What a list of causes says of each.
#[derive(Debug, Serialize)]
struct Head<'a> {
    id: &'a str,
    title: &'a str,
    summary: &'a str,
    severity: &'a str,
    domain: &'a str,
}

/// Prints one page, or a list. Words that fit a single cause are as good as its id.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    match &args.command {
        Some(Command::Check(args)) => return pages::check(args, config),
        Some(Command::Try(args)) => return pages::try_page(args),
        None => {}
    }
    let catalog = pages::catalog(config)?;
    let words = args.words.join(" ");
    let found: Vec<&Cause> = match catalog.get(&words) {
        Some(cause) => return page(args, cause),
        None if words.is_empty() => catalog.causes().iter().collect(),
        None => catalog.search(&words),
    };
    match found.as_slice() {
        [] => bail!("no cause fits {words:?}: `whycrash cause` lists all of them"),
        [cause] => page(args, cause),
        causes => list(args, causes),
    }
}

fn page(args: &Args, cause: &Cause) -> anyhow::Result<ExitCode> {
    output::answer(args.format, cause, |cause| render::cause(cause, output::width()))?;
    Ok(ExitCode::SUCCESS)
}

fn list(args: &Args, causes: &[&Cause]) -> anyhow::Result<ExitCode> {
    let heads = causes.iter().map(|cause| Head {
        id: &cause.id,
        title: &cause.title,
        summary: &cause.summary,
        severity: &cause.severity,
        domain: &cause.domain,
    });
    let heads: Vec<Head> = heads.collect();
    output::answer(args.format, &heads, |_| render::causes(causes, output::width()))?;
    Ok(ExitCode::SUCCESS)
}
