//! `whycrash cause`: what is known about why jobs crash.

use std::process::ExitCode;

use anyhow::bail;
use serde::{Deserialize, Serialize};
use whycrash_catalog::{Catalog, Cause};
use whycrash_evidence::did_you_mean;

use super::{pages, published_pages};
use crate::client::Client;
use crate::config::Config;
use crate::output::{self, Clean, Format};
use crate::render;

/// Read about a cause of crashes
///
/// With the id of a cause, its page; with words, the causes they fit; with nothing, all of them. A server that is
/// configured is asked for what it knows: your team's pages, and how often each cause was seen.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// A cause's id, or words to find it by
    #[arg(value_name = "ID|WORDS")]
    words: Vec<String>,
    /// The server that is asked; by default the one in the settings, and none without
    #[arg(long, value_name = "URL", env = "WHYCRASH_SERVER", hide_env = true)]
    server: Option<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Check(pages::CheckArgs),
    Try(pages::TryArgs),
    Pages(published_pages::ListArgs),
    Remove(published_pages::RemoveArgs),
}

/// A cause, with what a server knows of it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Known {
    #[serde(flatten)]
    cause: Cause,
    /// Reports of the server that it was found in.
    #[serde(skip_serializing_if = "Option::is_none")]
    reports: Option<u64>,
}

/// What a list of causes says of each.
#[derive(Debug, Serialize)]
struct Head<'a> {
    id: &'a str,
    title: &'a str,
    summary: &'a str,
    severity: &'a str,
    domain: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reports: Option<u64>,
}

/// All causes of a server.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Causes {
    causes: Vec<Known>,
}

/// Prints one page, or a list. Words that fit a single cause are as good as its id.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    match &args.command {
        Some(Command::Check(args)) => return pages::check(args, config),
        Some(Command::Try(args)) => return pages::try_page(args),
        Some(Command::Pages(args)) => return published_pages::list(args, config),
        Some(Command::Remove(args)) => return published_pages::remove(args, config),
        None => {}
    }
    let server = Server::configured(args.server.as_deref(), config)?;
    let catalog = pages::catalog(config)?;
    let words = args.words.join(" ");
    if let Some(known) = server.cause(&words, &catalog) {
        return page(args, &server, &known);
    }
    let known = server.causes(&catalog);
    let found: Vec<&Known> = if words.is_empty() {
        known.iter().collect()
    } else {
        fitting(&words, &known, &catalog)
    };
    let near = did_you_mean(&words, known.iter().map(|known| known.cause.id.as_str()));
    if found.len() > 1 && is_like_an_id(&words) && !near.is_empty() {
        output::tell(&Clean::from(format!("no cause is called {words:?}{near}")));
    }
    match found.as_slice() {
        [] => bail!("no cause fits {words:?}{near}: `whycrash cause` lists all of them"),
        [one] => match server.cause(&one.cause.id, &catalog) {
            Some(known) => page(args, &server, &known),
            None => page(args, &server, one),
        },
        causes => list(args, causes),
    }
}

/// Whether somebody has typed an id rather than words.
fn is_like_an_id(words: &str) -> bool {
    words.contains('-') && !words.contains(char::is_whitespace)
}

/// The causes that words fit: first those of this program, best first, then those that the server has beside them.
fn fitting<'a>(words: &str, known: &'a [Known], catalog: &Catalog) -> Vec<&'a Known> {
    let named = |id: &str| known.iter().find(|known| known.cause.id == id);
    let here = catalog.search(words);
    let mut found: Vec<&Known> = here.iter().filter_map(|cause| named(&cause.id)).collect();
    let lower = words.to_lowercase();
    let has_all = |cause: &Cause| {
        let text = [&cause.id, &cause.title, &cause.summary].map(|text| text.to_lowercase());
        let all = text
            .iter()
            .cloned()
            .chain(cause.tags.iter().chain(&cause.signs).map(|text| text.to_lowercase()));
        let all: Vec<String> = all.collect();
        lower
            .split_whitespace()
            .all(|word| all.iter().any(|text| text.contains(word)))
    };
    let beside = known.iter().filter(|known| catalog.get(&known.cause.id).is_none());
    found.extend(beside.filter(|known| has_all(&known.cause)));
    found
}

