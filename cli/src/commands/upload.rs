//! `whycrash upload`: send what a crash left to a server.

use std::process::ExitCode;

use serde_json::Map;

use crate::client::Client;
use crate::config::Config;
use crate::inputs::{self, Paths};
use crate::output::{self, Bar, Clean, Format};

/// Upload what a crash left as one report
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    paths: Paths,
    /// The server's address [default: http://127.0.0.1:7311]
    #[arg(long, value_name = "URL", env = "WHYCRASH_SERVER", hide_env = true)]
    server: Option<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Uploads the files and prints the report's id and address.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    let artifacts = inputs::from_paths(&args.paths.paths)?;
    let client = Client::new(args.server.as_deref(), config)?;
    let uploaded = client.upload(&artifacts, &Map::new(), &Bar::new(), &|_| Ok(()))?;
    output::answer(args.format, &uploaded, |uploaded| {
        let mut text = Clean::default();
        for line in [&uploaded.id, &uploaded.url] {
            text.push(line);
            text.end_line();
        }
        text
    })?;
    Ok(ExitCode::SUCCESS)
}
