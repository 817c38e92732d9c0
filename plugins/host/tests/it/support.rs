//! What the tests share.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, json};
use whycrash_evidence::Artifact;
use whycrash_hostile_plugins::Case;
use whycrash_plugin_host::{Diagnoser, Document, Input, PluginLimits, Settings};

/// A built component: `cuda-oom`, `hostile/misbehaving`, …
pub fn component(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../builtin/dist")
        .join(name)
        .with_extension("wasm");
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; run plugins/build.sh first", path.display()))
}

/// A component that does nothing, and is compiled in no time.
pub fn small() -> Vec<u8> {
    let case = Case {
        name: "small".to_owned(),
        ..Case::default()
    };
    whycrash_hostile_plugins::component(&case).unwrap()
}

/// The program that compiles plugins in a process of its own.
pub const COMPILER: &str = env!("CARGO_BIN_EXE_compile-plugin");

/// Code that one test compiled serves all.
pub fn cache() -> PathBuf {
    whycrash_attack::compiled::plugins()
}

/// A folder of plugins with these files.
pub fn plugin_folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

pub fn diagnoser(folder: &Path, limits: PluginLimits) -> Diagnoser {
    let settings = Settings {
        plugin_folders: vec![folder.to_owned()],
        cache: Some(cache()),
        compiler: Some(COMPILER.into()),
        plugin_limits: limits,
        ..Settings::default()
    };
    let diagnoser = Diagnoser::new(settings).unwrap();
    diagnoser.wait_for_plugins();
    diagnoser
}

/// A log in which a `DataLoader` worker was killed: something for an honest plugin to find.
pub const LOG: &str = "step 1 loss 2.9\nstep 2 loss 2.8\nTraceback (most recent call last):\n  File \"train.py\", line 7, in <module>\n    for batch in loader:\nRuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed. \n";

/// Diagnoses that log, with `misbehave` telling the misbehaving plugin what to do.
pub fn diagnose(diagnoser: &Diagnoser, misbehave: &str) -> Document {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("train.log");
    fs::write(&log, LOG).unwrap();
    let metadata: Map<_, _> = [("misbehave".to_owned(), json!(misbehave))].into_iter().collect();
    diagnoser.diagnose(&Input {
        artifacts: vec![Artifact::new("train.log", log)],
        metadata,
    })
}
