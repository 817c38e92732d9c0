//! The corpus is well-formed.

use std::fs;
use std::path::Path;

use whycrash_catalog::{Catalog, Cause};
use whycrash_corpus::Case;

/// What is wrong with a case, in words.
fn faults(case: &Case, catalog: &Catalog) -> Vec<String> {
    let label = &case.label;
    let known = |id: &str| catalog.get(id).is_some();
    let mut faults = Vec::new();
    if !label.cause.is_empty() && !known(&label.cause) {
        faults.push(format!("no page answers for `{}`", label.cause));
    }
    faults.extend(
        label
            .expect_not
            .iter()
            .filter(|id| !known(id))
            .map(|id| format!("no page answers for `{id}`")),
    );
    if label.made.trim().is_empty() || label.versions.trim().is_empty() {
        faults.push("`made` and `versions` must say something".to_owned());
    }
    if label.artifacts.is_empty() {
        faults.push("it lists no artifact".to_owned());
    }
    let absent = label.artifacts.iter().filter(|name| !case.folder.join(name).is_file());
    faults.extend(absent.map(|name| format!("the artifact {name} is not there")));
    faults
}

#[test]
fn corpus_labels_hold() {
    let catalog = Catalog::embedded();
    let cases = whycrash_corpus::cases().expect("every folder of the corpus is a case");
    assert!(!cases.is_empty(), "the corpus is empty");
    let faults: Vec<String> = cases
        .iter()
        .flat_map(|case| {
            faults(case, &catalog)
                .into_iter()
                .map(|fault| format!("{}: {fault}", case.name))
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_cause_has_a_case_or_says_why_no_artifact_tells_it() {
    let catalog = Catalog::embedded();
    let cases = whycrash_corpus::cases().expect("every folder of the corpus is a case");
    let has_case = |cause: &Cause| cases.iter().any(|case| cause.answers_for(&case.label.cause));
    let (mut without, mut needless) = (Vec::new(), Vec::new());
    for cause in catalog.causes() {
        match (has_case(cause), cause.undetectable.is_empty()) {
            (false, true) => without.push(&cause.id),
            (true, false) => needless.push(&cause.id),
            _ => {}
        }
    }
    assert!(
        without.is_empty(),
        "no case has them, and their pages do not say why: {without:?}"
    );
    assert!(
        needless.is_empty(),
        "their pages say that no artifact tells them, and a case does: {needless:?}"
    );
}

#[test]
fn every_program_of_an_ending_writes_a_case_that_is_there() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("reproducers/endings");
    let cases = whycrash_corpus::cases().expect("every folder of the corpus is a case");
    let has_one_log = |name: &str| {
        cases
            .iter()
            .any(|case| case.name == name && case.label.artifacts.len() == 1)
    };
    let mut programs = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder of the programs") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let text = fs::read_to_string(&path).expect("text");
            let table: toml::Table = text
                .parse()
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let listed = table["program"].as_array().expect("a list").iter();
            programs.extend(listed.map(|program| program["case"].as_str().expect("a name").to_owned()));
        }
    }
    let strays: Vec<&String> = programs.iter().filter(|name| !has_one_log(name)).collect();
    assert!(
        programs.len() > 200 && strays.is_empty(),
        "{} programs; without a case: {strays:?}",
        programs.len()
    );
}
