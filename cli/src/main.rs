//! `whycrash`: runs a job and keeps what its crash leaves, and says why it crashed.
//!
//! Standard output carries what was asked for and nothing else (with `--format json`, one JSON document);
//! progress, warnings and errors go to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage; `run` ends the
//! way the job did.

mod cli;
mod client;
mod collect;
mod commands;
mod config;
mod debuginfod;
mod inputs;
mod output;
mod render;
mod run;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    output::log_to_stderr();
    match cli::Cli::parse().execute() {
        Ok(code) => code,
        Err(error) => {
            anstream::eprintln!("{}", render::error(&error));
            ExitCode::FAILURE
        }
    }
}
