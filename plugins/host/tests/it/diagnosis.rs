//! What a diagnosis says beside its findings, and what changed from one to another.

use std::sync::Arc;

use serde_json::json;
use whycrash_evidence::{Artifact, ArtifactKind};
use whycrash_plugin_host::{
    Changed, Claim, Diagnosis, Diff, Input, Outcome, PluginChange, PluginRun, Presence, Ranked,
};

use crate::support::{self, plugin_folder};

fn claim(cause: &str, confidence: f64, explanation: &str) -> Claim {
    Claim {
        cause: cause.to_owned(),
        confidence,
        explanation: explanation.to_owned(),
        ..Claim::default()
    }
}

fn run(name: &str, version: &str, outcome: Outcome) -> PluginRun {
    serde_json::from_value(json!({
        "name": name, "version": version, "outcome": outcome, "reason": null, "fuel": 1,
    }))
    .unwrap()
}

#[test]
fn a_difference_names_what_came_went_and_moved() {
    let before = Diagnosis {
        findings: vec![claim("a", 0.9, "x"), claim("b", 0.5, "x"), claim("c", 0.4, "x")],
        plugins: vec![run("p", "1.0.0", Outcome::Failed), run("q", "1.0.0", Outcome::Ok)],
        ..Diagnosis::default()
    };
    let after = Diagnosis {
        findings: vec![claim("b", 0.95, "x"), claim("d", 0.9, "x"), claim("c", 0.4, "y")],
        plugins: vec![run("p", "1.1.0", Outcome::Ok), run("q", "1.0.0", Outcome::Ok)],
        ..Diagnosis::default()
    };
    let diff = Diff::between(&before, &after);
    let ranked = |cause: &str, rank, confidence| Ranked {
        cause: cause.to_owned(),
        rank,
        confidence,
    };
    assert_eq!(diff.gained, [ranked("d", 1, 0.9)]);
    assert_eq!(diff.lost, [ranked("a", 0, 0.9)]);
    let moved = Changed {
        cause: "b".to_owned(),
        rank: [1, 0],
        confidence: [0.5, 0.95],
        reasons: false,
    };
    let explained = Changed {
        cause: "c".to_owned(),
        rank: [2, 2],
        confidence: [0.4, 0.4],
        reasons: true,
    };
    assert_eq!(diff.changed, [moved, explained]);
    let plugin = PluginChange {
        name: "p".to_owned(),
        version: [Some("1.0.0".to_owned()), Some("1.1.0".to_owned())],
        outcome: [Some(Outcome::Failed), Some(Outcome::Ok)],
    };
    assert_eq!(diff.plugins, [plugin]);
    assert!(Diff::between(&after, &after).is_empty());
}

#[test]
fn a_diagnosis_says_what_was_looked_for() {
    let plugins = plugin_folder(&[]);
    let diagnoser = support::diagnoser(plugins.path(), whycrash_plugin_host::PluginLimits::default());
    let files = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = files.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        Artifact::new(name, path)
    };
    let context = json!({
        "schema": 1, "kind": "whycrash-context", "host": "node-7",
        "unavailable": [{"what": "core dump", "why": "the hard limit on core dumps is 0"}],
    });
    let snapshot = std::fs::read(whycrash_corpus::folder().join("oom-leak-snapshot/snapshot.pickle")).unwrap();
    let input = Input {
        artifacts: vec![
            file("train.log", b"step 1\nMemoryError\n"),
            file("snapshot.pickle", &snapshot[..snapshot.len() / 2]),
        ],
        metadata: context.as_object().unwrap().clone(),
    };
    let coverage = diagnoser.conclude(&Arc::new(diagnoser.read(&input))).coverage;
    let of = |kind: ArtifactKind| coverage.iter().find(|covered| covered.kind == kind).unwrap();
    assert_eq!(of(ArtifactKind::Log).state, Presence::Found);
    assert_eq!(of(ArtifactKind::Log).artifacts, ["train.log"]);
    let snapshot = of(ArtifactKind::MemorySnapshot);
    assert_eq!((snapshot.state, snapshot.artifacts.len()), (Presence::Damaged, 1));
    assert!(!snapshot.why.is_empty());
    let core = of(ArtifactKind::ElfCore);
    assert_eq!(core.state, Presence::Absent);
    assert_eq!(core.why, ["the hard limit on core dumps is 0"]);
    assert_eq!(of(ArtifactKind::GpuCore).why, [""; 0]);
}
