//! What all artifacts of a report may cost together: each bound is kept, and said where it cut.

use std::io::Write as _;
use std::time::Duration;

use serde_json::json;
use whycrash_evidence::{Artifact, Evidence, Limits};
use whycrash_reading::{Input, Reader, ReportHead, ReportLimits};
use whycrash_symbols::Sources;

/// Reads artifacts under limits of the report.
fn read(artifacts: &[(&str, Vec<u8>)], limits: ReportLimits) -> (ReportHead, Evidence) {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = artifacts.iter().map(|(name, bytes)| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        Artifact::new(*name, path)
    });
    let input = Input {
        artifacts: artifacts.collect(),
        ..Input::default()
    };
    let report = Reader::new(Sources::default(), Limits::default(), limits).read(&input);
    (report.head, report.evidence)
}

/// Codes of the problems of each artifact.
fn codes(head: &ReportHead) -> Vec<Vec<&str>> {
    head.artifacts
        .iter()
        .map(|artifact| artifact.problems.iter().map(|problem| problem.code.as_str()).collect())
        .collect()
}

fn log(lines: usize) -> Vec<u8> {
    let mut text: String = (0..lines).map(|n| format!("step {n} | loss 2.3\n")).collect();
    text += "RuntimeError: CUDA error: an illegal memory access was encountered\n";
    text.into_bytes()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A flight recorder: one entry that nobody completed, in a group of so many ranks.
fn recorder(ranks: u32, words: &str) -> Vec<u8> {
    let listed: Vec<String> = (0..ranks).map(|rank| rank.to_string()).collect();
    let entry = json!({
        "record_id": 0, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 7, "state": "scheduled",
        "profiling_name": "nccl:all_reduce", "input_sizes": [[8]], "output_sizes": [[8]], "time_created_ns": 1,
        "frames": [{"name": words, "filename": "train.py", "line": 7}],
    });
    let dump = json!({
        "version": "2.10", "entries": [entry],
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": format!("[{}]", listed.join(", "))}},
    });
    dump.to_string().into_bytes()
}

#[test]
fn texts_together_are_bounded() {
    let limits = ReportLimits {
        text_bytes: 3000,
        ..ReportLimits::default()
    };
    let (head, _) = read(&[("a.log", log(50)), ("b.log", log(500))], limits);
    assert_eq!(codes(&head), [&[][..], &["limit-report-text-bytes"]]);
}

#[test]
fn unpacked_texts_together_are_bounded() {
    let limits = ReportLimits {
        spilled_bytes: 3000,
        ..ReportLimits::default()
    };
    let (head, _) = read(&[("a.log.gz", gzip(&log(50))), ("b.log.gz", gzip(&log(500)))], limits);
    assert_eq!(codes(&head), [&[][..], &["limit-report-spilled-bytes"]]);
}

#[test]
fn events_and_frames_together_are_bounded() {
    let word = |n: usize| -> String {
        format!("{n}")
            .bytes()
            .map(|digit| char::from(b'g' + digit % 16))
            .collect()
    };
    let failures = |from: usize| -> Vec<u8> {
        let traceback = |n| {
            let name = word(n);
            format!(
                "Traceback (most recent call last):\n  File \"/job/{name}.py\", line 7, in {name}\n    f()\nValueError: {name}\n"
            )
        };
        (from..from + 300).map(traceback).collect::<String>().into_bytes()
    };
    let artifacts = [("a.log", failures(1000)), ("b.log", failures(2000))];
    let size = |evidence: &Evidence| {
        let [events, stacks] = [
            serde_json::to_vec(&evidence.timeline).unwrap().len(),
            serde_json::to_vec(&evidence.threads).unwrap().len(),
        ];
        events + stacks
    };
    let (_, whole) = read(&artifacts, ReportLimits::default());
    let half = size(&whole) / 2;
    let while_reading = ReportLimits {
        evidence_bytes: half + half / 8,
        ..ReportLimits::default()
    };
    let (head, _) = read(&artifacts, while_reading);
    assert_eq!(codes(&head), [&[][..], &["limit-report-evidence-bytes"]]);
    let in_the_document = ReportLimits {
        document_bytes: half,
        ..ReportLimits::default()
    };
    let (head, evidence) = read(&artifacts, in_the_document);
    assert_eq!(codes(&head), [["limit-report-evidence-bytes"]; 2]);
    assert!(size(&evidence) <= half, "{} of {half}", size(&evidence));
}

#[test]
fn entries_of_recorders_together_are_bounded() {
    let limits = ReportLimits {
        recorder_entries: 1,
        ..ReportLimits::default()
    };
    let dumps = [
        ("nccl_trace_rank_0", recorder(2, "f")),
        ("nccl_trace_rank_1", recorder(2, "f")),
    ];
    let (head, _) = read(&dumps, limits);
    assert_eq!(codes(&head), [&[][..], &["limit-report-events"]]);
}

#[test]
fn ranks_and_texts_of_recorders_together_are_bounded() {
    let dumps = [
        ("nccl_trace_rank_0", recorder(100, "f")),
        ("nccl_trace_rank_1", recorder(100, &"long".repeat(200))),
    ];
    let ranks = ReportLimits {
        recorder_ranks: 150,
        ..ReportLimits::default()
    };
    let (head, _) = read(&dumps, ranks);
    assert_eq!(codes(&head), [&[][..], &["limit-report-recorder"]]);
    let texts = ReportLimits {
        recorder_text_bytes: 500,
        ..ReportLimits::default()
    };
    let (head, _) = read(&dumps, texts);
    assert_eq!(codes(&head), [&[][..], &["limit-report-recorder"]]);
}

#[test]
fn ranks_that_verdicts_name_are_bounded() {
    let dumps = [("nccl_trace_rank_0", recorder(1000, "f"))];
    let (_, whole) = read(&dumps, ReportLimits::default());
    assert!(named(&whole) >= 999, "others are missing: {}", named(&whole));
    let limits = ReportLimits {
        verdict_ranks: 100,
        ..ReportLimits::default()
    };
    let (head, evidence) = read(&dumps, limits);
    assert_eq!(codes(&head), [["limit-report-ranks"]]);
    assert_eq!(named(&evidence), 100);
}

/// How many ranks the evidence names beside those that left a recorder.
fn named(evidence: &Evidence) -> usize {
    let collectives = evidence.collectives.as_ref().unwrap();
    let of_verdicts = collectives
        .verdicts
        .iter()
        .map(|verdict| verdict.ranks.len() + verdict.entered.len());
    of_verdicts.sum::<usize>()
        + collectives.ranks_without_recorder.len()
        + collectives.culprits.len()
        + collectives.circle.len()
}

#[test]
fn no_artifact_is_begun_after_the_time_that_a_report_has() {
    let limits = ReportLimits {
        time: Duration::ZERO,
        ..ReportLimits::default()
    };
    let (head, evidence) = read(&[("a.log", log(5)), ("b.log", log(5))], limits);
    assert_eq!(codes(&head), [["limit-report-time"]; 2]);
    assert!(evidence.timeline.is_empty());
    assert!(
        head.artifacts.iter().all(|artifact| artifact.sha256.len() == 64),
        "what came is named"
    );
}

#[test]
fn work_on_stacks_together_is_bounded() {
    let core = std::fs::read(whycrash_corpus::folder().join("abrt-assert-batch/core.zst")).unwrap();
    let limits = ReportLimits {
        symbol_work: Limits::default().symbol_work,
        ..ReportLimits::default()
    };
    let (head, _) = read(&[("a.core.zst", core.clone()), ("b.core.zst", core)], limits);
    let [first, second] = &codes(&head)[..] else {
        panic!("two artifacts")
    };
    assert!(!first.contains(&"limit-report-symbol-work"), "{first:?}");
    assert!(second.contains(&"limit-report-symbol-work"), "{second:?}");
}
