//! Archives as artifacts: what is in them is read like what lies beside them, and nothing in them can do harm.

mod build;
mod hostile;
mod whole;

use whycrash_evidence::model::EventPayload;
use whycrash_evidence::{Artifact, Limits};
use whycrash_reading::{ArtifactHead, Input, Reader, Report, ReportLimits};
use whycrash_symbols::Sources;

/// What a Python program says when it fails.
const LOG: &str = "step 1\nTraceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    \
                   main()\nValueError: no such shard\n";

/// Reads one file as a report.
fn read(name: &str, bytes: &[u8], limits: ReportLimits) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("artifact");
    std::fs::write(&path, bytes).unwrap();
    let input = Input {
        artifacts: vec![Artifact::new(name, path)],
        ..Input::default()
    };
    Reader::new(Sources::default(), Limits::default(), limits).read(&input)
}

/// The failures that the report tells of, with the artifact and line of each.
fn failures(report: &Report) -> Vec<(String, String)> {
    let events = report.evidence.timeline.iter();
    let failures = events.filter_map(|event| match &event.payload {
        EventPayload::PythonException(exception) => Some((event.artifact.clone(), exception.message.clone())),
        _ => None,
    });
    failures.collect()
}

fn names(report: &Report) -> Vec<&str> {
    let heads = report.head.artifacts.iter();
    heads.map(|head: &ArtifactHead| head.name.as_str()).collect()
}
