//! The built-in plugins on the evidence of every labelled case, as it is read and as it is stored. Whether they are
//! right is what the score of the corpus says.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use serde_json::Value;
use whycrash_corpus::{Case, cases};
use whycrash_evidence::Artifact;
use whycrash_plugin_host::{Diagnoser, Diagnosis, Input, Report, Settings};
use whycrash_symbols::Sources;

use crate::support::cache;

/// Those that stand for all where only matters what kinds of things were read: each whose evidence has a member that
/// those before it have not, and some of the others. Of the thousands that are one log each, few are looked at: of these
/// the text makes the difference.
pub fn various() -> &'static [Case] {
    static VARIOUS: LazyLock<Vec<Case>> = LazyLock::new(choose);
    &VARIOUS
}

fn choose() -> Vec<Case> {
    const LOGS: usize = 8;
    const OTHERS: usize = 5;
    let (logs, others): (Vec<_>, Vec<_>) = all().into_iter().partition(Case::is_one_log);
    let mut chosen: Vec<Case> = logs.into_iter().step_by(LOGS).chain(others).collect();
    chosen.sort_by(|a, b| a.name.cmp(&b.name));
    let (diagnoser, mut seen, mut number) = (diagnoser(&chosen), BTreeSet::new(), 0);
    chosen.retain(|case| {
        let had = seen.len();
        let read = diagnoser.read(&input(case));
        members("", &serde_json::to_value(&read.evidence).unwrap(), &mut seen);
        number += 1;
        seen.len() > had || number % OTHERS == 0
    });
    chosen
}

fn all() -> Vec<Case> {
    cases().expect("every folder is a case")
}

/// The artifacts that a case names.
pub fn input(case: &Case) -> Input {
    Input {
        artifacts: case.artifacts().map(|(name, path)| Artifact::new(name, path)).collect(),
        ..Input::default()
    }
}

fn diagnoser(cases: &[Case]) -> Diagnoser {
    let settings = Settings {
        symbols: Sources {
            folders: cases.iter().filter_map(Case::binaries).collect(),
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
    for case in cases {
        let read = Arc::new(diagnoser.read(&input(case)));
        let expected = without_times(diagnoser.conclude(&read));
        let stored = tempfile::tempdir().unwrap();
        let parts = Arc::into_inner(read).unwrap().store(stored.path()).unwrap();
        let loaded = Report::load(&parts).unwrap();
        let again = without_times(diagnoser.conclude(&Arc::new(loaded)));
        assert_eq!(again, expected, "{}", case.name);
        found += expected.findings.len();
    }
    assert!(found > 100, "{found} findings");
}

#[test]
fn the_same_evidence_gives_the_same_bytes_in_a_thousand_runs() {
    const THREADS: usize = 4;
    const RUNS: usize = 1000;
    let cases = all();
    let diagnoser = diagnoser(&cases);
    let reports: Vec<Arc<Report>> = cases
        .iter()
        .step_by(cases.len() / 20)
        .map(|case| Arc::new(diagnoser.read(&input(case))))
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
