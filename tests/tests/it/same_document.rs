//! A report means the same wherever it is read: here, or on the server after it was uploaded.

use std::collections::HashSet;

use serde_json::Value;
use whycrash_corpus::Case;
use whycrash_evidence::{Artifact, Limits, read};
use whycrash_tests::contract::Contract;

use crate::house::House;

/// The document without what may differ: the report's identity on the server, and how long plugins took.
fn comparable(mut document: Value) -> Value {
    let whole = document.as_object_mut().expect("a document is an object");
    whole.retain(|key, _| {
        [
            "schema", "report", "findings", "plugins", "next", "echoes", "coverage", "evidence",
        ]
        .contains(&key.as_str())
    });
    let report = whole["report"].as_object_mut().expect("it describes the report");
    report.retain(|key, _| ["title", "signature", "exit", "artifacts"].contains(&key.as_str()));
    for run in whole["plugins"].as_array_mut().expect("plugins are listed") {
        run.as_object_mut().expect("a row").remove("millis");
    }
    document
}

/// One case of each set of kinds of artifacts, and of each kind of event: the two ways differ by what is sent and by the
/// shape of what comes of it, not by what it tells.
fn one_of_each(mut cases: Vec<Case>) -> Vec<Case> {
    let (mut sent, mut told) = (HashSet::new(), HashSet::new());
    cases.retain(|case| {
        let artifacts = case.artifacts().map(|(name, path)| Artifact::new(name, path));
        let readings: Vec<_> = artifacts.map(|it| read(&it, &Limits::default())).collect();
        let mut kinds: Vec<_> = readings.iter().map(|reading| format!("{:?}", reading.kind)).collect();
        kinds.sort_unstable();
        let events = readings.iter().flat_map(|reading| &reading.evidence.timeline);
        let is_new_event = events.filter(|event| told.insert(event.payload.kind())).count() > 0;
        sent.insert(kinds) || is_new_event
    });
    cases
}

/// What the command line prints for a case's artifacts, with a subcommand before them.
fn printed(house: &House, case: &Case, arguments: &[&str]) -> Value {
    let mut command = house.whycrash(arguments);
    command.args(case.label.artifacts.iter().map(|name| case.folder.join(name)));
    command.env("WHYCRASH_SYMBOLS", case.binaries().unwrap_or_default());
    // Without the names of people it would be another text.
    command.env("WHYCRASH_SCRUB", "false");
    let output = command.output().expect("the program runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {arguments:?}: {errors}", case.name);
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

#[test]
fn the_server_says_what_the_command_line_says() {
    let cases = one_of_each(whycrash_corpus::cases().expect("the corpus can be read"));
    let binaries: Vec<_> = cases.iter().filter_map(Case::binaries).collect();
    let house = House::open(&format!("symbols = {binaries:?}"));
    let contract = Contract::of(&house.get("/api/v1/openapi.json")).expect("the API is described");
    for case in &cases {
        let here = printed(&house, case, &["diagnose", "--format", "json"]);
        let sent = printed(&house, case, &["upload", "--format", "json"]);
        let there = house.document(sent["id"].as_str().expect("an id"));
        assert_eq!(there["state"], "done", "{}", case.name);
        let faults = contract.faults("ReportDocument", &there);
        assert!(faults.is_empty(), "{}: not as described: {faults:#?}", case.name);
        assert!(
            comparable(here.clone()) == comparable(there.clone()),
            "{}: {here:#}\n{there:#}",
            case.name
        );
        // Some cases are of one incident, and would be judged together.
        let mut delete = house.whycrash(&["delete", "--yes", sent["id"].as_str().expect("an id")]);
        assert!(
            delete.output().expect("the program runs").status.success(),
            "{}",
            case.name
        );
    }
}
