//! `whycrash symbols`: binaries and debug files for a server.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde::Serialize;
use whycrash_symbols::SymbolIdentity;

use crate::client::{Client, Kept};
use crate::config::Config;
use crate::output::{self, Bar, Clean, Format};

/// Give a server binaries and debug files, so that it can name functions and lines
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Upload(Upload),
}

/// Upload ELF binaries and debug files that have a build id, and Breakpad symbol files
#[derive(Debug, clap::Args)]
struct Upload {
    /// Files, or folders in which all that are symbols are taken
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Replace files that the server has for the same builds; needs a token with the scope `admin`
    #[arg(long)]
    replace: bool,
    /// The server's address [default: http://127.0.0.1:7311]
    #[arg(long, value_name = "URL", env = "WHYCRASH_SERVER", hide_env = true)]
    server: Option<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What was done.
#[derive(Debug, Default, Serialize)]
struct Uploaded {
    /// The files that the server has now.
    files: Vec<UploadedFile>,
    /// The files in place of which the server keeps others.
    refused: Vec<RefusedFile>,
    /// How many files in folders are no symbols.
    skipped: usize,
}

/// A file in place of which the server keeps another one.
#[derive(Debug, Serialize)]
struct RefusedFile {
    path: PathBuf,
    id: String,
    kind: &'static str,
}

/// A file that the server has now.
#[derive(Debug, Serialize)]
struct UploadedFile {
    path: PathBuf,
    #[serde(flatten)]
    kept: Kept,
}

/// Does what was asked.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    let Command::Upload(args) = &args.command;
    let client = Client::new(args.server.as_deref(), config)?;
    let mut uploaded = Uploaded::default();
    for path in &args.paths {
        if path.is_dir() {
            uploaded.folder(&client, path, args.replace)?;
        } else {
            let file = SymbolIdentity::of(path).with_context(|| format!("can not upload {}", path.display()))?;
            uploaded.file(&client, &file, path, args.replace)?;
        }
    }
    if uploaded.files.is_empty() && uploaded.refused.is_empty() {
        bail!("no symbols found: they are ELF files with a build id, and Breakpad symbol files");
    }
    output::answer(args.format, &uploaded, text)?;
    if uploaded.refused.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let refused = uploaded.refused.len();
    output::tell(&Clean::from(format!(
        "the server keeps other files for {refused} of these builds, and those stay: an administrator replaces them \
         with --replace"
    )));
    Ok(ExitCode::FAILURE)
}

impl Uploaded {
    /// Uploads what is symbols in a folder; `.build-id`, where debug files are kept, is a hidden one.
    fn folder(&mut self, client: &Client, folder: &Path, replace: bool) -> anyhow::Result<()> {
        for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
            let entry = entry.with_context(|| format!("can not list {}", folder.display()))?;
            if !entry.file_type().is_file() {
                continue;
            }
            match SymbolIdentity::of(entry.path()) {
                Ok(file) => self.file(client, &file, entry.path(), replace)?,
                Err(reason) => {
                    tracing::debug!(path = %entry.path().display(), %reason, "skipped");
                    self.skipped += 1;
                }
            }
        }
        Ok(())
    }

    /// Uploads one file. That the server keeps another one is no reason to stop.
    fn file(&mut self, client: &Client, file: &SymbolIdentity, path: &Path, replace: bool) -> anyhow::Result<()> {
        match client.upload_symbols(file, path, replace, &Bar::new())? {
            Some(kept) => self.files.push(UploadedFile {
                path: path.to_owned(),
                kept,
            }),
            None => self.refused.push(RefusedFile {
                path: path.to_owned(),
                id: file.id.clone(),
                kind: file.kind.as_str(),
            }),
        }
        Ok(())
    }
}

fn text(uploaded: &Uploaded) -> Clean {
    let mut text = Clean::default();
    for UploadedFile { path, kept } in &uploaded.files {
        let state = if kept.new { "uploaded" } else { "known" };
        let again = match kept.reports {
            0 => String::new(),
            reports => format!(", read again for {reports} reports"),
        };
        text.push(format!("{state} {} {} {}{again}", kept.kind, kept.id, path.display()));
        text.end_line();
    }
    for RefusedFile { path, id, kind } in &uploaded.refused {
        text.push(format!("refused {kind} {id} {}", path.display()));
        text.end_line();
    }
    if uploaded.skipped > 0 {
        text.push(format!("skipped {} other files", uploaded.skipped));
        text.end_line();
    }
    text
}
