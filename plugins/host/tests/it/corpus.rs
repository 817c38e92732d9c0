//! The built-in plugins on every labelled case: never a wrong cause, and every abstention known.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use whycrash_catalog::Catalog;
use whycrash_evidence::Artifact;
use whycrash_plugin_host::{Diagnoser, Diagnosis, Document, Input, Outcome, Report, Settings};
use whycrash_symbols::Sources;

use crate::support::cache;

#[derive(Deserialize)]
struct Case {
    /// The true cause; empty when none should be found.
    cause: String,
    artifacts: Vec<String>,
    #[serde(default)]
    expect_not: Vec<String>,
}

fn cases() -> Vec<PathBuf> {
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

fn diagnoser(folder: &Path) -> Diagnoser {
    let settings = Settings {
        symbols: Sources {
            folders: vec![folder.join("bin")],
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

fn diagnose(diagnoser: &Diagnoser, folder: &Path, case: &Case) -> Document {
    let artifacts = case
        .artifacts
        .iter()
        .map(|name| Artifact::new(name, folder.join(name)))
        .collect();
    diagnoser.diagnose(&Input {
        artifacts,
        ..Input::default()
    })
}

/// Whether what was said is the family of the truth: less than the truth, and not wrong.
fn is_family(catalog: &Catalog, said: &str, truth: &str) -> bool {
    let members = catalog.get(said).map(|page| page.members.as_slice());
    members.is_some_and(|members| members.iter().any(|member| member == truth))
}

#[test]
fn built_in_plugins_name_the_true_cause_or_none() {
    let catalog = Catalog::embedded();
    let (mut wrong, mut abstained, mut right) = (Vec::new(), Vec::new(), 0_usize);
    for folder in cases() {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let case: Case = toml::from_str(&fs::read_to_string(folder.join("case.toml")).unwrap()).unwrap();
        let diagnoser = diagnoser(&folder);
        let nameable: Vec<String> = diagnoser
            .plugins()
            .into_iter()
            .flat_map(|plugin| plugin.causes)
            .collect();
        let document = diagnose(&diagnoser, &folder, &case);
        for row in document.plugins.iter().filter(|row| row.outcome == Outcome::Failed) {
            wrong.push(format!(
                "{name}: {} failed: {}",
                row.name,
                row.reason.as_deref().unwrap_or_default()
            ));
        }
        let found: Vec<&str> = document.findings.iter().map(|finding| finding.cause.as_str()).collect();
        match found.first() {
            Some(top) if *top == case.cause => right += 1,
            None if case.cause.is_empty() => right += 1,
            None if nameable.contains(&case.cause) => abstained.push(format!("{name}: {}", case.cause)),
            None => {}
            Some(top) if is_family(&catalog, top, &case.cause) => {
                abstained.push(format!("{name}: {top} of {}", case.cause))
            }
            Some(top) => wrong.push(format!("{name}: {top} instead of {:?}", case.cause)),
        }
        for cause in case.expect_not.iter().filter(|cause| found.contains(&cause.as_str())) {
            wrong.push(format!("{name}: {cause} does not hold"));
        }
    }
    println!("{right} right; abstained:\n{}", abstained.join("\n"));
    assert!(wrong.is_empty(), "{right} right, but:\n{}", wrong.join("\n"));
    assert!(
        abstained.len() * 4 <= right,
        "too often nothing was said about a cause that could have been named:\n{}",
        abstained.join("\n")
    );
}

/// How long a run took is no part of what was concluded.
fn without_times(mut diagnosis: Diagnosis) -> Diagnosis {
    diagnosis.plugins.iter_mut().for_each(|run| run.millis = None);
    diagnosis
}

#[test]
fn stored_evidence_gives_the_same_diagnosis_as_the_artifacts() {
    let mut found = 0;
    for folder in cases() {
        let case: Case = toml::from_str(&fs::read_to_string(folder.join("case.toml")).unwrap()).unwrap();
        let diagnoser = diagnoser(&folder);
        let artifacts = case.artifacts.iter().map(|name| Artifact::new(name, folder.join(name)));
        let input = Input {
            artifacts: artifacts.collect(),
            ..Input::default()
        };
        let read = Arc::new(diagnoser.read(&input));
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
