//! How fast whycrash is beside the tools people use now: for every kind of artifact, the same input is given to both,
//! in turns, each as a process of its own with its output thrown away.
//!
//! `bench [--rounds N] [WORD…]` measures the rows whose names have one of the words; all without one. It ends with
//! status 1 when a goal is missed or a row could not be measured.

mod cost;
mod failures;
mod inputs;
mod report;
mod rows;
mod tools;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use whycrash_bench::Artifacts;

/// Rounds of each row unless said otherwise.
const ROUNDS: usize = 11;

struct Options {
    rounds: usize,
    words: Vec<String>,
}

fn main() -> Result<ExitCode> {
    let options = Options::parse(std::env::args().skip(1))?;
    let data = folder_for_inputs()?;
    let artifacts = Artifacts::open(data.clone())?;
    let mut outcomes = Vec::new();
    report::heading();
    for row in rows::all(&artifacts, &data) {
        if options.wants(row.name) {
            let outcome = row.measure(options.rounds);
            report::row(&outcome);
            outcomes.push(outcome);
        }
    }
    Ok(if report::summary(&outcomes) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            rounds: ROUNDS,
            words: Vec::new(),
        };
        while let Some(argument) = arguments.next() {
            if argument == "--rounds" {
                let number = arguments.next().context("--rounds needs a number")?;
                let rounds: usize = number
                    .parse()
                    .with_context(|| format!("{number} is no number of rounds"))?;
                options.rounds = rounds.max(1);
            } else {
                options.words.push(argument);
            }
        }
        Ok(options)
    }

    fn wants(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()))
    }
}

/// Where inputs are unpacked and generated, once for all runs: beside the program, so that `cargo clean` removes it.
fn folder_for_inputs() -> Result<PathBuf> {
    let program = std::env::current_exe().context("this program's own path is not known")?;
    let folder = program.with_file_name("bench-inputs");
    std::fs::create_dir_all(&folder).with_context(|| format!("{} could not be made", folder.display()))?;
    Ok(folder)
}
