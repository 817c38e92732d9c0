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
    /// What a run may use; absent where there can be none.
    #[serde(flatten)]
    may_use: Option<MayUse>,
}

/// What a run may use, by the size of the component: one that carries an interpreter may use more.
#[derive(Debug, Serialize)]
struct MayUse {
    /// Of its own instructions, and as much again of what the host does for it.
    fuel: u64,
    /// Processor time.
    millis: u64,
    /// Bytes of its memories and tables.
    memory: u64,
    /// Bytes of evidence that it may be handed.
    evidence_bytes: u64,
    /// What it may answer: findings, citations of one, bytes of one text and of all.
    findings: u64,
    citations: u64,
    text_bytes: u64,
    answer_bytes: u64,
    /// Lines of its log that are kept.
    log_lines: u64,
}

impl MayUse {
    fn of(limits: &PluginLimits) -> Self {
        Self {
            fuel: limits.fuel,
            millis: limits.millis,
            memory: limits.memory as u64,
            evidence_bytes: limits.read_bytes as u64,
            findings: limits.findings as u64,
            citations: limits.citations as u64,
            text_bytes: limits.text_bytes as u64,
            answer_bytes: limits.answer_bytes as u64,
            log_lines: limits.log_lines as u64,
        }
    }
}

/// Installs the file as a server would, without running it on anything.
pub fn execute(args: &Args, _: &Config) -> anyhow::Result<ExitCode> {
    let about = fs::metadata(&args.file).with_context(|| format!("can not read {}", args.file.display()))?;
    let folder = tempfile::tempdir()?;
    let name = args.file.file_name().context("it has no name")?;
    std::os::unix::fs::symlink(fs::canonicalize(&args.file)?, folder.path().join(name))?;
    let (diagnoser, plugin) = installed::from_folder(folder.path()).with_context(|| args.file.display().to_string())?;
    let inspected = Inspected {
        bytes: about.len(),
        may_use: diagnoser.limits_of(&plugin.name).as_ref().map(MayUse::of),
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
    ];
    if let Some(sources) = &plugin.sources {
        rows.push(("built of", format!("sources with the digest {sources}")));
    }
    if let Some(may) = &inspected.may_use {
        rows.extend([
            (
                "may use",
                format!("{} fuel, and as much again of what the host does for it", may.fuel),
            ),
            (
                "",
                format!(
                    "{} ms of processor time, {} MiB of memory",
                    may.millis,
                    may.memory >> 20
                ),
            ),
            ("may read", format!("{} MiB of evidence", may.evidence_bytes >> 20)),
            (
                "may answer",
                format!(
                    "{} findings with {} citations each, texts of {} KiB, {} MiB in all, {} lines of a log",
                    may.findings,
                    may.citations,
                    may.text_bytes >> 10,
                    may.answer_bytes >> 20,
                    may.log_lines
                ),
            ),
            (
                "",
                "a server's [plugin_limits] may say otherwise; it applies them to what is published to it".to_owned(),
            ),
        ]);
    }
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
