//! `whycrash plugin new`: a folder in which a plugin can be built and tried at once.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};

use super::project::{Language, check_name};
use super::{names, scaffold};
use crate::output::{self, Clean};

/// Make a folder with a plugin that builds and passes its own test
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The plugin's name: lower-case words joined by hyphens
    name: String,
    /// The language to write it in
    #[arg(long, value_enum)]
    lang: Language,
    /// Where to make it [default: a folder of its name, here]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// Writes the files of a new project.
pub fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    check_name(&args.name)?;
    names::check(&args.name, args.lang)?;
    let folder = args.folder.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    if folder.exists() {
        bail!(
            "{} is there already: give another name, or another --folder",
            folder.display()
        );
    }
    for (path, text) in scaffold::files(&args.name, args.lang) {
        let path = folder.join(path);
        let parent = path.parent().context("a file has a folder")?;
        fs::create_dir_all(parent).with_context(|| format!("can not make {}", parent.display()))?;
        fs::write(&path, text).with_context(|| format!("can not write {}", path.display()))?;
    }
    let mut text = Clean::from(format!("made {}; next:", folder.display()));
    for line in [
        format!("  cd {}", folder.display()),
        "  whycrash plugin build".to_owned(),
        "  whycrash plugin test".to_owned(),
    ] {
        text.end_line();
        text.push(line);
    }
    output::tell(&text);
    Ok(ExitCode::SUCCESS)
}
