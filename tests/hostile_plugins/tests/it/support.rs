//! What the tests share.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use whycrash_attack::compiled;
pub use whycrash_attack::server::binary;
use whycrash_evidence::Artifact;
use whycrash_hostile_plugins::Case;
use whycrash_plugin_host::{Diagnoser, Document, Input, PluginLimits, PluginRun, Settings};

/// A log in which a `DataLoader` worker was killed: something for honest plugins to find.
pub const LOG: &str = "step 1 loss 2.9\nstep 2 loss 2.8\nTraceback (most recent call last):\n  File \"train.py\", line 7, in <module>\n    for batch in loader:\nRuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed. \n";
/// What is found in it.
pub const CAUSE: &str = "dl-worker-oom-killed";

/// A folder with the plugins of these cases.
pub fn folder<'a>(cases: impl IntoIterator<Item = &'a Case>) -> TempDir {
    let folder = TempDir::new().expect("a temporary folder");
    for case in cases {
        case.install(folder.path())
            .unwrap_or_else(|error| panic!("{}: {error:#}", case.name));
    }
    folder
}

/// Limits under which what does not end ends soon.
pub fn limits() -> PluginLimits {
    PluginLimits {
        fuel: 60_000_000,
        millis: 1_000,
        ..PluginLimits::default()
    }
}

/// A diagnoser with these plugins, all of them loaded.
pub fn diagnoser(plugins: &Path, limits: PluginLimits) -> Diagnoser {
    let settings = Settings {
        plugin_folders: vec![plugins.to_owned()],
        cache: Some(compiled::plugins()),
        compiler: Some(binary("compile-plugin")),
        plugin_limits: limits,
        ..Settings::default()
    };
    let diagnoser = Diagnoser::new(settings).expect("a diagnoser");
    diagnoser.wait_for_plugins();
    diagnoser
}

/// The document of a log.
pub fn diagnose(diagnoser: &Diagnoser, log: &str) -> Document {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("train.log");
    fs::write(&path, log).expect("a log");
    diagnoser.diagnose(&Input {
        artifacts: vec![Artifact::new("train.log", path)],
        ..Input::default()
    })
}

/// Rows and findings of the built-in plugins, as they must be whatever others do: all but the time they took.
pub fn built_in(document: &Document, names: &[String]) -> String {
    let rows = document
        .plugins
        .iter()
        .filter(|row| names.contains(&row.name))
        .map(|row| {
            let millis = None;
            serde_json::to_string(&PluginRun { millis, ..row.clone() }).expect("it has a JSON form")
        });
    let findings = document
        .findings
        .iter()
        .filter(|finding| names.contains(&finding.plugin.name));
    let findings = findings.map(|finding| serde_json::to_string(finding).expect("it has a JSON form"));
    rows.chain(findings).collect::<Vec<_>>().join("\n")
}

/// Names of the built-in plugins.
pub fn built_in_names(diagnoser: &Diagnoser) -> Vec<String> {
    let plugins = diagnoser.plugins().into_iter();
    plugins
        .filter(|plugin| plugin.source == "built-in")
        .map(|plugin| plugin.name)
        .collect()
}
