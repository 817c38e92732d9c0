//! `whycrash man`: manual pages.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::cli::Cli;
use crate::output::{self, Clean};

/// Print the manual page, or write those of all commands
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write the pages of all commands into this folder, such as /usr/local/share/man/man1
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

/// Prints or writes them.
pub fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let command = Cli::command();
    if let Some(folder) = &args.to {
        let cannot_write = || format!("can not write manual pages into {}", folder.display());
        std::fs::create_dir_all(folder).with_context(cannot_write)?;
        clap_mangen::generate_to(command, folder).with_context(cannot_write)?;
    } else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        output::print(&Clean::own(String::from_utf8_lossy(&page).into_owned()))?;
    }
    Ok(ExitCode::SUCCESS)
}
