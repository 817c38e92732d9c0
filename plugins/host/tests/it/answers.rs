//! What a finding says besides its cause: how sure it is, what it shows first, and what would tell more.

use whycrash_evidence::Artifact;
use whycrash_plugin_host::{Diagnoser, Document, Input, Settings};

use crate::support::cache;

fn of_case(name: &str, artifacts: &[&str]) -> Document {
    let folder = whycrash_corpus::folder().join(name);
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
fn growth_is_told_by_what_grows_together_and_what_would_decide_is_asked_for() {
    for (case, cause, line) in [
        (
            "oom-kept-features-snapshot",
            "leak-tensor-container",
            "extract_features (/job/train.py:77)",
        ),
        (
            "leak-kept-graphs-snapshot",
            "leak-loss-history",
            "forward (/job/train.py:45)",
        ),
        (
            "leak-kept-gradients-snapshot",
            "leak-create-graph-cycle",
            "penalty (/job/train.py:66)",
        ),
        (
            "leak-kept-tables-snapshot",
            "leak-module-buffer",
            "__init__ (/job/train.py:12)",
        ),
    ] {
        let grown = of_case(case, &["snapshot.pickle"]);
        let finding = &grown.findings[0];
        assert_eq!(finding.cause, cause, "{case}");
        assert!(finding.explanation.contains(line), "{}", finding.explanation);
        assert!(finding.confidence < 0.81, "{case}: {}", finding.confidence);
        let asked = grown.next.iter().any(|next| next.how.contains("gc.get_referrers"));
        assert!(asked, "{case}: {:?}", grown.next);
    }
}

#[test]
fn the_address_of_an_illegal_access_is_looked_up_in_the_snapshot() {
    let freed = of_case("ima-given-back", &["dmesg.log", "snapshot.pickle"]);
    let finding = &freed.findings[0];
    assert_eq!(finding.cause, "ima-stream-use-after-free");
    for told in [
        "prefetch (/job/train.py:58)",
        "drop (/job/train.py:59)",
        "given back to the driver",
        "stream 0x0",
    ] {
        assert!(finding.explanation.contains(told), "{told}: {}", finding.explanation);
    }
    let wide = of_case("ima-wide-tensor", &["dmesg.log", "snapshot.pickle", "train.log"]);
    assert_eq!(wide.findings[0].cause, "ima-int32-overflow");
    assert!(
        wide.findings[0].explanation.contains("all_scores"),
        "{}",
        wide.findings[0].explanation
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
