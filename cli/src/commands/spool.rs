//! `whycrash spool`: the reports that wait for their server.

use std::process::ExitCode;

use anyhow::bail;
use clap::Subcommand;
use jiff::Timestamp;
use serde::Serialize;

use crate::client::{Uploaded, number_from_the_last};
use crate::config::Config;
use crate::output::{self, Bar, Clean, Format};
use crate::render;
use crate::spool::{self, Waiting};
use crate::when;

/// Characters of an id that tell one report from the others nearly always, and fewest that are taken for one.
const SHORT: usize = 8;
const SHORTEST: usize = 4;

/// Show, send or drop the reports that wait for their server
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show what waits, for which server, and why: a line for each
    List(ListArgs),
    /// Send what waits, now
    Flush(FlushArgs),
    /// Take reports out of the spool without sending them; their folders stay
    Drop(DropArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Only what waits since then: a span such as 2d or 90m, or a time
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    since: Option<Timestamp>,
    #[command(flatten)]
    answer: Answer,
}

#[derive(Debug, clap::Args)]
struct FlushArgs {
    /// Send all of it to this server, whichever it waits for
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    answer: Answer,
}

#[derive(Debug, clap::Args)]
struct DropArgs {
    /// What is dropped: ids of the list, first characters of them, or -1 for the last one [default: everything]
    #[arg(value_name = "ID", allow_negative_numbers = true)]
    ids: Vec<String>,
    #[command(flatten)]
    answer: Answer,
}

#[derive(Debug, clap::Args)]
struct Answer {
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What was sent, and what still waits.
#[derive(Debug, Serialize)]
struct Flushed {
    sent: Vec<Uploaded>,
    waiting: Vec<Waiting>,
}

/// What was dropped, and what is being sent at this moment.
#[derive(Debug, Serialize)]
struct Dropped {
    dropped: Vec<Waiting>,
    busy: Vec<Waiting>,
}

/// Does what was asked. Fails when something still waits after a flush.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::List(list) => {
            let mut waiting = spool::list();
            waiting.retain(|waiting| list.since.is_none_or(|since| waiting.entry.since >= since));
            output::answer(list.answer.format, &waiting, |waiting| lines(waiting))?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Flush(flush) => send(flush, config),
        Action::Drop(drop) => take_out(drop),
    }
}

fn send(args: &FlushArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let mut sent = Vec::new();
    for waiting in spool::list() {
        match spool::attempt(&waiting, args.server.as_deref(), config, &Bar::new(), &|_| Ok(())) {
            Ok(uploaded) => sent.extend(uploaded),
            Err(error) => output::tell(&render::error(&error)),
        }
    }
    let flushed = Flushed {
        sent,
        waiting: spool::list(),
    };
    output::answer(args.answer.format, &flushed, |flushed| {
        let mut text = Clean::default();
        for uploaded in &flushed.sent {
            text.push(format!("sent {} {}", uploaded.id, uploaded.url));
            text.end_line();
        }
        text.then(lines(&flushed.waiting))
    })?;
    let code = if flushed.waiting.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    };
    Ok(code)
}

fn take_out(args: &DropArgs) -> anyhow::Result<ExitCode> {
    let all = spool::list();
    let wanted = match args.ids.as_slice() {
        [] => all,
        ids => ids.iter().map(|id| named(id, &all)).collect::<anyhow::Result<_>>()?,
    };
    let (mut dropped, mut busy) = (Vec::new(), Vec::new());
    for waiting in wanted {
        let list = if spool::drop_one(&waiting)? {
            &mut dropped
        } else {
            &mut busy
        };
        list.push(waiting);
    }
    let done = Dropped { dropped, busy };
    output::answer(args.answer.format, &done, |done| {
        let mut text = Clean::default();
        for (what, list) in [("dropped", &done.dropped), ("is being sent now:", &done.busy)] {
            for waiting in list {
                text.push(format!(
                    "{what} {}, kept in {}",
                    short(waiting),
                    waiting.entry.folder.display()
                ));
                text.end_line();
            }
        }
        text
    })?;
    Ok(if done.busy.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The one that somebody means.
fn named(word: &str, all: &[Waiting]) -> anyhow::Result<Waiting> {
    if let Some(back) = number_from_the_last(word) {
        let last = all.len().checked_sub(back).and_then(|place| all.get(place));
        let Some(last) = last else {
            bail!("fewer than {back} reports wait");
        };
        return Ok(last.clone());
    }
    let found: Vec<&Waiting> = all.iter().filter(|waiting| waiting.id.starts_with(word)).collect();
    match found.as_slice() {
        [one] if word.len() >= SHORTEST || one.id == word => Ok((*one).clone()),
        [_] => bail!("{word:?} is too short: give {SHORTEST} characters of an id or more"),
        [] => bail!("no report that waits is called {word:?}: `whycrash spool list` shows them"),
        several => {
            let several: Vec<&str> = several.iter().map(|waiting| waiting.id.as_str()).collect();
            bail!("{word} may mean several reports: {}", several.join(", "))
        }
    }
}

fn short(waiting: &Waiting) -> &str {
    waiting.id.get(..SHORT).unwrap_or(&waiting.id)
}

fn lines(waiting: &[Waiting]) -> Clean {
    let mut text = Clean::default();
    for one in waiting {
        let entry = &one.entry;
        let state = match (&entry.error, entry.refused) {
            (Some(error), true) => format!("refused: {error}"),
            (Some(error), false) => format!("tried {} times: {error}", entry.attempts),
            (None, _) => "not tried yet".to_owned(),
        };
        text.push(format!(
            "{} {} since {} for {}: {state}",
            short(one),
            entry.folder.display(),
            when::short(entry.since),
            entry.server
        ));
        text.end_line();
    }
    text
}
