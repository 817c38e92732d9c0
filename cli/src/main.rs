//! `whycrash`: runs a job and keeps what its crash leaves, and says why it crashed.
//!
//! Standard output carries what was asked for and nothing else (with `--format json`, one JSON document);
//! progress, warnings and errors go to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage; `run` ends the
//! way the job did.

// The collector alone uses less of what both have.
#![cfg_attr(not(feature = "diagnosis"), allow(dead_code, unused_imports))]

mod arm;
mod cli;
mod client;
mod collect;
mod commands;
mod config;
#[cfg(feature = "diagnosis")]
mod debuginfod;
#[cfg(feature = "diagnosis")]
mod diagnoser;
mod handler;
mod inputs;
mod limits;
mod minicore;
mod output;
mod render;
mod report;
mod run;
mod scrub;
mod spool;
mod when;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(feature = "diagnosis")]
    if let Some(code) = whycrash_plugin_host::compile_if_asked() {
        return code;
    }
    limits::share_memory_between_threads();
    output::log_to_stderr();
    // What a panic says may quote an artifact.
    std::panic::set_hook(Box::new(|panic| {
        output::tell(&output::Clean::lines(&panic.to_string()))
    }));
    let cli = match cli::Cli::read() {
        Ok(cli) => cli,
        Err(error) => return wrong_usage(&error),
    };
    match cli.execute() {
        Ok(code) => code,
        Err(error) => {
            output::tell(&render::error(&error));
            match error.is::<inputs::WrongUsage>() {
                true => ExitCode::from(2),
                false => ExitCode::FAILURE,
            }
        }
    }
}

/// Says what is wrong with the arguments, which it quotes; or gives the help that was asked for.
fn wrong_usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    let text = error.render().to_string();
    output::tell(&output::Clean::lines(text.trim_end()));
    ExitCode::from(2)
}
