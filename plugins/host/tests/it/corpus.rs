//! The built-in plugins on the evidence of every labelled case, as it is read and as it is stored. Whether they are
//! right is what the score of the corpus says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use serde_json::Value;
use whycrash_evidence::Artifact;
use whycrash_plugin_host::{Diagnoser, Diagnosis, Input, Report, Settings};
use whycrash_symbols::Sources;

use crate::support::cache;

#[derive(Deserialize)]
struct Case {
    artifacts: Vec<String>,
}

pub fn cases() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let mut cases: Vec<PathBuf> = fs::read_dir(&corpus)
        .unwrap_or_else(|error| panic!("{}: {error}", corpus.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("case.toml").is_file())
        .collect();
    cases.sort();
    assert!(!cases.is_empty(), "the corpus is empty");
    cases
}

/// Those that stand for all where only matters what kinds of things were read: each whose evidence has a member that
/// those before it have not, and some of the others. Of the thousands that are one log each, few are looked at: of these
/// the text makes the difference.
pub fn various() -> &'static [PathBuf] {
    static VARIOUS: LazyLock<Vec<PathBuf>> = LazyLock::new(choose);
    &VARIOUS
}

fn choose() -> Vec<PathBuf> {
    const LOGS: usize = 8;
    const OTHERS: usize = 5;
    let is_log = |file: &PathBuf| {
        let ending = file.extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| ["log", "txt", "out", "err"].contains(&ending))
    };
    let is_one_log = |folder: &PathBuf| {
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let artifacts: Vec<PathBuf> = files.filter(|file| !file.ends_with("case.toml")).collect();
        matches!(artifacts.as_slice(), [file] if is_log(file))
    };
    let (logs, others): (Vec<_>, Vec<_>) = cases().into_iter().partition(is_one_log);
    let mut chosen: Vec<PathBuf> = logs.into_iter().step_by(LOGS).chain(others).collect();
    chosen.sort();
    let (diagnoser, mut seen, mut number) = (diagnoser(&chosen), BTreeSet::new(), 0);
    chosen.retain(|folder| {
        let had = seen.len();
        let read = diagnoser.read(&input(folder));
        members("", &serde_json::to_value(&read.evidence).unwrap(), &mut seen);
        number += 1;
        seen.len() > had || number % OTHERS == 0
    });
    chosen
}

/// The artifacts that a case names.
pub fn input(folder: &Path) -> Input {
    let case: Case = toml::from_str(&fs::read_to_string(folder.join("case.toml")).unwrap()).unwrap();
    let artifacts = case.artifacts.iter().map(|name| Artifact::new(name, folder.join(name)));
    Input {
        artifacts: artifacts.collect(),
        ..Input::default()
    }
}

fn diagnoser(cases: &[PathBuf]) -> Diagnoser {
    let binaries = cases.iter().map(|folder| folder.join("bin"));
    let settings = Settings {
        symbols: Sources {
            folders: binaries.filter(|folder| folder.is_dir()).collect(),
            local_files: false,
            ..Sources::default()
        },
        cache: Some(cache()),
        ..Settings::default()
    };
    let diagnoser = Diagnoser::new(settings).unwrap();
    assert!(
        !diagnoser.plugins().is_empty(),
        "no built-in plugins; run plugins/build.sh and build again"
    );
    diagnoser
}

/// Adds the paths of all members of a value; entries of a list have the same.
fn members(path: &str, value: &Value, seen: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                members(&format!("{path}.{name}"), value, seen);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| members(path, item, seen)),
        _ => {
            seen.insert(path.to_owned());
        }
    }
}

/// How long a run took is no part of what was concluded.
fn without_times(mut diagnosis: Diagnosis) -> Diagnosis {
    diagnosis.plugins.iter_mut().for_each(|run| run.millis = None);
    diagnosis
}

#[test]
fn stored_evidence_gives_the_same_diagnosis_as_the_artifacts() {
    let mut found = 0;
    let cases = various();
    let diagnoser = diagnoser(cases);
    for folder in cases {
        let read = Arc::new(diagnoser.read(&input(folder)));
        let expected = without_times(diagnoser.conclude(&read));
        let stored = tempfile::tempdir().unwrap();
        let parts = Arc::into_inner(read).unwrap().store(stored.path()).unwrap();
        let loaded = Report::load(&parts).unwrap();
        let again = without_times(diagnoser.conclude(&Arc::new(loaded)));
        assert_eq!(again, expected, "{}", folder.display());
        found += expected.findings.len();
    }
    assert!(found > 100, "{found} findings");
}

#[test]
fn the_same_evidence_gives_the_same_bytes_in_a_thousand_runs() {
    const THREADS: usize = 4;
    const RUNS: usize = 1000;
    let cases = cases();
    let diagnoser = diagnoser(&cases);
    let reports: Vec<Arc<Report>> = cases
        .iter()
        .step_by(cases.len() / 20)
        .map(|folder| Arc::new(diagnoser.read(&input(folder))))
        .collect();
    let bytes = |report| serde_json::to_vec(&without_times(diagnoser.conclude(report))).unwrap();
    let first: Vec<Vec<u8>> = reports.iter().map(bytes).collect();
    // Several at once, so that each meets instances and caches that others left behind.
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (reports, first, bytes) = (&reports, &first, &bytes);
            scope.spawn(move || {
                for run in 0..RUNS / THREADS {
                    let number = (run + thread) % reports.len();
                    assert!(
                        bytes(&reports[number]) == first[number],
                        "run {run} of {thread}: report {number}"
                    );
                }
            });
        }
    });
}
