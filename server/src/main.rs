//! The server's binary: reads the command line and does what it says.

use std::process::ExitCode;

use clap::Parser;
use whycrash_server::config::Cli;
use whycrash_server::serve;

#[tokio::main]
async fn main() -> ExitCode {
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
