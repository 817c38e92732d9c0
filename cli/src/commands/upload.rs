//! `whycrash upload`: send what a crash left to a server.

use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Map;

use crate::client::{Client, Progress};
use crate::config::Config;
use crate::inputs::{self, Paths};
use crate::output::{self, Format};

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
    let input = inputs::from_paths(&args.paths.paths)?;
    let client = Client::new(args.server.as_deref(), config)?;
    let uploaded = client.upload(&input.artifacts, &Map::new(), &Bar::new())?;
    output::answer(args.format, &uploaded, |uploaded| {
        format!("{}\n{}\n", uploaded.id, uploaded.url)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A progress bar on standard error; nothing where that is no terminal.
#[derive(Clone, Debug)]
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar that is not shown yet.
    pub fn new() -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) =
            ProgressStyle::with_template("{msg:30!} {wide_bar} {bytes:>11} of {total_bytes:>11} {eta:>4}")
        {
            bar.set_style(style);
        }
        Self(bar)
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, bytes: u64) {
        self.0.reset();
        self.0.set_length(bytes);
        self.0.set_message(what.to_owned());
    }

    fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    fn finish(&self) {
        self.0.finish_and_clear();
    }
}
