//! `whycrash search`: find past crashes on a server.

use std::process::ExitCode;

use jiff::Timestamp;
use serde_json::Value;

use crate::client::Client;
use crate::config::Config;
use crate::output::{self, Format};
use crate::render;
use crate::when;

/// Find past crashes on a server
///
/// Words, "phrases", field:value, -not and prefix* are understood; fields are cause, signal, exception, host, job,
/// rank, gpu, driver, torch, kind, plugin and signature.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to look for, after -- when it begins with a dash; everything when nothing is given
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    /// Only what happened then or later: a span such as 2d or 90m, or a date or time
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    since: Option<Timestamp>,
    /// Only what happened before then
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    until: Option<Timestamp>,
    /// A line for each report
    #[arg(long)]
    short: bool,
    /// Reports shown at most
    #[arg(long, default_value_t = 20, value_name = "N")]
    limit: u32,
    /// The server's address [default: http://127.0.0.1:7311]
    #[arg(long, value_name = "URL", env = "WHYCRASH_SERVER", hide_env = true)]
    server: Option<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Searches and prints the hits.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::new(args.server.as_deref(), config)?;
    let query = args.query.join(" ");
    let times = [("since", args.since), ("until", args.until)];
    let times = times.map(|(name, time)| (name, time.map(|time| time.to_string()).unwrap_or_default()));
    let limit = args.limit.to_string();
    let mut asked = vec![("q", query.as_str()), ("limit", &limit)];
    asked.extend(
        times
            .iter()
            .filter(|(_, time)| !time.is_empty())
            .map(|(name, time)| (*name, time.as_str())),
    );
    let found: Value = client.get("search", &asked)?;
    output::answer(args.format, &found, |found| match args.short {
        true => render::hit_lines(found, output::width()),
        false => render::hits(found, output::width()),
    })?;
    Ok(ExitCode::SUCCESS)
}
