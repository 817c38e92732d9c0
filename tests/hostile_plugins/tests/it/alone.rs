//! Each hostile plugin alone.

use std::fs;

use whycrash_hostile_plugins::{Case, Outcome, cases};
use whycrash_plugin_host::{Diagnoser, Document, PluginInfo, PluginRun};

use crate::support::{CAUSE, LOG, diagnose, diagnoser, folder, limits};

/// Cases that are tried at one time.
const THREADS: usize = 4;

/// How a plugin is stopped that goes on for ever: by what it spends, or, on a slow or busy machine, by its time.
const FUEL: &str = "units of fuel";
const TIME: &str = "it ran for more than";

/// The plugin of a folder with one, and its row.
fn only<'a>(plugins: &'a [PluginInfo], document: &'a Document) -> (&'a PluginInfo, &'a PluginRun) {
    let (at, plugin) = plugins
        .iter()
        .enumerate()
        .find(|(_, plugin)| plugin.source != "built-in")
        .expect("the plugin is listed");
    (plugin, &document.plugins[at])
}

/// What is wrong with how a case ended.
fn flaw(case: &Case, diagnoser: &Diagnoser) -> Option<String> {
    use whycrash_plugin_host::Outcome as Row;
    let (plugins, document) = (diagnoser.plugins(), diagnose(diagnoser, LOG));
    let (plugin, row) = only(&plugins, &document);
    let (is_usable, reason) = (plugin.problem.is_none(), row.reason.clone().unwrap_or_default());
    let as_expected = match case.outcome {
        Outcome::Refused => !is_usable && row.outcome == Row::Failed,
        Outcome::Failed => is_usable && row.outcome == Row::Failed,
        Outcome::Ok => is_usable && row.outcome == Row::Ok,
        Outcome::Any => row.outcome != Row::Unavailable,
    };
    let found: Vec<_> = document
        .findings
        .iter()
        .filter(|finding| finding.plugin.name == plugin.name)
        .collect();
    let shown = serde_json::to_string(&document).expect("it has a JSON form");
    let is_clean = !shown.contains(r"\u001b") && !shown.contains(r"\u0000") && !shown.contains('\u{202e}');
    if !as_expected {
        Some(format!("{:?} instead of {:?}: {reason}", row.outcome, case.outcome))
    } else if !(reason.contains(&case.reason) || case.reason == FUEL && reason.contains(TIME)) {
        Some(format!("its reason lacks {:?}: {reason}", case.reason))
    } else if !is_usable && row.name != case.name {
        Some(format!("its row is called {}", row.name))
    } else if row.outcome == Row::Failed && (reason.is_empty() || !found.is_empty()) {
        Some(format!("it has no reason, or findings: {reason}"))
    } else if !document.findings.iter().any(|finding| finding.cause == CAUSE) {
        Some("what others found is lost".to_owned())
    } else if !is_clean {
        Some("text of it is in the document as it is".to_owned())
    } else {
        None
    }
}

#[test]
fn none_has_an_effect_beyond_its_own_row() {
    let cases = cases().expect("the cases can be read");
    assert!(cases.len() >= 60, "{} cases", cases.len());
    let flaws: Vec<String> = std::thread::scope(|scope| {
        let shares = cases.chunks(cases.len().div_ceil(THREADS));
        let threads: Vec<_> = shares.map(|share| scope.spawn(|| flaws(share))).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("it ends"))
            .collect()
    });
    assert!(flaws.is_empty(), "\n{}", flaws.join("\n"));
}

/// What is wrong with how each of these ended, one after the other in one host: none leaves anything to the next.
fn flaws(cases: &[Case]) -> Vec<String> {
    let folder = folder([]);
    let diagnoser = diagnoser(folder.path(), limits());
    let flaw_of = |case: &Case| {
        case.install(folder.path())
            .unwrap_or_else(|error| panic!("{}: {error:#}", case.name));
        diagnoser.reload();
        let flaw = flaw(case, &diagnoser).map(|flaw| format!("{}: {flaw}", case.name));
        for file in fs::read_dir(folder.path()).expect("a folder") {
            let path = file.expect("a file").path();
            let removed = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
            removed.expect("it can be removed");
        }
        flaw
    };
    cases.iter().filter_map(flaw_of).collect()
}
