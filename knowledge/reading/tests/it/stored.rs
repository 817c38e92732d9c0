//! What is stored is what was read.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use whycrash_corpus::Case;
use whycrash_evidence::{Artifact, Limits};
use whycrash_reading::stored::Body;
use whycrash_reading::{Input, Reader, Report, ReportLimits};
use whycrash_symbols::Sources;

fn reader() -> Reader {
    Reader::new(Sources::default(), Limits::default(), ReportLimits::default())
}

/// The artifacts of the labelled corpus, a report for each case; of the thousands that are one log, one in eight stands
/// for the others.
fn corpus() -> Vec<(String, Input)> {
    let cases = whycrash_corpus::cases().expect("every folder is a case");
    let (logs, others): (Vec<_>, Vec<_>) = cases.into_iter().partition(Case::is_one_log);
    let named = |case: Case| (case.name, input(files(&case.folder)));
    logs.into_iter().step_by(8).chain(others).map(named).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.is_file() && file.file_name().is_some_and(|name| name != "case.toml"));
    files.sort();
    files
}

fn input(files: Vec<PathBuf>) -> Input {
    let artifact = |file: PathBuf| Artifact::new(file.file_name().unwrap().to_string_lossy().into_owned(), file);
    Input {
        artifacts: files.into_iter().map(artifact).collect(),
        ..Input::default()
    }
}

fn json(value: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap()
}

fn all_lines(report: &Report) -> Vec<(String, Vec<String>)> {
    let texts = report.texts.iter();
    texts
        .map(|text| (text.artifact().to_owned(), text.range(1, u64::MAX).unwrap()))
        .collect()
}

/// Bytes of a report below which its evidence is mostly the record of it, whatever it says.
const SMALL: u64 = 4096;

fn bytes_of(body: &Body) -> Vec<u8> {
    match body {
        Body::Memory(bytes) => bytes.clone(),
        Body::File(path) => fs::read(path).unwrap(),
    }
}

#[test]
fn every_report_of_the_corpus_is_loaded_as_it_was_read() {
    let reader = reader();
    let (mut artifacts, mut evidence) = (0, 0);
    for (case, input) in corpus() {
        let report = reader.read(&input);
        let expected = (json(&report.head), json(&report.evidence), all_lines(&report));
        let recorders = report.evidence.recorders.clone();
        let bytes: u64 = report.head.artifacts.iter().map(|artifact| artifact.bytes).sum();
        let counts = bytes >= SMALL;
        artifacts += if counts { bytes } else { 0 };
        let folder = tempfile::tempdir().unwrap();
        let parts = report.store(folder.path()).unwrap();
        let size: u64 = parts.0.values().map(|part| bytes_of(part).len() as u64).sum();
        evidence += if counts { size } else { 0 };
        let loaded = Report::load(&parts).unwrap();
        assert_eq!(json(&loaded.head), expected.0, "{case}");
        assert!(json(&loaded.evidence) == expected.1, "the evidence of {case} changed");
        let again = parts.recorders().unwrap();
        assert!(again == recorders, "the recorders of {case} changed");
        assert!(all_lines(&loaded) == expected.2, "the text of {case} changed");
    }
    println!("{evidence} bytes of evidence for {artifacts} bytes of artifacts");
    assert!(
        evidence * 4 <= artifacts,
        "{evidence} bytes of evidence for {artifacts}"
    );
}

/// Each rank's recorder in a report of its own, sent whenever: what is stored of them is judged as if they had come
/// together.
#[test]
fn what_ranks_sent_apart_is_judged_together_from_what_is_stored() {
    let case = whycrash_corpus::folder().join("dist-op-mismatch-gloo");
    let reader = reader();
    let together = reader.read(&input(files(&case))).evidence.collectives.unwrap();
    assert_eq!(together.culprits, [2]);
    let apart = files(&case).into_iter().map(|file| {
        let folder = tempfile::tempdir().unwrap();
        let report = reader.read(&input(vec![file]));
        let alone = report.evidence.collectives.as_ref();
        assert_ne!(alone, Some(&together), "one rank alone does not know");
        report.store(folder.path()).unwrap().recorders().unwrap()
    });
    let recorders: Vec<_> = apart.flatten().collect();
    assert_eq!(recorders.len(), together.ranks.len());
    assert_eq!(whycrash_evidence::judge(&recorders, &[]), Some(together));
}

