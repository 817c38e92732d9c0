//! The rows of minidumps, against the JSON that minidump-stackwalk prints. It is no truth where it had to guess: without
//! a symbol file it scans the stack, and names by the nearest public symbol; there a binary with its own rules says more.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;
use whycrash_evidence::model::{Frame, Thread};
use whycrash_evidence::{Artifact, Limits};
use whycrash_symbols::{Sources, Symbols};

use crate::{Agreement, Result, Row, agree, comparable, heading};

/// A frame of the other walker, inlined ones listed as frames of their own.
struct Expected {
    function: Option<String>,
    /// Address of the call, or of the faulting instruction.
    instruction: u64,
}

/// Compares the minidumps made with known programs, then those of other projects with the symbol files beside them.
pub fn run(artifacts: &Path, symbols: &Symbols, wanted: &[String]) -> Result<()> {
    let made = artifacts.join("minidump_made");
    let pairs = dumps(&made)?.into_iter().map(|dump| {
        let name = dump.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let truth = made.join("ref").join(format!("{name}.json"));
        (name, dump, truth)
    });
    table("minidump", pairs, symbols, wanted)?;
    let other = artifacts.join("third_party");
    let symbols = Symbols::new(Sources {
        folders: vec![other.clone()],
        local_files: false,
        ..Sources::default()
    });
    let pairs = references(&other.join("_stackwalk_ref"))?.into_iter().map(|truth| {
        let name = truth.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let dump = other.join(name.replace("__", "/"));
        let short = name.rsplit("__").next().unwrap_or(&name).to_owned();
        (short, dump, truth)
    });
    table("other projects' minidump", pairs, &symbols, wanted)
}

fn table(
    kind: &str,
    pairs: impl Iterator<Item = (String, PathBuf, PathBuf)>,
    symbols: &Symbols,
    wanted: &[String],
) -> Result<()> {
    heading(kind);
    let (mut sum, mut sum_places) = (Row::default(), Agreement::default());
    for (name, dump, truth) in pairs {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| name.contains(wanted.as_str())) {
            continue;
        }
        let truth: Value = serde_json::from_slice(&std::fs::read(truth)?)?;
        let start = Instant::now();
        let reading = symbols.read(&Artifact::new("minidump", &dump), &Limits::default());
        let millis = start.elapsed().as_millis();
        let (row, places) = compare(&truth, &reading.evidence.threads, !wanted.is_empty());
        row.print(&name, Some(millis));
        sum.add(row);
        sum_places.add(places);
    }
    sum.print("all", None);
    println!("{:<44} {:>18.1}%", "by address alone", sum_places.percent());
    Ok(())
}

fn dumps(folder: &Path) -> Result<Vec<PathBuf>> {
    files(folder, "dmp")
}

fn references(folder: &Path) -> Result<Vec<PathBuf>> {
    files(folder, "json")
}

fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn compare(truth: &Value, threads: &[Thread], show: bool) -> (Row, Agreement) {
    let (mut row, mut places) = (Row::default(), Agreement::default());
    let crashed = truth["crashing_thread"]["thread_id"].as_u64();
    // Where the other walker had no inlined functions at all its symbols had none.
    let has_inlined = truth.to_string().contains("\"inlines\":[");
    for expected in truth["threads"].as_array().into_iter().flatten() {
        let id = expected["thread_id"].as_u64();
        let thread = threads
            .iter()
            .find(|thread| Some(thread.id.to_string()) == id.map(|id| id.to_string()));
        let found: Vec<&Frame> = thread
            .into_iter()
            .flat_map(|thread| &thread.frames)
            .filter(|frame| has_inlined || !frame.inline)
            .collect();
        let expected = frames(expected);
        // The other walker leaves out the thread that wrote the dump.
        if expected.is_empty() {
            continue;
        }
        places.add(agree(&expected, &found, |expected, found| is_at(expected, found)));
        let agreement = agree(&expected, &found, |expected, found| same(expected, found));
        if show && (agreement.found < agreement.expected || agreement.invented > 0) {
            println!("  thread {id:?}");
            show_both(&expected, &found);
        }
        if id == crashed {
            row.crashed = agreement;
        }
        row.all.add(agreement);
    }
    (row, places)
}

/// The same function by its name, or where neither has one, the same place.
fn same(expected: &Expected, found: &Frame) -> bool {
    match (&expected.function, &found.function) {
        (Some(expected), Some(found)) => comparable(Some(expected)) == comparable(Some(found)),
        (None, None) => is_at(expected, found),
        _ => false,
    }
}

/// The same place, whatever its name. The other walker gives an address within the call, not the one returned to.
fn is_at(expected: &Expected, found: &Frame) -> bool {
    found
        .address
        .is_some_and(|address| matches!(address.0.wrapping_sub(expected.instruction), 0..=8))
}

fn frames(thread: &Value) -> Vec<Expected> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut frames = Vec::new();
    for frame in list(&thread["frames"]) {
        let instruction = frame["offset"].as_str().unwrap_or_default();
        let instruction = u64::from_str_radix(instruction.trim_start_matches("0x"), 16).unwrap_or_default();
        for function in list(&frame["inlines"]).iter().chain([&frame]) {
            frames.push(Expected {
                function: function["function"].as_str().map(str::to_owned),
                instruction,
            });
        }
    }
    frames
}

fn show_both(expected: &[Expected], found: &[&Frame]) {
    let mut lines = expected.len().max(found.len());
    lines = lines.min(60);
    for index in 0..lines {
        let left = expected.get(index).map_or(String::new(), |frame| {
            frame
                .function
                .clone()
                .unwrap_or_else(|| format!("{:#x}", frame.instruction))
        });
        let right = found.get(index).map_or(String::new(), |frame| {
            let name = frame.function.clone().unwrap_or_else(|| format!("{:?}", frame.address));
            format!("{name} ({:?})", frame.trust)
        });
        println!("    {left:<70.70} | {right}");
    }
}
