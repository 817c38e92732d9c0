//! What a finding says besides its cause: how sure it is, what it shows first, and what would tell more.

use std::path::Path;

use whycrash_evidence::Artifact;
use whycrash_plugin_host::{Diagnoser, Document, Input, Settings};

use crate::support::cache;

fn of_case(name: &str, artifacts: &[&str]) -> Document {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/corpus")
        .join(name);
    let settings = Settings {
        cache: Some(cache()),
        ..Settings::default()
    };
    let artifact = |name: &&str| Artifact::new(*name, folder.join(name));
    Diagnoser::new(settings).unwrap().diagnose(&Input {
        artifacts: artifacts.iter().map(artifact).collect(),
        ..Input::default()
    })
}

#[test]
fn a_log_alone_is_not_sure_of_fragmentation_and_asks_for_the_snapshot() {
    let log = of_case("oom-fragmentation-log", &["train.log"]);
    let finding = &log.findings[0];
    assert_eq!(finding.cause, "oom-fragmentation");
    assert!(finding.confidence <= 0.8, "{}", finding.confidence);
    let wanted = log.next.iter().find(|next| next.artifact == "memory snapshot").unwrap();
    assert!(
        wanted
            .decides_between
            .iter()
            .any(|cause| cause == "oom-side-stream-retention")
    );
    let snapshot = of_case("oom-fragmentation-snapshot", &["snapshot.pickle"]);
    assert!(snapshot.findings[0].confidence > 0.9);
}

#[test]
fn growth_that_nobody_explains_is_asked_about() {
    let kept = of_case("oom-kept-features-snapshot", &["snapshot.pickle"]);
    assert!(kept.findings.is_empty(), "{:?}", kept.findings);
    let asked: Vec<&str> = kept
        .next
        .iter()
        .flat_map(|next| &next.decides_between)
        .map(String::as_str)
        .collect();
    assert!(
        asked.contains(&"leak-tensor-container") && asked.contains(&"leak-loss-history"),
        "{asked:?}"
    );
    assert!(
        kept.next.iter().any(|next| next.how.contains("extract_features")),
        "{:?}",
        kept.next
    );
}

#[test]
fn the_programs_own_frame_is_cited_first_and_explained() {
    let ctypes = of_case("seg-user-ctypes-null", &["stderr.txt"]);
    let finding = &ctypes.findings[0];
    let own = "decode_label";
    assert_eq!(finding.citations[0].quote, own, "{:?}", finding.citations);
    assert!(finding.explanation.contains(own), "{}", finding.explanation);
    assert!(ctypes.report.title.contains(own), "{}", ctypes.report.title);
    let freed = of_case("abrt-heap-ctypes-double-free", &["stderr.txt"]);
    assert_eq!(
        freed.findings[0].citations[0].quote, "release",
        "{:?}",
        freed.findings[0].citations
    );
}

#[test]
fn a_log_alone_is_not_sure_which_arithmetic_failed() {
    let log = of_case("fpe-extension", &["stderr.txt"]);
    assert!(log.findings[0].confidence <= 0.8, "{:?}", log.findings);
    assert!(
        log.next
            .iter()
            .any(|next| next.decides_between.iter().any(|cause| cause == "fpe-float-trap"))
    );
}
