//! How right whycrash is on the public corpus of GPUAlert: `gpualert CHECKOUT` reads the logs that its manifest lists,
//! names each one's cause, and holds the class of that cause against the corpus's.
//!
//! Logs that were made by injecting a fault begin with a line that names their class: that line is dropped. Many logs
//! differ in numbers alone, so everything is counted twice: by log, and by template, where logs that are equal but for
//! their numbers are one.

mod classes;
mod measure;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use serde_json::Value;
use whycrash_evidence::Artifact;
use whycrash_plugin_host::{Diagnoser, Input, Settings};

use classes::Classes;
use measure::{Judged, print};

/// The macro-F1 that is asked for, by log.
const GOAL: f64 = 0.998;

/// What is said of a log in which nothing was found, or whose cause belongs to no class.
const NONE: &str = "(none)";

struct Sample {
    id: String,
    class: String,
    log: String,
}

fn main() -> Result<ExitCode> {
    let checkout = std::env::args()
        .nth(1)
        .context("give the folder of a checkout of the corpus")?;
    let samples = samples(Path::new(&checkout))?;
    let classes = Classes::read()?;
    let diagnoser = Diagnoser::new(Settings::default())?;
    let mut templates: BTreeMap<String, Judged> = BTreeMap::new();
    let mut logs = Vec::new();
    for sample in &samples {
        let template = format!("{}\n{}", sample.class, mask(&sample.log));
        let judged = Judged {
            class: sample.class.clone(),
            said: said(&diagnoser, &classes, sample)?,
        };
        if judged.said != judged.class && !templates.contains_key(&template) {
            println!("{}: {} instead of {}", sample.id, judged.said, judged.class);
        }
        templates.entry(template).or_insert_with(|| judged.clone());
        logs.push(judged);
    }
    let templates: Vec<Judged> = templates.into_values().collect();
    print(&format!("{} templates", templates.len()), &templates);
    let reached = print(&format!("{} logs", logs.len()), &logs);
    println!("goal: macro-F1 of {GOAL} by log");
    Ok(ExitCode::from(u8::from(reached < GOAL)))
}

/// What the manifest lists, without the lines that name classes.
fn samples(checkout: &Path) -> Result<Vec<Sample>> {
    let manifest = checkout.join("corpus/labels.jsonl");
    let text = fs::read_to_string(&manifest).with_context(|| format!("read {}", manifest.display()))?;
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let record: Value = serde_json::from_str(line)?;
            let member = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
            let path = checkout.join(member("log_path"));
            let log = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
            let log = String::from_utf8_lossy(&log);
            let (first, rest) = log.split_once('\n').unwrap_or((&log, ""));
            let names_class = first.contains(&format!("mode={}", member("mode")));
            Ok(Sample {
                id: member("id"),
                class: member("mode"),
                log: if names_class { rest.to_owned() } else { log.to_string() },
            })
        })
        .collect()
}

fn said(diagnoser: &Diagnoser, classes: &Classes, sample: &Sample) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("job.log");
    fs::write(&path, &sample.log)?;
    let document = diagnoser.diagnose(&Input {
        artifacts: vec![Artifact::new("job.log", path)],
        ..Input::default()
    });
    let class = document.findings.first().and_then(|finding| classes.of(&finding.cause));
    Ok(class.unwrap_or(NONE).to_owned())
}

/// A log with every number replaced by one sign.
fn mask(log: &str) -> String {
    let mut masked = String::with_capacity(log.len());
    for letter in log.chars() {
        match letter {
            '0'..='9' if masked.ends_with('#') => {}
            '0'..='9' => masked.push('#'),
            _ => masked.push(letter),
        }
    }
    masked
}
