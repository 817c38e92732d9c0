//! `whycrash cause pages` and `whycrash cause remove`: the pages that were published to a server.

use std::process::ExitCode;

use serde_json::Value;

use crate::client::Client;
use crate::config::Config;
use crate::output::{self, Clean, Format};
use crate::render;

/// List the pages that were published to a server (`whycrash plugin apply` of a page's preview does that)
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    server: ServerArgs,
}

/// Remove a page that was published to a server; needs a token with the scope `admin`
#[derive(Debug, clap::Args)]
pub struct RemoveArgs {
    /// Id of its cause
    id: String,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, clap::Args)]
struct ServerArgs {
    /// The server's address [default: http://127.0.0.1:7311]
    #[arg(long, value_name = "URL", env = "WHYCRASH_SERVER", hide_env = true)]
    server: Option<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Prints the pages, a line for each.
pub fn list(args: &ListArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::new(args.server.server.as_deref(), config)?;
    let pages: Value = client.get("pages", &[])?;
    output::answer(args.server.format, &pages, |pages| {
        let mut text = Clean::default();
        for page in pages["pages"].as_array().into_iter().flatten() {
            text.push(line(page));
            text.end_line();
        }
        text
    })?;
    Ok(ExitCode::SUCCESS)
}

fn line(page: &Value) -> String {
    let word = |member: &str| page[member].as_str().unwrap_or_default();
    let title = page["title"]
        .as_str()
        .unwrap_or("it can not be used: `whycrash cause check` says why");
    let undo = page["preview"].as_u64();
    let undo = undo.map(|number| format!("; `whycrash plugin undo {number}` puts back what stood there before"));
    let reports = page["reports"].as_u64().unwrap_or(0);
    format!(
        "{}  {title} (found in {reports} reports{})",
        word("id"),
        undo.unwrap_or_default()
    )
}

/// Removes a page.
pub fn remove(args: &RemoveArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::new(args.server.server.as_deref(), config)?;
    let removed = client.remove_page(&args.id)?;
    output::answer(args.server.format, &removed, |removed| {
        let done = format!("removed the page {} from {}", args.id, client.server());
        let mut text = Clean::default();
        for line in std::iter::once(done).chain(render::diagnosed_anew(&removed["diagnosed_anew"])) {
            text.push(line);
            text.end_line();
        }
        text
    })?;
    Ok(ExitCode::SUCCESS)
}
