//! `whycrash diff`: what changed between two diagnoses of a report.

use std::process::ExitCode;

use serde_json::Value;

use crate::client::Client;
use crate::config::Config;
use crate::output::{self, Format};
use crate::render;

/// Show what changed between two diagnoses of a report that is on a server
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The report: its id, the first digits of it, or -1 for the last one
    #[arg(allow_negative_numbers = true)]
    id: String,
    /// The earlier version [default: the one before the later]
    #[arg(long, value_name = "VERSION")]
    from: Option<u64>,
    /// The later version [default: the last one]
    #[arg(long, value_name = "VERSION")]
    to: Option<u64>,
    /// The server's address [default: http://127.0.0.1:7311]
    #[arg(long, value_name = "URL", env = "WHYCRASH_SERVER", hide_env = true)]
    server: Option<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Gets the changes and prints them; as JSON exactly as the server gave them.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::new(args.server.as_deref(), config)?;
    let versions = [("from", args.from), ("to", args.to)];
    let versions: Vec<(&str, String)> = versions
        .into_iter()
        .filter_map(|(name, version)| Some((name, version?.to_string())))
        .collect();
    let versions: Vec<(&str, &str)> = versions
        .iter()
        .map(|(name, version)| (*name, version.as_str()))
        .collect();
    let changes: Value = client.get_of_report(&client.id(&args.id)?, "diff", &versions)?;
    output::answer(args.format, &changes, |changes| render::diff(changes, output::width()))?;
    Ok(ExitCode::SUCCESS)
}
