//! `whycrash show`: a report on a server, as `diagnose` would show it.

use std::process::ExitCode;

use anyhow::Context as _;
use serde::Deserialize as _;
use serde_json::Value;
use whycrash_plugin_host::Document;

use super::answering::Form;
use crate::client::{Client, is_being_read};
use crate::config::Config;
use crate::output::{self, Clean, Format};
use crate::render;

/// Show a report that is on a server
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The report: its id, the first digits of it, or -1 for the last one
    #[arg(allow_negative_numbers = true)]
    id: String,
    /// Wait until the server has read it
    #[arg(long)]
    wait: bool,
    /// The server's address [default: http://127.0.0.1:7311]
    #[arg(long, value_name = "URL", env = "WHYCRASH_SERVER", hide_env = true)]
    server: Option<String>,
    #[command(flatten)]
    form: Form,
}

/// Gets the report's document and prints it; as JSON exactly as the server gave it.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::new(args.server.as_deref(), config)?;
    let id = client.id(&args.id)?;
    if args.wait {
        client.wait_for(&id)?;
    }
    let report = client.report(&id)?;
    let document =
        Document::deserialize(&report).with_context(|| format!("{} gave no report document", client.server()))?;
    if document.plugins.is_empty() && is_being_read(&report) {
        being_read(args.form.of_a_word(), &report, &id)?;
        return Ok(args.form.status_unread());
    }
    let seen = seen(&client, &document);
    let (files, id) = (render::Files::default(), document.report.id.clone());
    let whole = format!("whycrash show --full {id}");
    let answer = render::Answer {
        notes: [state(&report), seen].into_iter().flatten().collect(),
        ..render::Answer::new(&document, &files, id, whole)
    };
    args.form.print(&report, &answer)?;
    Ok(args.form.status(&answer).unwrap_or(ExitCode::SUCCESS))
}

/// Says of a report that was just sent that nothing is known of it yet.
fn being_read(format: Format, report: &Value, id: &str) -> anyhow::Result<()> {
    output::answer(format, report, |report| {
        let received = report["received"].as_str().unwrap_or_default();
        let short = id.get(..8).unwrap_or(id);
        let mut text = Clean::from(format!(
            "{id} came at {received} and is being read: `whycrash show --wait {short}` shows it as soon as it was"
        ));
        text.end_line();
        text
    })
}

/// How far the server has come with the report, unless it is done.
fn state(report: &Value) -> Option<String> {
    let text = |member: &str| report.get(member).and_then(Value::as_str);
    match (text("state")?, text("failure")) {
        ("done", _) => None,
        ("failed", reason) => Some(format!(
            "the server could not process it: {}",
            reason.unwrap_or("no reason given")
        )),
        ("quarantined", reason) => Some(format!(
            "the server does not read it again by itself: {}",
            reason.unwrap_or("no reason given")
        )),
        ("uploading", _) => Some("not all of its artifacts have arrived: upload it again to go on".to_owned()),
        _ => Some("it is being read again; this is what was known before".to_owned()),
    }
}

/// How often the server has seen this crash.
fn seen(client: &Client, document: &Document) -> Option<String> {
    let key = &document.report.signature.key;
    // A report without a failure is like no other.
    if key.is_empty() {
        return None;
    }
    let query = format!("signature:{key}");
    let found: Value = client
        .get("search", &[("q", &query), ("limit", "1"), ("facet_values", "0")])
        .ok()?;
    let total = found.get("total")?.as_u64().filter(|total| *total > 0)?;
    Some(if total == 1 {
        "seen once, this time".to_owned()
    } else {
        format!("seen {total} times")
    })
}
