//! `whycrash core shrink`: a core dump that holds just what a diagnosis reads.

use std::path::PathBuf;
use std::process::ExitCode;

use indicatif::HumanBytes;
use serde::Serialize;
use whycrash_symbols::{Sources, Symbols};

use crate::config::Config;
use crate::output::{self, Clean, Format};
use crate::{inputs, minicore};

/// Write a minicore: a core dump of a few MiB that is diagnosed like the full one
///
/// It has the notes, the stacks, and of all other memory just what a diagnosis reads; the rest of those pages is blank.
/// Debuggers open it like any core dump. Make it where the crash was, because it takes the program's own files to follow
/// its stacks.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The core dump, compressed or not
    core: PathBuf,
    /// The minicore; by default beside the core dump, with .minicore added to its name
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Folder searched for binaries and debug files, by build id and by name (again for more) [env: WHYCRASH_SYMBOLS]
    #[arg(long, value_name = "FOLDER")]
    symbols: Vec<PathBuf>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What has become of it.
#[derive(Debug, Serialize)]
struct Shrunk {
    path: PathBuf,
    bytes: u64,
    /// Bytes of memory in the full core dump.
    full_bytes: u64,
    /// Whether memory is missing that a diagnosis reads.
    cut: bool,
}

/// Writes the minicore.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    let symbols = Symbols::new(Sources {
        folders: inputs::symbol_folders(&args.symbols, config),
        local_files: true,
        ..Sources::default()
    });
    let path = args
        .output
        .clone()
        .unwrap_or_else(|| inputs::minicore_beside(&args.core));
    let made = minicore::make(&args.core, &path, &symbols)?;
    let shrunk = Shrunk {
        path,
        bytes: made.bytes,
        full_bytes: made.full,
        cut: made.is_cut,
    };
    output::answer(args.format, &shrunk, |shrunk| {
        let cut = if shrunk.cut {
            "; memory that a diagnosis reads is missing"
        } else {
            ""
        };
        let (bytes, full) = (HumanBytes(shrunk.bytes), HumanBytes(shrunk.full_bytes));
        let mut text = Clean::default();
        text.push(format!("{}: {bytes} for {full} of memory{cut}", shrunk.path.display()));
        text.end_line();
        text
    })?;
    Ok(ExitCode::SUCCESS)
}
