//! A plugin that calls every function of the interface and logs what it is answered, so that the answers can be held
//! against the document of the report, and against the reports that tests of plugins make.
//!
//! Natively compiled it asks such a report the same. `plugins/host/tests/it/every_call` has the same questions in other
//! languages: records are lists of their members in the order of the interface, numbers of 64 bits are texts.

mod values;

use std::fmt::Write as _;

use serde_json::{Value, json};
use whycrash_plugin::memory::Moment;
use whycrash_plugin::{Diagnosis, Info, Plugin, Report};

use values::{Answer, lists, parsed};

/// Paths of facts, some of which lead nowhere.
const FACTS: [&str; 31] = [
    "",
    "nothing",
    "crash",
    "crash.signal",
    "/crash/signal",
    "threads",
    "threads.0",
    "threads.0.frames.0.function",
    "/threads/0/id",
    "threads.x",
    "timeline.0",
    "timeline.0.detail",
    "modules.0",
    "memory_snapshots.0",
    "memory_snapshots.0.clusters.0.frames.0",
    "memory_curves.0",
    "memory_details.0.artifact",
    "memory_details.0.blocks.1",
    "memory_details.0.blocks.1.address",
    "memory_details.0.trace.0.action",
    "memory_details.0.stacks.0",
    "gpu_cores.0",
    "collectives",
    "collectives.verdicts.0.kind",
    "communicators.0",
    "processes.0",
    "context",
    "context.host",
    "history.earlier.0.title",
    "history.earlier.0.conclusions",
    "history.incident.0",
];
/// Paths into the context.
const CONTEXT: [&str; 6] = ["", "host", "/host", "packages", "packages.torch", "python.version"];
/// Lists that can be counted, and some that can not.
const LISTS: [&str; 11] = [
    "threads",
    "modules",
    "memory_snapshots",
    "memory_details",
    "memory_curves",
    "gpu_cores",
    "timeline",
    "communicators",
    "processes",
    "context",
    "nothing",
];
const PATTERNS: [&str; 4] = ["rror", "^.*[0-9]+$", "no line has this", "("];
/// As much as one call gives.
const PAGE: u32 = 4096;

struct EveryCall;

impl Plugin for EveryCall {
    fn about() -> Info {
        Info::new("every-call", env!("CARGO_PKG_VERSION"))
    }

    fn diagnose(report: &Report) -> Result<Diagnosis, String> {
        whycrash_plugin::log!("{}", in_ascii(&calls(report).to_string()));
        // The same for every report, and long: only who names causes asks for it.
        if let Some(causes) = named(report) {
            whycrash_plugin::log!("{}", in_ascii(&knowledge(report, &causes).to_string()));
        }
        Ok(Diagnosis::nothing())
    }
}

/// What the report answers to every call about itself.
#[must_use]
pub fn calls(report: &Report) -> Value {
    let mut calls = Vec::new();
    let mut call = |name: String, answer: Value| calls.push(json!([name, answer]));
    texts(report, &mut call);
    for path in FACTS {
        call(format!("fact {path}"), parsed(report.fact(path)));
    }
    for path in CONTEXT {
        call(format!("context {path}"), parsed(report.context(path)));
    }
    for list in LISTS {
        call(format!("count {list}"), json!(report.count(list)));
    }
    stacks(report, &mut call);
    call("modules".to_owned(), lists(report.modules(0, PAGE)));
    call("modules 1 1".to_owned(), lists(report.modules(1, 1)));
    call("software".to_owned(), lists(report.software(None)));
    call("software torch".to_owned(), lists(report.software(Some("torch"))));
    gpus(report, &mut call);
    snapshots(report, &mut call);
    together(report, &mut call);
    Value::Array(calls)
}

/// The causes that the context names, if any.
fn named(report: &Report) -> Option<Vec<String>> {
    let causes: Vec<String> = serde_json::from_str(&report.context("causes")?).ok()?;
    (!causes.is_empty()).then_some(causes)
}

/// What is documented, as far as it is told: of these causes, all tables, and those that may match.
fn knowledge(report: &Report, causes: &[String]) -> Value {
    let told: Vec<Value> = causes
        .iter()
        .map(|id| report.cause(id).map_or(Value::Null, Answer::value))
        .collect();
    let tables = whycrash_plugin::recognise_tables()
        .into_iter()
        .map(|table| parsed(Some(table)));
    let may_match = report.recognise_tables().into_iter().map(|table| parsed(Some(table)));
    json!([told, tables.collect::<Vec<_>>(), may_match.collect::<Vec<_>>()])
}

fn texts(report: &Report, call: &mut impl FnMut(String, Value)) {
    let artifacts = report.artifacts();
    let named = artifacts.iter().map(|artifact| (artifact.name.clone(), artifact.lines));
    let named: Vec<(String, u64)> = named.chain([("no such file".to_owned(), 1)]).collect();
    call("artifacts".to_owned(), lists(artifacts));
    for (name, last) in &named {
        for (first, count) in [(0, 3), (2, 2), (*last, 5), (1, 0), (u64::MAX, 1)] {
            call(
                format!("lines {name} {first} {count}"),
                lists(report.lines(name, first, count)),
            );
        }
        call(format!("search {name}"), found(report.search(Some(name), "[a-z]+", 2)));
    }
    for pattern in PATTERNS {
        call(format!("search {pattern}"), found(report.search(None, pattern, 5)));
        call(format!("search none {pattern}"), found(report.search(None, pattern, 0)));
    }
}

