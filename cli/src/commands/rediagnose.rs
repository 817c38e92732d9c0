//! `whycrash rediagnose`: has reports on a server diagnosed anew with what is known now.

use std::process::ExitCode;

use anyhow::bail;
use serde_json::{Value, json};

use crate::client::{Client, is_like_an_id};
use crate::config::Config;
use crate::output::{self, Clean, Format};
use crate::render;

/// Have reports on a server diagnosed anew, from what was read of them
///
/// A server does so by itself when plugins or pages change. What was asked for is done behind new reports; without a
/// report, a query or --all, how far it has come.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Reports (ids, first digits of them, -1 for the last), or a query whose results are meant
    #[arg(value_name = "ID|QUERY", allow_negative_numbers = true)]
    of: Vec<String>,
    /// All reports
    #[arg(long, conflicts_with = "of")]
    all: bool,
    /// Wait until nothing is to be diagnosed anew
    #[arg(long)]
    wait: bool,
    /// The server's address [default: http://127.0.0.1:7311]
    #[arg(long, value_name = "URL", env = "WHYCRASH_SERVER", hide_env = true)]
    server: Option<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Asks for it, and says how many reports that are.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::new(args.server.as_deref(), config)?;
    let asked = ask(args, &client)?;
    let progress: Value = match args.wait {
        true => client.wait_for_diagnoses()?,
        false => client.get("diagnoses", &[])?,
    };
    let answer = json!({"asked": asked, "progress": progress});
    output::answer(args.format, &answer, |answer| {
        let mut text = Clean::default();
        let asked = render::diagnosed_anew(&answer["asked"]);
        for line in asked.into_iter().chain([told(&answer["progress"])]) {
            text.push(line);
            text.end_line();
        }
        text
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What was asked for; null where nothing was.
fn ask(args: &Args, client: &Client) -> anyhow::Result<Value> {
    if args.all {
        return client.rediagnose_many(None);
    }
    if args.of.is_empty() {
        return Ok(Value::Null);
    }
    if !args.of.iter().all(|word| is_like_an_id(word)) {
        let query = args.of.join(" ");
        let asked = client.rediagnose_many(Some(&query))?;
        if asked["reports"] == 0 {
            bail!("{query:?} finds no report that was read: `whycrash search` shows what a query finds");
        }
        return Ok(asked);
    }
    let ids = args.of.iter().map(|word| client.id(word));
    let ids = ids.collect::<anyhow::Result<Vec<String>>>()?;
    ids.iter().try_for_each(|id| client.rediagnose(id))?;
    Ok(json!({"reports": ids.len(), "ids": ids}))
}

fn told(progress: &Value) -> String {
    match progress["waiting"].as_u64().unwrap_or(0) {
        0 => "nothing is to be diagnosed anew".to_owned(),
        waiting => format!("{waiting} of {} still to be diagnosed anew", progress["of"]),
    }
}
