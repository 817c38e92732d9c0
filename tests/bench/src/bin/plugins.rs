//! What plugins cost that have next to nothing to do: a start with many of them, and what each adds to a report.
//!
//! `plugins` makes components that look at nothing and find nothing, and times this program's own diagnoser with them;
//! what the built-in ones take is taken off. It ends with status 1 when a goal is missed.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use whycrash_evidence::Artifact;
use whycrash_hostile_plugins::{Case, Info, component};
use whycrash_plugin_host::{Diagnoser, Input, PluginLimits, Settings};

/// Plugins that a server has when it starts, and those that look at a report.
const PUBLISHED: usize = 100;
const LOOKING: usize = 50;
/// Reports that are timed.
const ROUNDS: usize = 300;
/// What must be reached.
const START: Duration = Duration::from_secs(1);
const REPORT: Duration = Duration::from_millis(25);
const RUN: Duration = Duration::from_micros(100);

fn main() -> Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let cache = folder.path().join("cache");
    let (published, looking) = (folder.path().join("published"), folder.path().join("looking"));
    fill(&published, PUBLISHED)?;
    fill(&looking, LOOKING)?;

    // Compiled once, as a server does when they are published.
    open(&published, &cache)?;
    let started = Instant::now();
    let diagnoser = open(&published, &cache)?;
    let start = started.elapsed();
    let usable = diagnoser
        .plugins()
        .iter()
        .filter(|plugin| plugin.problem.is_none())
        .count();
    println!("start with {PUBLISHED} published plugins ({usable} usable with the built-in ones): {start:.2?}");
    drop(diagnoser);

    let diagnoser = open(&looking, &cache)?;
    let log = folder.path().join("train.log");
    std::fs::write(&log, "step 1 loss 2.9\n")?;
    let report = Arc::new(diagnoser.read(&Input {
        artifacts: vec![Artifact::new("train.log", log)],
        ..Input::default()
    }));
    let panel = diagnoser.panel();
    let with = median(|| drop(panel.conclude(&report)));
    let without = median(|| drop(diagnoser.first_look(&report)));
    let added = with.saturating_sub(without);
    let run = added / u32::try_from(LOOKING)?;
    println!("{LOOKING} plugins on a report: {added:.2?} more than the built-in ones' {without:.2?}; {run:.1?} each");

    let reached = start <= START && added <= REPORT && run <= RUN;
    Ok(if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A folder of so many plugins.
fn fill(folder: &Path, count: usize) -> Result<()> {
    std::fs::create_dir(folder)?;
    for number in 0..count {
        let name = format!("plugin-{number}");
        let info = Info {
            name: name.clone(),
            ..Info::default()
        };
        let wasm = component(&Case {
            info,
            ..Case::default()
        })?;
        std::fs::write(folder.join(name).with_extension("wasm"), wasm)?;
    }
    Ok(())
}

fn open(plugins: &Path, cache: &Path) -> Result<Diagnoser> {
    let diagnoser = Diagnoser::new(Settings {
        plugin_folders: vec![plugins.to_owned()],
        cache: Some(cache.to_owned()),
        plugin_limits: PluginLimits::default(),
        ..Settings::default()
    })?;
    diagnoser.wait_for_plugins();
    Ok(diagnoser)
}

fn median(mut work: impl FnMut()) -> Duration {
    let time = |_| {
        let started = Instant::now();
        work();
        started.elapsed()
    };
    let mut times: Vec<Duration> = (0..ROUNDS).map(time).collect();
    times.sort();
    times[ROUNDS / 2]
}
