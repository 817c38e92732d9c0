//! What logs say, beside how their processes ended (`meta.json` of each case) and beside Xid lines whose parts are
//! known.

use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value};
use whycrash_bench::artifacts;
use whycrash_evidence::model::{EventPayload, Evidence};
use whycrash_evidence::{Artifact, Limits, merge};

use crate::Context;
use crate::table::{Score, Table};

pub fn compare(context: &Context) -> Result<Table> {
    let mut table = Table::new(
        "logs: how the process ended, and known lines",
        &[
            ("signal", Some(100.0)),
            ("exception", Some(100.0)),
            ("Xid number", Some(100.0)),
            ("Xid device", Some(100.0)),
        ],
    );
    let index = artifacts::json(&context.artifacts.path("index.json"))?;
    for entry in index.as_array().into_iter().flatten() {
        let path = entry["path"].as_str().unwrap_or_default();
        let is_log = matches!(
            entry["kind"].as_str(),
            Some("stderr_log" | "faulthandler_log" | "torchrun_log")
        );
        if is_log && context.wants(path) {
            let found = read(&context.artifacts.path(path));
            let [signal, exception] = [signal(entry, &found), exception(entry, &found)];
            if context.explains() {
                println!(
                    "  {path}: {} {} expected, {:?} found",
                    entry["exit_signal"], entry["exception"], found.crash
                );
            }
            if signal.expected + exception.expected > 0 {
                table.row(path, [signal, exception]);
            }
        }
    }
    let lines = "logs/xid/xid_lines_gpud.json";
    if context.wants(lines) {
        let [number, device] = xid_lines(&artifacts::json(&context.artifacts.path(lines))?, context.explains())?;
        table.row(lines, [Score::default(), Score::default(), number, device]);
    }
    table.note("signal: where faulthandler wrote about it; most processes that a signal ends print nothing");
    table.note("on purpose: a line that quotes another, such as a comment, is no event");
    Ok(table)
}

fn read(path: &Path) -> Evidence {
    let reading = whycrash_evidence::read(&Artifact::new("stderr.txt", path), &Limits::default());
    merge(vec![reading.evidence], Map::new())
}

/// The signal that the process died of, when what it printed tells: `Fatal Python error: Segmentation fault`.
fn signal(entry: &Value, found: &Evidence) -> Score {
    let is_told = entry["kind"] == "faulthandler_log";
    match entry["exit_signal"].as_str().filter(|_| is_told) {
        None => Score::default(),
        Some(expected) => Score::of(found.crash.as_ref().and_then(|crash| crash.signal.as_deref()) == Some(expected)),
    }
}

/// The class of the exception that the log ends with.
fn exception(entry: &Value, found: &Evidence) -> Score {
    let Some(printed) = entry["exception"].as_str() else {
        return Score::default();
    };
    let printed = printed
        .split_once("]: ")
        .filter(|_| printed.starts_with("[rank"))
        .map_or(printed, |(_, rest)| rest);
    let class = printed.split(':').next().unwrap_or(printed);
    // What libraries say about an exception of their own is not the name of a class.
    if !class
        .chars()
        .all(|character| character.is_alphanumeric() || "._".contains(character))
    {
        return Score::default();
    }
    Score::of(found.timeline.iter().any(|event| match &event.payload {
        EventPayload::PythonException(exception) => exception.exception == class,
        _ => false,
    }))
}

/// Each line is a log of its own.
fn xid_lines(lines: &Value, explain: bool) -> Result<[Score; 2]> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("kernel.log");
    let [mut numbers, mut devices] = [Score::default(); 2];
    for known in lines.as_array().into_iter().flatten() {
        let (Some(line), Some(number)) = (known["line"].as_str(), known["xid"].as_u64()) else {
            continue;
        };
        // Found in a comment of a program, where it is quoted: nothing happened.
        if line.starts_with("//") {
            continue;
        }
        std::fs::write(&path, format!("{line}\n"))?;
        let found = read(&path);
        let xid = found.timeline.iter().find_map(|event| match &event.payload {
            EventPayload::Xid(xid) => Some(xid),
            _ => None,
        });
        let agrees = xid.is_some_and(|xid| u64::from(xid.code) == number);
        numbers.add(Score::of(agrees));
        if let Some(device) = known["pci"].as_str() {
            devices.add(Score::of(
                xid.is_some_and(|xid| xid.pci.to_lowercase().contains(&device.to_lowercase())),
            ));
        }
        if explain && !agrees {
            println!("  Xid {number} expected, {xid:?} found: {line}");
        }
    }
    Ok([numbers, devices])
}
