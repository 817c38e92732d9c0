//! The document: its id, its rows, what is read and what is skipped.

use serde_json::{Map, json};
use whycrash_evidence::{Artifact, ArtifactKind, Evidence};
use whycrash_plugin_host::{ArtifactHead, Finding, Input, Outcome, PluginLimits, ReportHead, title};

use crate::support::{LOG, component, diagnose, diagnoser, plugin_folder};

fn input(names: [&str; 2], texts: [&str; 2], metadata: &serde_json::Value) -> (tempfile::TempDir, Input) {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = names
        .iter()
        .zip(texts)
        .map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            Artifact::new(*name, path)
        })
        .collect();
    let metadata: Map<_, _> = metadata.as_object().unwrap().clone();
    (folder, Input { artifacts, metadata })
}

#[test]
fn the_id_depends_on_what_the_report_is_and_on_nothing_else() {
    let folder = plugin_folder(&[]);
    let diagnoser = diagnoser(folder.path(), PluginLimits::default());
    let id = |names, texts, metadata: serde_json::Value| {
        let (_kept, input) = input(names, texts, &metadata);
        diagnoser.read(&input).head.id
    };
    let reference = id(
        ["a.log", "b.log"],
        ["one\n", "two\n"],
        json!({"rank": 0, "host": "node-1"}),
    );
    assert_eq!(reference.len(), 32);
    assert_eq!(
        reference,
        id(
            ["b.log", "a.log"],
            ["two\n", "one\n"],
            json!({"host": "node-1", "rank": 0})
        ),
        "order does not matter"
    );
    assert_ne!(
        reference,
        id(
            ["a.log", "b.log"],
            ["one\n", "2\n"],
            json!({"rank": 0, "host": "node-1"})
        ),
        "content does"
    );
    assert_ne!(
        reference,
        id(
            ["a.log", "c.log"],
            ["one\n", "two\n"],
            json!({"rank": 0, "host": "node-1"})
        ),
        "names do"
    );
    assert_ne!(
        reference,
        id(
            ["a.log", "b.log"],
            ["one\n", "two\n"],
            json!({"rank": 1, "host": "node-1"})
        ),
        "metadata does"
    );
}

#[test]
fn a_plugin_whose_evidence_is_absent_is_skipped_and_says_so() {
    let folder = plugin_folder(&[]);
    let diagnoser = diagnoser(folder.path(), PluginLimits::default());
    let (_kept, input) = input(["a.log", "b.log"], ["all is well\n", "so it is\n"], &json!({}));
    let document = diagnoser.diagnose(&input);
    let row = document.plugins.iter().find(|row| row.name == "cuda-oom").unwrap();
    assert_eq!(row.outcome, Outcome::Skipped);
    assert!(
        row.reason
            .as_deref()
            .unwrap()
            .starts_with("the report has none of: memory-snapshots"),
        "{row:?}"
    );
    assert!(document.findings.is_empty());
}

#[test]
fn a_finding_carries_what_is_documented_about_its_cause() {
    let folder = plugin_folder(&[]);
    let document = diagnose(&diagnoser(folder.path(), PluginLimits::default()), "");
    let finding = &document.findings[0];
    assert!(
        !finding.title.is_empty() && !finding.fixes.is_empty() && !finding.references.is_empty(),
        "{finding:?}"
    );
    let [first, last] = match &finding.citations[0].at {
        whycrash_evidence::model::Place::Line(range) => *range,
        other => panic!("{other:?}"),
    };
    let cited = LOG.lines().nth(first as usize - 1).unwrap();
    assert_eq!(first, last);
    assert!(cited.contains(&finding.citations[0].quote), "{cited}");
    assert!(
        document
            .plugins
            .iter()
            .all(|row| row.reason.is_none() || row.outcome != Outcome::Ok)
    );
}

#[test]
fn a_plugin_that_appears_runs_after_a_reload() {
    let folder = plugin_folder(&[]);
    let diagnoser = diagnoser(folder.path(), PluginLimits::default());
    let has = |name: &str| diagnoser.plugins().iter().any(|plugin| plugin.name == name);
    assert!(!has("misbehaving"));
    std::fs::write(folder.path().join("new.wasm"), component("hostile/misbehaving")).unwrap();
    assert!(!has("misbehaving"), "not before it is asked for");
    diagnoser.reload();
    assert!(has("misbehaving"));
}

#[test]
fn a_report_is_known_by_what_was_found_where_nothing_says_that_it_failed() {
    let head = |title: &str| ReportHead {
        title: title.to_owned(),
        ..ReportHead::default()
    };
    let findings = |confidence| {
        let finding = |title: &str, confidence| Finding {
            title: title.to_owned(),
            confidence,
            ..Finding::default()
        };
        [finding("The GPU fell off the bus", confidence), finding("Another", 0.2)]
    };
    let known_by = |head: &ReportHead, findings: &[Finding]| title(head, &Evidence::default(), findings);
    let silent = ReportHead {
        artifacts: vec![ArtifactHead {
            name: "kernel.log".to_owned(),
            kind: ArtifactKind::Log,
            bytes: 7,
            sha256: String::new(),
            problems: Vec::new(),
            archive: None,
            sections: Vec::new(),
        }],
        ..head("no failure found")
    };
    assert_eq!(known_by(&silent, &findings(0.91)), "The GPU fell off the bus");
    let guessed = known_by(&silent, &findings(0.3));
    assert_eq!(
        guessed, "could not be judged: kernel.log tells of no run",
        "a guess is no title"
    );
    assert_eq!(known_by(&silent, &[]), guessed);
    assert_eq!(known_by(&head("SIGSEGV in f"), &findings(0.91)), "SIGSEGV in f");
}
