//! `whycrash search`: find past crashes on a server.

use std::process::ExitCode;

use serde_json::Value;

use crate::client::Client;
use crate::config::Config;
use crate::output::{self, Format};
use crate::render;

/// Find past crashes on a server
///
/// Words, "phrases", field:value, -not and prefix* are understood; fields are cause, signal, exception, host, job,
/// rank, gpu, driver, torch, kind, plugin and signature.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to look for, after -- when it begins with a dash; everything when nothing is given
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
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
    let found: Value = client.get("search", &[("q", &query), ("limit", &args.limit.to_string())])?;
    output::answer(args.format, &found, |found| render::hits(found, output::width()))?;
    Ok(ExitCode::SUCCESS)
}
