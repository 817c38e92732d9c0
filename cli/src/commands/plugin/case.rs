//! `whycrash plugin case`: what a plugin is told of a case, for tests in the plugin's own language.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use whycrash_plugin_host::{Diagnoser, History, Input, Settings, Told};

use crate::inputs;
use crate::output::{self, Clean};

/// Read the cases in these folders, and write what a plugin is told of each into its `evidence.json`: tests in the plugin's
/// own language make their report of it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folders with what crashes left
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
}

/// Reads them.
pub fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let diagnoser = Diagnoser::new(Settings::default())?;
    for folder in &args.folders {
        if !folder.is_dir() {
            bail!(
                "{} is no folder: a case is a folder with what a crash left",
                folder.display()
            );
        }
        let mut report = diagnoser.read(&input(folder)?);
        report.history = history(folder)?;
        let path = folder.join("evidence.json");
        let told = Told::of(&report).with_context(|| format!("can not read the texts of {}", folder.display()))?;
        fs::write(&path, serde_json::to_vec(&told)?).with_context(|| format!("can not write {}", path.display()))?;
        output::tell(&Clean::from(format!("{} has what a plugin is told", path.display())));
    }
    Ok(ExitCode::SUCCESS)
}

/// What a crash left there.
pub fn input(folder: &Path) -> anyhow::Result<Input> {
    Ok(crate::diagnoser::input(inputs::from_paths(&[folder.to_owned()])?))
}

/// What is known of other reports, where the case says so.
pub fn history(folder: &Path) -> anyhow::Result<Option<History>> {
    let path = folder.join("history.json");
    match fs::read(&path) {
        Ok(json) => {
            let history = serde_json::from_slice(&json);
            history
                .map(Some)
                .with_context(|| format!("{} does not parse", path.display()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("can not read {}", path.display())),
    }
}
