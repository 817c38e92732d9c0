//! The server's binary: reads the command line and does what it says.

use std::process::ExitCode;

use clap::Parser;
use whycrash_server::config::Cli;
use whycrash_server::serve;

fn main() -> ExitCode {
    // Before there are threads: a child that compiles a plugin is to be small.
    whycrash_plugin_host::compile_if_asked().unwrap_or_else(serve)
}

#[tokio::main]
async fn serve() -> ExitCode {
    match serve::execute(Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!(
                "whycrash-server: {}",
                whycrash_evidence::printable(&format!("{error:#}"))
            );
            ExitCode::FAILURE
        }
    }
}
