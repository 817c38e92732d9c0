//! What running a command costs.

use std::ffi::{OsStr, OsString};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// A command with its environment.
#[derive(Clone, Debug)]
pub struct Program {
    words: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
}

/// What one run cost.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// From start to end.
    pub seconds: f64,
    /// Of all cores together, in the program and in the kernel for it.
    pub cpu_seconds: f64,
    /// Most memory resident at a time.
    pub peak_bytes: u64,
}

impl Program {
    pub fn new<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> Self {
        Self {
            words: words.into_iter().map(|word| word.as_ref().to_owned()).collect(),
            environment: Vec::new(),
        }
    }

    pub fn with(mut self, name: &'static str, value: OsString) -> Self {
        self.environment.push((name, value));
        self
    }

    /// As one would type it, but with the folders of paths left out.
    pub fn shown(&self) -> String {
        let shown = self.words.iter().map(|word| {
            let word = word.to_string_lossy();
            let name = if word.starts_with('/') {
                word.rsplit('/').next().unwrap_or_default()
            } else {
                &word
            };
            if name.contains(' ') {
                format!("'{name}'")
            } else {
                name.to_owned()
            }
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    /// Runs it once, its output thrown away.
    pub fn run(&self) -> Result<Cost> {
        let mut measure = Command::new(std::env::current_exe()?.with_file_name("measure"));
        measure.args(&self.words).stderr(Stdio::inherit());
        measure.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let output = measure
            .output()
            .context("the program `measure` could not be started: build it first")?;
        ensure!(output.status.success(), "{} could not be measured", self.shown());
        let printed: Value = serde_json::from_slice(&output.stdout)?;
        ensure!(
            printed["ok"] == true,
            "`{}` failed: run it by hand to see why",
            self.shown()
        );
        Ok(Cost {
            seconds: printed["seconds"].as_f64().unwrap_or_default(),
            cpu_seconds: printed["cpu_seconds"].as_f64().unwrap_or_default(),
            peak_bytes: printed["peak_bytes"].as_u64().unwrap_or_default(),
        })
    }
}