/// The server that is asked.
enum Server {
    /// Nobody named one.
    None,
    /// It was named, and can not be asked now.
    Silent,
    /// It is there.
    Asked(Box<Client>),
}

impl Server {
    /// The one that flags, environment or settings name. That it can not be asked is said once.
    fn configured(flag: Option<&str>, config: &Config) -> anyhow::Result<Self> {
        if flag.is_none() && config.server.is_none() {
            return Ok(Self::None);
        }
        let client = Client::new(flag, config)?;
        Ok(match client.access() {
            Ok(_) => Self::Asked(Box::new(client)),
            Err(error) => {
                output::tell(&Clean::from(format!("{error:#}; what follows is built in")));
                Self::Silent
            }
        })
    }

    /// The cause of this id: the server's where it has one, else ours.
    fn cause(&self, id: &str, catalog: &Catalog) -> Option<Known> {
        let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let asked = match self {
            Self::Asked(client) if is_id => client.glance(&format!("causes/{id}")).ok().flatten(),
            _ => None,
        };
        asked.or_else(|| catalog.get(id).map(Known::of))
    }

    /// All causes: ours, and those that the server has beside them.
    fn causes(&self, catalog: &Catalog) -> Vec<Known> {
        let theirs = match self {
            Self::Asked(client) => {
                client
                    .glance::<Causes>("causes")
                    .ok()
                    .flatten()
                    .unwrap_or_default()
                    .causes
            }
            _ => Vec::new(),
        };
        let ours = catalog.causes().iter();
        let ours = ours
            .filter(|cause| !theirs.iter().any(|known| known.cause.id == cause.id))
            .map(Known::of);
        let mut all: Vec<Known> = ours.collect();
        all.extend(theirs);
        all.sort_by(|one, other| one.cause.id.cmp(&other.cause.id));
        all
    }

    /// What a server says of a cause beside its page, or why there is none that does.
    fn line(&self, known: &Known) -> Option<String> {
        match (self, known.reports) {
            (Self::Asked(client), Some(reports)) => Some(format!(
                "Seen in {reports} reports on {}: whycrash search cause:{}",
                client.server(),
                known.cause.id
            )),
            (Self::Asked(client), None) => Some(format!("{} does not know this cause: it is built in here", client.server())),
            (Self::None, _) => Some(
                "This is what is built in; with a server (--server, or `server` in the settings) your team's pages, and \
                 how often each cause was seen, are told too."
                    .to_owned(),
            ),
            (Self::Silent, _) => None,
        }
    }
}

impl Known {
    fn of(cause: &Cause) -> Self {
        Self {
            cause: cause.clone(),
            reports: None,
        }
    }
}

fn page(args: &Args, server: &Server, known: &Known) -> anyhow::Result<ExitCode> {
    output::answer(args.format, known, |known| {
        let mut text = render::cause(&known.cause, output::width());
        if let Some(line) = server.line(known) {
            text.end_line();
            text.push(line);
            text.end_line();
        }
        text
    })?;
    Ok(ExitCode::SUCCESS)
}

fn list(args: &Args, causes: &[&Known]) -> anyhow::Result<ExitCode> {
    let heads = causes.iter().map(|Known { cause, reports }| Head {
        id: &cause.id,
        title: &cause.title,
        summary: &cause.summary,
        severity: &cause.severity,
        domain: &cause.domain,
        reports: *reports,
    });
    let heads: Vec<Head> = heads.collect();
    let causes: Vec<&Cause> = causes.iter().map(|known| &known.cause).collect();
    output::answer(args.format, &heads, |_| render::causes(&causes, output::width()))?;
    Ok(ExitCode::SUCCESS)
}