#[test]
fn long_lists_are_parts_of_their_own_and_begin_in_the_head() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("train.log");
    let line = |number: u32| {
        format!(
            "[rank{number}]: RuntimeError: CUDA error: device-side assert triggered in step {number} of {}\n",
            number * 7
        )
    };
    fs::write(&log, (0..900).map(line).collect::<String>()).unwrap();
    let report = reader().read(&input(vec![log]));
    let events = report.evidence.timeline.len();
    assert!(events > 100, "{events} events");
    let stored = tempfile::tempdir().unwrap();
    let parts = report.store(stored.path()).unwrap();
    let head = parts.head().unwrap();
    let timeline = head.parts["timeline"];
    assert_eq!(
        (timeline.entries, timeline.shown),
        (events, head.evidence.timeline.len())
    );
    assert!(timeline.shown > 0 && timeline.shown < events);
    let whole: Vec<serde_json::Value> = serde_json::from_slice(&parts.bytes("timeline").unwrap()).unwrap();
    assert_eq!(whole.len(), events);
}

#[test]
fn parts_in_files_are_as_good_as_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("train.log");
    fs::write(&log, "one\ntwo\nMemoryError\n").unwrap();
    let report = reader().read(&input(vec![log]));
    let unused = folder.path().join("no folder is needed");
    let mut parts = report.store(&unused).unwrap();
    assert!(!unused.exists());
    for (name, body) in &mut parts.0 {
        let path = folder.path().join(name);
        fs::write(&path, bytes_of(body)).unwrap();
        *body = Body::File(path);
    }
    let text = &Report::load(&parts).unwrap().texts[0];
    assert_eq!(text.count(), 3);
    assert_eq!(text.range(2, 2).unwrap(), ["two"]);
}

#[test]
fn long_parts_are_files_and_so_are_short_ones_that_are_many() {
    let folder = tempfile::tempdir().unwrap();
    let noise = |seed: u64| {
        let next = |state: &mut u64| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            Some(format!("{:016x}\n", *state))
        };
        std::iter::successors(Some(seed), |state| Some(state.wrapping_add(1)))
            .scan(seed, |state, _| next(state))
            .take(4000)
            .collect::<String>()
    };
    let logs: Vec<_> = (0..40)
        .map(|number| {
            let log = folder.path().join(format!("{number}.log"));
            // The last one does not fit into memory by itself.
            let text = if number == 39 {
                noise(number).repeat(3) + &noise(77) + &noise(78)
            } else {
                noise(number)
            };
            fs::write(&log, text).unwrap();
            log
        })
        .collect();
    let report = reader().read(&input(logs));
    let lines = all_lines(&report);
    let parts = report.store(&folder.path().join("parts")).unwrap();
    let (memory, files): (Vec<_>, Vec<_>) = parts.0.values().partition(|body| matches!(body, Body::Memory(_)));
    assert!(
        !memory.is_empty() && files.len() > 5,
        "{} and {}",
        memory.len(),
        files.len()
    );
    assert!(memory.iter().map(|body| bytes_of(body).len()).sum::<usize>() <= 1 << 20);
    assert!(all_lines(&Report::load(&parts).unwrap()) == lines);
}

#[test]
fn a_part_that_is_gone_or_torn_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("train.log");
    fs::write(&log, "MemoryError\n").unwrap();
    let report = reader().read(&input(vec![log]));
    let stored = tempfile::tempdir().unwrap();
    let mut parts = report.store(stored.path()).unwrap();
    let bytes = bytes_of(&parts.0["evidence"]);
    proptest!(|(at in 0..bytes.len(), flip in 1..=255_u8, cut in 0..bytes.len())| {
        let mut damaged = bytes.clone();
        damaged[at] ^= flip;
        for content in [&damaged[..], &bytes[..cut]] {
            let mut parts = parts.clone();
            parts.0.insert("evidence".to_owned(), Body::Memory(content.to_vec()));
            // The frame's header has bits that mean nothing to who unpacks it; the content is under a checksum.
            match Report::load(&parts) {
                Ok(report) => prop_assert_eq!(report.head.artifacts.len(), 1),
                Err(error) => prop_assert!(error.to_string().contains("\"evidence\""), "{}", error),
            }
        }
    });
    parts.0.remove("evidence");
    let error = Report::load(&parts).unwrap_err();
    assert_eq!(error.to_string(), "the part \"evidence\" of the evidence is not there");
}
