//! `whycrash upload`: send what a crash left to a server.

use std::process::ExitCode;

use serde_json::{Map, Value, json};

use crate::client::{Client, Uploaded};
use crate::config::Config;
use crate::inputs::{self, Paths};
use crate::output::{self, Bar, Clean, Format};

/// Upload what a crash left as one report
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    paths: Paths,
    /// Wait until the server has read it, and say why it crashed
    #[arg(long)]
    wait: bool,
    /// The server's address [default: http://127.0.0.1:7311]
    #[arg(long, value_name = "URL", env = "WHYCRASH_SERVER", hide_env = true)]
    server: Option<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Uploads the files and prints the report's id and address; with `--wait` what the server found, too. Fails where the
/// server could not read what was waited for.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    let artifacts = inputs::from_paths(&args.paths.paths)?;
    let client = Client::new(args.server.as_deref(), config)?;
    let uploaded = client.upload(&artifacts, &Map::new(), &Bar::new(), &|_| Ok(()))?;
    if args.wait {
        return wait(args.format, &client, &uploaded);
    }
    output::answer(args.format, &uploaded, |uploaded| lines([&uploaded.id, &uploaded.url]))?;
    Ok(ExitCode::SUCCESS)
}

fn wait(format: Format, client: &Client, uploaded: &Uploaded) -> anyhow::Result<ExitCode> {
    if format == Format::Text {
        // Who gives up waiting knows where it is.
        output::print(&lines([&uploaded.id, &uploaded.url]))?;
    }
    let state = client.wait_for(&uploaded.id)?;
    let mut document = client.report(&uploaded.id)?;
    let told = told(&state, &document, &uploaded.id);
    if let Some(members) = document.as_object_mut() {
        let first = members.get("findings").and_then(|findings| findings.get(0));
        let cause = first.map_or(Value::Null, |finding| finding["cause"].clone());
        members.extend([
            ("id".to_owned(), json!(uploaded.id)),
            ("url".to_owned(), json!(uploaded.url)),
            ("cause".to_owned(), cause),
        ]);
    }
    output::answer(format, &document, |_| lines([&told]))?;
    Ok(if state["state"] == "done" {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What the server found, in a line.
fn told(state: &Value, document: &Value, id: &str) -> String {
    let short = id.get(..8).unwrap_or(id);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let reason = || text(&state["failure"]);
    match state["state"].as_str() {
        Some("done") => {}
        Some("failed") => return format!("the server could not process it: {}", reason()),
        Some("quarantined") => return format!("the server does not read it again by itself: {}", reason()),
        _ => return "not all of its artifacts have arrived: upload it again to go on".to_owned(),
    }
    match document["findings"].get(0) {
        Some(finding) => format!(
            "{} ({}); `whycrash show {short}` shows the proof and what to do",
            text(&finding["title"]),
            text(&finding["cause"])
        ),
        None => format!("none of the known causes fits; `whycrash show {short}` shows what was read"),
    }
}

fn lines<const N: usize>(lines: [&String; N]) -> Clean {
    let mut text = Clean::default();
    for line in lines {
        text.push(line);
        text.end_line();
    }
    text
}
