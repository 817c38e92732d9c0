//! Hostile plugins on the command line.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use whycrash_attack::compiled;
use whycrash_hostile_plugins::{Outcome, cases};

use crate::support::{CAUSE, LOG, binary, folder};

/// `whycrash diagnose` of the log, with nothing of this machine's settings.
fn diagnose(home: &TempDir, arguments: &[&Path]) -> Output {
    let log = home.path().join("train.log");
    std::fs::write(&log, LOG).expect("a log");
    let mut command = Command::new(binary("whycrash"));
    command.env_clear().env("HOME", home.path()).current_dir(home.path());
    command.env("XDG_CACHE_HOME", &*compiled::CACHE);
    command.args(["diagnose", "--format", "json"]).arg(&log);
    for folder in arguments {
        command.arg("--plugins").arg(folder);
    }
    command.output().expect("it runs")
}

#[test]
fn they_change_nothing_but_their_rows() {
    let home = TempDir::new().expect("a home");
    let quiet: Value = serde_json::from_slice(&diagnose(&home, &[]).stdout).expect("a document");
    let cases = cases().expect("the cases can be read");
    // Those that use up all they may would take minutes under the default limits.
    let is_quick = |reason: &str| !reason.is_empty() && !reason.contains("fuel") && !reason.contains("used up");
    let quick = cases
        .iter()
        .filter(|case| case.outcome != Outcome::Any && is_quick(&case.reason));
    let crowd = folder(quick);
    let output = diagnose(&home, &[crowd.path()]);
    let (answer, said) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{said}");
    assert!(!answer.contains('\u{1b}') && !said.contains('\u{1b}'), "{said}");
    let document: Value = serde_json::from_str(&answer).expect("a document");
    let by_built_in = |document: &Value| -> Vec<Value> {
        let findings = document["findings"].as_array().expect("findings").iter();
        findings.filter(|finding| finding["cause"] == CAUSE).cloned().collect()
    };
    assert_eq!(by_built_in(&document), by_built_in(&quiet));
    let rows = document["plugins"].as_array().expect("rows").len();
    assert!(rows > 60, "each has a row: {rows}");
}

#[test]
fn a_plugin_folder_that_is_not_there_is_an_error() {
    let home = TempDir::new().expect("a home");
    let output = diagnose(&home, &[Path::new("no/such/folder")]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("can not read the plugin folder no/such/folder"), "{said}");
    assert!(output.stdout.is_empty(), "no diagnosis is better than half of one");
}
