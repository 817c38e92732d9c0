//! Plugins that loop, flood, lie or fall over: each is a failed row with its reason, and what others found stands.

use std::fmt::Write as _;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use whycrash_plugin_host::{Diagnoser, Document, Outcome, PluginLimits, PluginRun};

use crate::support::{component, diagnose, diagnoser, plugin_folder};

/// One for all tests, as a server has one for all reports.
static DIAGNOSER: LazyLock<Diagnoser> = LazyLock::new(|| {
    let folder = plugin_folder(&[("misbehaving.wasm", &component("hostile/misbehaving"))]);
    let limits = PluginLimits {
        fuel: 100_000_000,
        memory: 64 << 20,
        read_bytes: 1 << 20,
        // One plugin does every misdeed, one after the other.
        strikes: 0,
        ..PluginLimits::default()
    };
    diagnoser(folder.path(), limits)
});

const BAD: [&str; 27] = [
    "loop",
    "allocate",
    "panic",
    "recurse",
    "report-an-error",
    "flood-the-log",
    "search-without-end",
    "read-without-end",
    "use-a-huge-pattern",
    "return-a-huge-text",
    "return-a-huge-answer",
    "return-many-findings",
    "cite-many-places",
    "be-surer-than-sure",
    "be-sure-of-nothing",
    "name-an-undocumented-cause",
    "name-an-undeclared-cause",
    "cite-nothing",
    "misquote-a-line",
    "cite-a-line-past-the-end",
    "cite-line-zero",
    "cite-lines-backwards",
    "cite-an-absent-artifact",
    "cite-an-absent-frame",
    "cite-an-absent-event",
    "misstate-a-fact",
    "contradict-falsely",
];

fn row<'a>(document: &'a Document, name: &str) -> &'a PluginRun {
    document.plugins.iter().find(|row| row.name == name).unwrap()
}

fn found_by<'a>(document: &'a Document, name: &str) -> Vec<&'a str> {
    document
        .findings
        .iter()
        .filter(|finding| finding.plugin.name == name)
        .map(|finding| finding.cause.as_str())
        .collect()
}

#[test]
fn a_plugin_that_keeps_to_the_rules_is_heard() {
    let document = diagnose(&DIAGNOSER, "behave");
    let row = row(&document, "misbehaving");
    assert_eq!((row.outcome, &row.reason), (Outcome::Ok, &None));
    assert_eq!(row.log, ["about to behave"]);
    assert!(row.fuel > 0 && row.memory > 0, "what it used is told: {row:?}");
    assert_eq!(found_by(&document, "misbehaving"), ["abrt-assert"]);
}

#[test]
fn a_plugin_that_does_not_fails_with_the_reason_and_alone() {
    let mut reasons = String::new();
    for how in BAD {
        let started = Instant::now();
        let document = diagnose(&DIAGNOSER, how);
        let row = row(&document, "misbehaving");
        assert_eq!(row.outcome, Outcome::Failed, "{how}");
        assert!(
            found_by(&document, "misbehaving").is_empty(),
            "{how}: nothing that it says counts"
        );
        assert_eq!(
            found_by(&document, "dataloader-worker"),
            ["dl-worker-oom-killed"],
            "{how}: what others found stands"
        );
        assert!(
            started.elapsed() < Duration::from_mins(1),
            "{how}: it took {:?}",
            started.elapsed()
        );
        let reason = row.reason.as_deref().unwrap();
        let _ = writeln!(reasons, "{how}: {reason}");
    }
    insta::assert_snapshot!(reasons);
}

#[test]
fn wall_time_stops_what_fuel_does_not() {
    let folder = plugin_folder(&[("misbehaving.wasm", &component("hostile/misbehaving"))]);
    let limits = PluginLimits {
        fuel: u64::MAX / 2,
        millis: 300,
        ..PluginLimits::default()
    };
    let document = diagnose(&diagnoser(folder.path(), limits), "loop");
    assert_eq!(
        row(&document, "misbehaving").reason.as_deref(),
        Some("it ran for more than 300 ms")
    );
}

#[test]
fn the_log_is_kept_up_to_its_cap() {
    let document = diagnose(&DIAGNOSER, "flood-the-log");
    assert_eq!(
        row(&document, "misbehaving").log.len(),
        PluginLimits::default().log_lines
    );
}

#[test]
fn a_panic_is_told_in_the_log() {
    let document = diagnose(&DIAGNOSER, "panic");
    let log = row(&document, "misbehaving").log.join("\n");
    assert!(log.contains("as asked"), "{log}");
}

#[test]
fn same_evidence_same_findings_from_many_threads() {
    let reference = diagnose(&DIAGNOSER, "behave");
    let fuel = row(&reference, "misbehaving").fuel;
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..4 {
                    let document = diagnose(&DIAGNOSER, "behave");
                    assert_eq!(document.findings, reference.findings);
                    assert_eq!(document.report.id, reference.report.id);
                    assert_eq!(row(&document, "misbehaving").fuel, fuel, "even the fuel is the same");
                }
            });
        }
    });
}
