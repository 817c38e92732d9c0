//! Hostile plugins in crowds, on many reports at once.

use std::thread;

use whycrash_hostile_plugins::{Case, Outcome, cases};
use whycrash_plugin_host::{Outcome as Row, PluginLimits};

use crate::support::{LOG, built_in, built_in_names, diagnose, diagnoser, folder, limits};

fn case(name: &str) -> Case {
    let cases = cases().expect("the cases can be read");
    cases
        .into_iter()
        .find(|case| case.name == name)
        .unwrap_or_else(|| panic!("{name} is a case"))
}

/// So many plugins that do the same under names of their own.
fn copies(case: &Case, count: usize) -> Vec<Case> {
    let copy = |number| Case {
        name: format!("{}-{number}", case.name),
        ..case.clone()
    };
    (0..count).map(copy).collect()
}

#[test]
fn built_in_plugins_say_the_same_in_the_middle_of_all_of_them() {
    let quiet_folder = folder([]);
    let quiet = diagnoser(quiet_folder.path(), limits());
    let names = built_in_names(&quiet);
    let reference = built_in(&diagnose(&quiet, LOG), &names);
    // Bombs are refused long before a report comes.
    let cases = cases().expect("the cases can be read");
    let crowd = folder(cases.iter().filter(|case| case.outcome != Outcome::Any));
    let limits = PluginLimits {
        fuel: 5_000_000,
        millis: 500,
        strikes: 2,
        ..limits()
    };
    let crowded = diagnoser(crowd.path(), limits);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..3 {
                    assert_eq!(built_in(&diagnose(&crowded, LOG), &names), reference);
                }
            });
        }
    });
    let set_aside = crowded
        .plugins()
        .iter()
        .filter(|plugin| plugin.notice.is_some())
        .count();
    assert!(set_aside > 20, "those that keep failing are set aside: {set_aside}");
    let document = diagnose(&crowded, LOG);
    let row = document
        .plugins
        .iter()
        .find(|row| row.name == "loop-in-diagnose")
        .expect("it is listed");
    assert_eq!(row.outcome, Row::Skipped);
    assert!(
        row.reason
            .as_deref()
            .is_some_and(|reason| reason.contains("set aside after")),
        "{row:?}"
    );
}

#[test]
fn plugins_with_many_memories_take_nobodys_place() {
    let crowd = folder(&copies(&case("have-four-memories"), 8));
    let diagnoser = diagnoser(crowd.path(), limits());
    let names = built_in_names(&diagnoser);
    let reference = built_in(&diagnose(&diagnoser, LOG), &names);
    thread::scope(|scope| {
        for _ in 0..48 {
            scope.spawn(|| {
                let document = diagnose(&diagnoser, LOG);
                assert_eq!(built_in(&document, &names), reference);
                let bad: Vec<_> = document
                    .plugins
                    .iter()
                    .filter(|row| matches!(row.outcome, Row::Failed | Row::Unavailable))
                    .collect();
                assert!(bad.is_empty(), "{bad:?}");
            });
        }
    });
}

#[test]
fn of_two_plugins_with_one_name_the_first_has_it_and_the_other_says_so() {
    let twins = folder(&[case("be-a-twin"), case("be-the-other-twin")]);
    let plugins = diagnoser(twins.path(), limits()).plugins();
    let outside: Vec<_> = plugins.iter().filter(|plugin| plugin.source != "built-in").collect();
    let [other, twin] = outside.as_slice() else {
        panic!("{outside:?}")
    };
    assert_eq!((twin.name.as_str(), &twin.problem), ("twin", &None));
    assert_eq!(other.name, "be-the-other-twin");
    assert!(
        other
            .problem
            .as_deref()
            .is_some_and(|problem| problem.contains("`twin`")),
        "{other:?}"
    );
}

#[test]
fn what_was_refused_once_is_not_compiled_again() {
    let bomb = folder(&[case("fan-out")]);
    let cache = tempfile::tempdir().expect("a folder");
    let load = || {
        let settings = whycrash_plugin_host::Settings {
            plugin_folders: vec![bomb.path().to_owned()],
            cache: Some(cache.path().to_owned()),
            compiler: Some(crate::support::binary("whycrash-precompile")),
            ..whycrash_plugin_host::Settings::default()
        };
        let started = std::time::Instant::now();
        let diagnoser = whycrash_plugin_host::Diagnoser::new(settings).expect("it starts whatever is in the folder");
        let ready = started.elapsed();
        diagnoser.wait_for_plugins();
        let plugins = diagnoser.plugins();
        let problem = plugins.iter().find_map(|plugin| plugin.problem.clone());
        (ready, started.elapsed(), problem.expect("it is refused"))
    };
    let (ready, compiled, problem) = load();
    let (_, remembered, again) = load();
    assert_eq!(problem, again);
    assert!(problem.contains("compiling it takes more than"), "{problem}");
    assert!(
        ready < compiled / 2,
        "starting does not wait for it: {ready:?} of {compiled:?}"
    );
    assert!(remembered < compiled / 2, "{remembered:?} after {compiled:?}");
}
