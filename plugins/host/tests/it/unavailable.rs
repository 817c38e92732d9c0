//! What the host can not do is no result of a plugin: its row says so, and whoever stores diagnoses tries again.

use std::sync::Arc;

use serde_json::{Map, json};
use whycrash_evidence::Artifact;
use whycrash_plugin_host::{Diagnosis, Input, Outcome, PluginLimits, PluginRun, Report};
use whycrash_reading::stored::{Body, text_part};

use crate::support::{LOG, component, diagnoser, plugin_folder};

/// The diagnosis of a stored report whose log is gone when plugins ask for it, by plugins and one that does this.
fn diagnosed_without_its_text(misbehave: &str) -> Diagnosis {
    let plugins = plugin_folder(&[("misbehaving.wasm", &component("hostile/misbehaving"))]);
    let diagnoser = diagnoser(plugins.path(), PluginLimits::default());
    let (files, stored) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = files.path().join("train.log");
    std::fs::write(&log, LOG).unwrap();
    let metadata: Map<_, _> = [("misbehave".to_owned(), json!(misbehave))].into_iter().collect();
    let read = diagnoser.read(&Input {
        artifacts: vec![Artifact::new("train.log", log)],
        metadata,
    });
    let mut parts = read.store(stored.path()).unwrap();
    parts.0.insert(text_part(0), Body::File(stored.path().join("gone")));
    let loaded = Report::load(&parts).unwrap();
    diagnoser.conclude(&Arc::new(loaded))
}

fn row(diagnosis: &Diagnosis) -> &PluginRun {
    let mut rows = diagnosis.plugins.iter();
    rows.find(|run| run.name == "misbehaving").unwrap()
}

#[test]
fn evidence_that_can_not_be_read_leaves_the_plugin_without_a_result() {
    let diagnosis = diagnosed_without_its_text("read-without-end");
    let row = row(&diagnosis);
    assert_eq!(row.outcome, Outcome::Unavailable, "{row:?}");
    let reason = row.reason.as_deref().unwrap_or_default();
    assert!(
        reason.contains("the host could not run it") && reason.contains("train.log"),
        "{reason}"
    );
    assert!(diagnosis.unavailable().is_some());
}

#[test]
fn a_citation_that_can_not_be_checked_is_no_lie() {
    let diagnosis = diagnosed_without_its_text("behave");
    let row = row(&diagnosis);
    assert_eq!(row.outcome, Outcome::Unavailable, "{row:?}");
    let reason = row.reason.as_deref().unwrap_or_default();
    assert!(
        reason.contains("line 1 of") && reason.contains("can not be read"),
        "{reason}"
    );
    assert!(diagnosis.findings.is_empty());
}
