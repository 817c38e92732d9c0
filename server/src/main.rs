//! The server's binary: reads the command line and does what it says.

use std::process::ExitCode;

use clap::Parser;
use whycrash_server::config::Cli;
use whycrash_server::{memory, serve, telemetry};

fn main() -> ExitCode {
    telemetry::tell_panics();
    memory::bound_arenas();
    // Before there are threads: a child that compiles a plugin is to be small.
    whycrash_plugin_host::compile_if_asked().unwrap_or_else(execute)
}

#[tokio::main]
async fn execute() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return wrong_usage(&error),
    };
    match serve::execute(cli).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            telemetry::tell(&format!("whycrash-server: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Says what is wrong with the arguments, which it quotes; or gives the help that was asked for.
fn wrong_usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    telemetry::tell(error.render().to_string().trim_end());
    ExitCode::from(2)
}
