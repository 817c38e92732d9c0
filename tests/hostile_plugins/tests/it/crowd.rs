//! Hostile plugins in crowds, on many reports at once.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use whycrash_hostile_plugins::{Case, Outcome, cases};
use whycrash_plugin_host::{Diagnoser, Outcome as Row, PluginInfo, PluginLimits, Settings};

use crate::support::{LOG, binary, built_in, built_in_names, diagnose, diagnoser, folder, limits};

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

/// A compiler that takes its time, and notes in a file beside it that it was asked.
fn slow_compiler(folder: &Path) -> PathBuf {
    let (compiler, calls) = (folder.join("compiler"), folder.join("calls"));
    let program = binary("compile-plugin");
    let script = format!("#!/bin/sh\necho called >> {calls:?}\nsleep 1\nexec {program:?} \"$@\"\n");
    fs::write(&compiler, script).expect("a script");
    fs::set_permissions(&compiler, Permissions::from_mode(0o755)).expect("a program");
    compiler
}

/// How long it took to begin and to load the plugins of a folder, and what became of them.
fn load(plugins: &Path, cache: &Path) -> (Duration, Duration, Vec<PluginInfo>) {
    let settings = Settings {
        plugin_folders: vec![plugins.to_owned()],
        cache: Some(cache.to_owned()),
        compiler: Some(cache.join("compiler")),
        ..Settings::default()
    };
    let started = Instant::now();
    let diagnoser = Diagnoser::new(settings).expect("it starts whatever is in the folder");
    let ready = started.elapsed();
    diagnoser.wait_for_plugins();
    let plugins = diagnoser.plugins().into_iter();
    let outside = plugins.filter(|plugin| plugin.source != "built-in").collect();
    (ready, started.elapsed(), outside)
}

fn calls(cache: &Path) -> usize {
    let calls = fs::read_to_string(cache.join("calls")).expect("it was called");
    calls.lines().count()
}

#[test]
fn what_was_refused_once_is_not_compiled_again() {
    let (refused, cache) = (folder([&case("import-a-clock")]), TempDir::new().expect("a folder"));
    slow_compiler(cache.path());
    let (ready, compiled, plugins) = load(refused.path(), cache.path());
    let (_, _, again) = load(refused.path(), cache.path());
    assert!(
        plugins[0].problem.is_some() && again == plugins,
        "{plugins:?} {again:?}"
    );
    assert_eq!(calls(cache.path()), 1);
    assert!(
        ready < compiled / 2,
        "starting does not wait for it: {ready:?} of {compiled:?}"
    );
}

#[test]
fn many_that_want_a_component_at_one_time_have_it_compiled_once() {
    let (plugins, cache) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let honest = Case {
        name: "honest".to_owned(),
        ..Case::default()
    };
    honest.install(plugins.path()).expect("a plugin");
    slow_compiler(cache.path());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (_, _, plugins) = load(plugins.path(), cache.path());
                assert_eq!(plugins[0].problem, None);
            });
        }
    });
    assert_eq!(calls(cache.path()), 1);
    let locks = fs::read_dir(cache.path()).expect("a folder").flatten();
    let left = locks.filter(|file| file.path().extension().is_some_and(|extension| extension == "lock"));
    assert_eq!(left.count(), 0, "nothing of it is left");
}