/// The lines; of a pattern that is wrong, only that it is.
fn found(lines: Result<Vec<whycrash_plugin::Line>, String>) -> Value {
    lines.map_or_else(|_| json!("wrong"), lists)
}

fn stacks(report: &Report, call: &mut impl FnMut(String, Value)) {
    call("threads".to_owned(), lists(report.threads(0, PAGE)));
    call("threads 1 2".to_owned(), lists(report.threads(1, 2)));
    call("threads beyond".to_owned(), lists(report.threads(u32::MAX, 1)));
    for thread in [0, 1, 2, u32::MAX] {
        for (first, count) in [(0, PAGE), (1, 2), (u32::MAX, 1)] {
            let range = format!("{thread} {first} {count}");
            call(format!("frames {range}"), lists(report.frames(thread, first, count)));
            call(format!("codes {range}"), lists(report.codes(thread, first, count)));
        }
    }
    call("events".to_owned(), lists(report.events(None, 0, PAGE)));
    call("events 1 2".to_owned(), lists(report.events(None, 1, 2)));
    for kind in ["python-exception", "cuda-oom", "no-such"] {
        call(format!("events {kind}"), lists(report.events(Some(kind), 0, 2)));
    }
}

fn gpus(report: &Report, call: &mut impl FnMut(String, Value)) {
    call("gpu-cores".to_owned(), lists(report.gpu_cores()));
    for core in [0, 1, u32::MAX] {
        for (first, count) in [(0, PAGE), (1, 1)] {
            let range = format!("{core} {first} {count}");
            call(
                format!("gpu-faults {range}"),
                lists(report.gpu_faults(core, first, count)),
            );
            call(
                format!("gpu-warps {range}"),
                lists(report.gpu_warps(core, first, count)),
            );
        }
    }
}

fn snapshots(report: &Report, call: &mut impl FnMut(String, Value)) {
    let whole = report.memory_snapshots().into_iter().map(|text| parsed(Some(text)));
    call("memory-snapshots".to_owned(), whole.collect());
    call("memory-summaries".to_owned(), lists(report.memory_summaries()));
    for snapshot in [0, 1, u32::MAX] {
        let failed = report.failed_request(snapshot);
        call(
            format!("failed-request {snapshot}"),
            failed.map_or(Value::Null, Answer::value),
        );
        for (first, count) in [(0, PAGE), (1, 1)] {
            let range = format!("{snapshot} {first} {count}");
            for (moment, at) in [("end", Moment::End), ("peak", Moment::Peak)] {
                let clusters = report.clusters(snapshot, at, first, count);
                call(format!("clusters {moment} {range}"), lists(clusters));
            }
            call(format!("pools {range}"), lists(report.pools(snapshot, first, count)));
        }
        for (first, end, count) in [(0, u64::MAX, PAGE), (0, u64::MAX, 10), (3, 40, 7), (5, 5, 3), (0, 9, 0)] {
            let stretches = report.usage(snapshot, first, end, count);
            call(format!("usage {snapshot} {first} {end} {count}"), lists(stretches));
        }
        let blocks = report.blocks(snapshot, 0, PAGE);
        let middle = blocks.get(blocks.len() / 2).map_or(1, |block| block.address);
        call(format!("blocks {snapshot}"), lists(blocks));
        for (from, count) in [(middle, 2), (middle + 1, 2), (u64::MAX, 1), (0, 0)] {
            call(
                format!("blocks {snapshot} {from} {count}"),
                lists(report.blocks(snapshot, from, count)),
            );
        }
        let entries = report.trace(snapshot, 0, PAGE);
        let middle = entries.get(entries.len() / 2).map_or(1, |entry| entry.number);
        call(format!("trace {snapshot}"), lists(entries));
        for (from, count) in [(middle, 3), (u64::MAX, 1), (0, 0)] {
            call(
                format!("trace {snapshot} {from} {count}"),
                lists(report.trace(snapshot, from, count)),
            );
        }
    }
}

fn together(report: &Report, call: &mut impl FnMut(String, Value)) {
    for rank in [None, Some(0), Some(u32::MAX)] {
        let name = rank.map_or_else(|| "all".to_owned(), |rank| rank.to_string());
        let whole = report.collectives(rank).into_iter().map(|text| parsed(Some(text)));
        call(format!("collectives {name}"), whole.collect());
        call(
            format!("rank-verdicts {name}"),
            lists(report.rank_verdicts(rank, 0, PAGE)),
        );
        call(
            format!("rank-verdicts {name} 1 1"),
            lists(report.rank_verdicts(rank, 1, 1)),
        );
    }
    let overview = report.rank_overview();
    call("rank-overview".to_owned(), overview.map_or(Value::Null, Answer::value));
    for (first, count) in [(0, PAGE), (1, 1), (u32::MAX, 1)] {
        call(format!("earlier {first} {count}"), lists(report.earlier(first, count)));
        call(
            format!("incident {first} {count}"),
            lists(report.incident(first, count)),
        );
    }
}

/// JSON that nothing on its way has to clean.
fn in_ascii(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for character in json.chars() {
        if (' '..='~').contains(&character) {
            ascii.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    ascii
}

whycrash_plugin::export!(EveryCall);
