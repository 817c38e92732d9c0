//! `whycrash plugin inspect`: what a component or a package is.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use serde::Serialize;
use whycrash_plugin_host::{PluginInfo, PluginLimits};

use super::installed;
use crate::config::Config;
use crate::output::{self, Clean, Format};

/// Say what a component (*.wasm) or a package (*.zip) is: name, causes, needs, imports, and what a run may use
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What is known about a file.
#[derive(Debug, Serialize)]
struct Inspected {
    #[serde(flatten)]
    plugin: PluginInfo,
    bytes: u64,
    /// Fuel, processor time and memory that a run may use.
    fuel: u64,
    millis: u64,
    memory: u64,
}

/// Installs the file as a server would, without running it on anything.
pub fn execute(args: &Args, _: &Config) -> anyhow::Result<ExitCode> {
    let about = fs::metadata(&args.file).with_context(|| format!("can not read {}", args.file.display()))?;
    let folder = tempfile::tempdir()?;
    let name = args.file.file_name().context("it has no name")?;
    std::os::unix::fs::symlink(fs::canonicalize(&args.file)?, folder.path().join(name))?;
    let (_, plugin) = installed::from_folder(folder.path()).with_context(|| args.file.display().to_string())?;
    let limits = PluginLimits::default().of_component(about.len() as usize);
    let inspected = Inspected {
        bytes: about.len(),
        fuel: limits.fuel,
        millis: limits.millis,
        memory: limits.memory as u64,
        plugin,
    };
    output::answer(args.format, &inspected, text)?;
    let usable = inspected.plugin.problem.is_none();
    Ok(if usable { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(inspected: &Inspected) -> Clean {
    let plugin = &inspected.plugin;
    let list = |words: &[String]| {
        if words.is_empty() {
            "nothing".to_owned()
        } else {
            words.join(", ")
        }
    };
    let mut rows = vec![
        ("plugin", format!("{} {}", plugin.name, plugin.version)),
        ("file", format!("{} bytes, sha256 {}", inspected.bytes, plugin.sha256)),
        ("names", list(&plugin.causes)),
        ("its own", list(&plugin.pages)),
        ("needs one of", list(&plugin.needs_any_of)),
        ("needs all of", list(&plugin.needs_all_of)),
        ("imports", list(&plugin.imports)),
        (
            "signed by",
            plugin.signed_by.clone().unwrap_or_else(|| "nobody".to_owned()),
        ),
        (
            "may use",
            format!(
                "{} fuel, {} ms, {} MiB in a run",
                inspected.fuel,
                inspected.millis,
                inspected.memory >> 20
            ),
        ),
    ];
    if let Some(problem) = &plugin.problem {
        rows = vec![("refused", problem.clone()), rows.swap_remove(1)];
    }
    let mut text = Clean::default();
    for (name, value) in rows {
        text.push(format!("{name:13} {value}"));
        text.end_line();
    }
    text
}
