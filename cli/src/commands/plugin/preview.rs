//! `whycrash plugin preview`, `apply`, `undo` and `cancel`: a plugin on the reports that a server has, before anybody
//! sees what it says.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use serde_json::Value;

use super::publish::{self, ServerArgs};
use crate::client::{Client, Progress as _};
use crate::config::Config;
use crate::output::{self, Bar, Clean};
use crate::render;

/// The pause between two looks at how far the server has come.
const PAUSE: Duration = Duration::from_millis(300);

/// Try the plugin in this folder, a package, a component or a cause's page on the reports of a server: what would
/// change
///
/// Every report is diagnosed with it from its stored evidence, and nothing changes. It goes on when this command is
/// ended; `--number` looks at it again. Needs a token with the scope `admin`.
#[derive(Debug, clap::Args)]
pub struct PreviewArgs {
    /// The plugin's folder, a package (*.zip), a component (*.wasm) or a page of a cause (*.md)
    #[arg(default_value = ".", value_name = "PATH")]
    path: PathBuf,
    /// Only the reports that this search finds
    #[arg(long, value_name = "QUERY")]
    search: Option<String>,
    /// Look at a preview that was begun before
    #[arg(long, value_name = "NUMBER", conflicts_with = "search")]
    number: Option<u64>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Which preview.
#[derive(Debug, clap::Args)]
pub struct ActArgs {
    /// The preview's number
    number: u64,
    #[command(flatten)]
    server: ServerArgs,
}

/// Begins a preview, waits for it, and says what would change.
pub fn preview(args: &PreviewArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::new(args.server.server.as_deref(), config)?;
    let number = match args.number {
        Some(number) => number,
        None => begin(args, &client)?,
    };
    let shown = wait(&client, number)?;
    output::answer(args.server.format, &shown, |shown| changes(shown, client.server()))?;
    match word(&shown, "state") {
        "failed" => bail!("the preview failed: {}", word(&shown, "reason")),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Applies, undoes or cancels a preview.
pub fn act(action: &str, args: &ActArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::new(args.server.server.as_deref(), config)?;
    let done = client.act_on_preview(args.number, action)?;
    output::answer(args.server.format, &done, |done| {
        let (name, state) = (word(done, "name"), word(done, "state"));
        let mut text = Clean::from(format!("preview {} of {name} is {state}", args.number));
        if let Some(reports) = done.get("reports_changed").and_then(Value::as_u64) {
            text.push(format!("; another diagnosis stands in {reports} reports"));
        }
        text.end_line();
        if let Some(follows) = render::diagnosed_anew(&done["diagnosed_anew"]) {
            text.push(follows);
            text.end_line();
        }
        text
    })?;
    Ok(ExitCode::SUCCESS)
}

fn begin(args: &PreviewArgs, client: &Client) -> anyhow::Result<u64> {
    let page = args.path.extension().is_some_and(|extension| extension == "md");
    let page = page.then(|| args.path.file_name().unwrap_or_default().to_string_lossy());
    let bytes = publish::bytes(&args.path)?;
    let waiting = Bar::of_waiting("the server looks at what is tried");
    let begun = client.begin_preview(&bytes, page.as_deref(), args.search.as_deref())?;
    waiting.finish();
    let number = count(&begun, "number");
    output::tell(&Clean::from(format!(
        "preview {number}: {} reports, looked at from what is stored of them",
        count(&begun, "reports")
    )));
    Ok(number)
}

/// Waits until all reports were looked at.
fn wait(client: &Client, number: u64) -> anyhow::Result<Value> {
    let path = format!("previews/{number}");
    let mut shown: Value = client.get(&path, &[])?;
    let bar = Bar::of_reports(count(&shown, "reports"));
    while word(&shown, "state") == "running" {
        bar.set(count(&shown, "looked_at"));
        std::thread::sleep(PAUSE);
        shown = client.get(&path, &[])?;
    }
    bar.finish();
    Ok(shown)
}

fn changes(shown: &Value, server: &str) -> Clean {
    let number = count(shown, "number");
    let mut text = Clean::from(format!(
        "{} {}: {} of {} reports would change",
        word(shown, "name"),
        word(shown, "version"),
        count(shown, "changed"),
        count(shown, "looked_at")
    ));
    text.end_line();
    for change in shown.get("changes").and_then(Value::as_array).into_iter().flatten() {
        let (cause, reports) = (word(change, "cause"), count(change, "reports"));
        let sign = match word(change, "change") {
            "gained" => "+",
            "lost" => "-",
            _ => "~",
        };
        text.push(format!(
            "  {sign} {cause}  {} in {reports} reports",
            word(change, "change")
        ));
        text.end_line();
    }
    text.push(format!("each report side by side: {server}/previews/{number}"));
    text.end_line();
    if word(shown, "state") == "ready" {
        text.push(format!("make it true: whycrash plugin apply {number}"));
        text.end_line();
        if let Some(follow) = shown["diagnosed_anew"]["reports"]
            .as_u64()
            .filter(|reports| *reports > 0)
        {
            text.push(format!(
                "the other {follow} reports are diagnosed anew after that, behind new ones"
            ));
            text.end_line();
        }
    }
    text
}

fn word<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

fn count(value: &Value, member: &str) -> u64 {
    value.get(member).and_then(Value::as_u64).unwrap_or_default()
}
