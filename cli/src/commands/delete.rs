//! `whycrash delete`: takes reports off a server for good.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde::Serialize;

use crate::client::Client;
use crate::config::Config;
use crate::output::{self, Clean, Format};

/// Delete reports from a server for good, with their artifacts
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The reports: their ids, the first digits of them, or -1 for the last one
    #[arg(required = true, value_name = "ID", allow_negative_numbers = true)]
    ids: Vec<String>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// The server's address [default: http://127.0.0.1:7311]
    #[arg(long, value_name = "URL", env = "WHYCRASH_SERVER", hide_env = true)]
    server: Option<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What was done.
#[derive(Debug, Default, Serialize)]
struct Deleted {
    /// Reports that are gone now.
    deleted: Vec<String>,
    /// Those that were not there.
    unknown: Vec<String>,
}

/// Deletes the reports, unless somebody who is asked says no.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::new(args.server.as_deref(), config)?;
    let ids = args.ids.iter().map(|word| client.id(word));
    let ids = ids.collect::<anyhow::Result<Vec<String>>>()?;
    if !args.yes && !confirm(&ids, client.server())? {
        bail!("nothing was deleted");
    }
    let mut done = Deleted::default();
    for id in &ids {
        let list = if client.delete_report(id)? {
            &mut done.deleted
        } else {
            &mut done.unknown
        };
        list.push(id.clone());
    }
    output::answer(args.format, &done, text)?;
    Ok(ExitCode::SUCCESS)
}

/// Asks on the terminal.
fn confirm(ids: &[String], server: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("deleting is for good, and there is no terminal to ask on: say --yes");
    }
    let what = match ids {
        [id] => format!("the report {id}"),
        ids => format!("{} reports", ids.len()),
    };
    output::tell(&format!("delete {what} from {server} for good? [y/N]").into());
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .context("can not read the answer")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn text(done: &Deleted) -> Clean {
    let mut text = Clean::default();
    for id in &done.deleted {
        text.push(format!("deleted {id}"));
        text.end_line();
    }
    for id in &done.unknown {
        text.push(format!("there is no report {id}"));
        text.end_line();
    }
    text
}
