//! Memory snapshots beside the totals that CPython's own unpickling gives (`ref/X.totals.json`).

use anyhow::Result;
use serde_json::Value;
use whycrash_bench::artifacts;
use whycrash_evidence::model::MemorySnapshot;
use whycrash_evidence::{Artifact, Limits};

use crate::Context;
use crate::table::{Score, Table};

pub fn compare(context: &Context) -> Result<Table> {
    let equal = Some(100.0);
    let mut table = Table::new(
        "memory snapshots, totals: PyTorch's allocator",
        &[
            ("segments", equal),
            ("reserved", equal),
            ("allocated", equal),
            ("active", equal),
            ("requested", equal),
            ("blocks", equal),
            ("largest free", equal),
            ("events", equal),
            ("peak", equal),
        ],
    );
    for path in artifacts::files(&context.artifacts.path("memsnap"))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let totals = path.with_file_name("ref").join(format!("{name}.totals.json"));
        if !totals.is_file() || !context.wants(&name) {
            continue;
        }
        let truth = artifacts::json(&totals)?;
        let found = whycrash_evidence::read(&Artifact::new("snapshot.pickle", &path), &Limits::default())
            .evidence
            .memory_snapshots;
        let pairs = pairs(&truth, &found);
        if context.explains() {
            show_differences(&name, &pairs);
        }
        table.row(name, pairs.map(|(expected, found)| Score::of(expected == found)));
    }
    table.note(
        "peak: of what is allocated or waits for another stream, over the recorded trace, as PyTorch's viewers draw it",
    );
    Ok(table)
}

/// Expected and found, in the order of the columns.
fn pairs(truth: &Value, found: &[MemorySnapshot]) -> [(i64, i64); 9] {
    let number = |key: &str| truth[key].as_i64().unwrap_or(-1);
    let sum = |of: fn(&MemorySnapshot) -> u64| found.iter().map(|snapshot| of(snapshot) as i64).sum::<i64>();
    let blocks = truth["blocks"].as_object().into_iter().flatten();
    let traces = truth["traces"].as_array().map_or(&[][..], Vec::as_slice);
    let events = traces.iter().filter_map(|trace| trace["events"].as_i64()).sum();
    let largest = found
        .iter()
        .map(|snapshot| snapshot.largest_inactive as i64)
        .max()
        .unwrap_or(0);
    // A trace says how far above its own end the peak was; the level of that end is known from the segments.
    let above_end = |trace: &Value| {
        trace["traced_alloc_peak"]
            .as_i64()
            .zip(trace["traced_alloc_end"].as_i64())
    };
    let rises: i64 = traces.iter().filter_map(above_end).map(|(peak, end)| peak - end).sum();
    [
        (number("segments"), sum(|snapshot| snapshot.segments)),
        (number("total_size"), sum(|snapshot| snapshot.reserved)),
        (number("allocated_size"), sum(|snapshot| snapshot.allocated)),
        (number("active_size"), sum(|snapshot| snapshot.active)),
        (number("requested_size"), sum(|snapshot| snapshot.requested)),
        (
            blocks.filter_map(|(_, count)| count.as_i64()).sum(),
            sum(|snapshot| snapshot.blocks),
        ),
        (number("largest_inactive_block"), largest),
        (events, sum(|snapshot| snapshot.events)),
        (number("active_size") + rises, sum(|snapshot| snapshot.peak_active)),
    ]
}

fn show_differences(name: &str, pairs: &[(i64, i64)]) {
    for (column, (expected, found)) in pairs
        .iter()
        .enumerate()
        .filter(|(_, (expected, found))| expected != found)
    {
        println!("  {name}, column {}: {expected} expected, {found} found", column + 1);
    }
}
