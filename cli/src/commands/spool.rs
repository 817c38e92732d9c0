//! `whycrash spool`: the reports that wait for their server.

use std::process::ExitCode;

use clap::Subcommand;
use serde::Serialize;

use crate::client::Uploaded;
use crate::config::Config;
use crate::output::{self, Bar, Clean, Format};
use crate::render;
use crate::spool::{self, Waiting};

/// Show or send the reports that wait for their server
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show what waits, for which server, and why
    List(Answer),
    /// Send what waits, now
    Flush(Answer),
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

/// Does what was asked. Fails when something still waits after a flush.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::List(answer) => {
            output::answer(answer.format, &spool::list(), |waiting| lines(waiting))?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Flush(answer) => flush(answer.format, config),
    }
}

fn flush(format: Format, config: &Config) -> anyhow::Result<ExitCode> {
    let mut sent = Vec::new();
    for waiting in spool::list() {
        match spool::attempt(&waiting, config, &Bar::new(), &|_| Ok(())) {
            Ok(uploaded) => sent.extend(uploaded),
            Err(error) => output::tell(&render::error(&error)),
        }
    }
    let flushed = Flushed {
        sent,
        waiting: spool::list(),
    };
    output::answer(format, &flushed, |flushed| {
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

fn lines(waiting: &[Waiting]) -> Clean {
    let mut text = Clean::default();
    for Waiting { entry, .. } in waiting {
        let state = match (&entry.error, entry.refused) {
            (Some(error), true) => format!("refused: {error}"),
            (Some(error), false) => format!("tried {} times: {error}", entry.attempts),
            (None, _) => "not tried yet".to_owned(),
        };
        text.push(format!(
            "{} since {} for {}: {state}",
            entry.folder.display(),
            entry.since,
            entry.server
        ));
        text.end_line();
    }
    text
}
