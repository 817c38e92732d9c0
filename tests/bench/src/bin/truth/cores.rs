//! Stacks of core dumps beside gdb's (`X.zst` and `X.gdb.json`).

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;
use whycrash_bench::artifacts;
use whycrash_evidence::model::{FrameKind, Thread};
use whycrash_evidence::{Artifact, Limits};
use whycrash_symbols::{Sources, Symbols};

use crate::Context;
use crate::stacks::{Agreement, UNNAMED, comparable, show_difference};
use crate::table::Table;

pub fn compare(context: &Context) -> Result<Table> {
    let mut table = Table::new(
        "core dumps, frames: gdb",
        &[
            ("crashed thread", Some(98.0)),
            ("all threads", Some(95.0)),
            ("ours also gdb's", None),
        ],
    );
    let symbols = Symbols::new(Sources {
        folders: context.artifacts.symbols(),
        local_files: true,
        ..Sources::default()
    });
    for core in with_truth(&context.artifacts.path("made"), "gdb.json")? {
        row(context, &mut table, &symbols, &core)?;
    }
    table.note(
        "where gdb loses its way (frames in no binary, or unnamed ones at the end) the frames before are compared",
    );
    Ok(table)
}

/// Cores that have the pages of their files (`coredump_filter` 0x7f), read without any file.
pub fn compare_alone(context: &Context) -> Result<Table> {
    let mut table = Table::new(
        "core dumps with file pages, no binary at hand: gdb with all of them",
        &[
            ("crashed thread", None),
            ("all threads", None),
            ("ours also gdb's", None),
        ],
    );
    let symbols = Symbols::new(Sources::default());
    for core in with_truth(&context.artifacts.path("made"), "gdb.json")? {
        if name_of(&core).contains("filter7f") {
            row(context, &mut table, &symbols, &core)?;
        }
    }
    table.note("without a bar: what nobody exported has no name in memory");
    Ok(table)
}

fn row(context: &Context, table: &mut Table, symbols: &Symbols, core: &Path) -> Result<()> {
    let name = name_of(core);
    if !context.wants(&name) {
        return Ok(());
    }
    let limits = Limits {
        frames: 100_000,
        ..Limits::default()
    };
    let truth = artifacts::json(&core.with_extension("gdb.json"))?;
    let reading = symbols.read(&Artifact::new("core", core), &limits);
    let (crashed, all) = agreement(&truth, &reading.evidence.threads, context.explains());
    table.row(name, [crashed.recall(), all.recall(), all.precision()]);
    Ok(())
}

/// Packed cores that have a file with this extension beside them.
pub fn with_truth(made: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut cores = Vec::new();
    for folder in artifacts::files(made)?.into_iter().filter(|path| path.is_dir()) {
        let is_known = |path: &PathBuf| {
            path.extension().is_some_and(|extension| extension == "zst") && path.with_extension(extension).is_file()
        };
        cores.extend(artifacts::files(&folder)?.into_iter().filter(is_known));
    }
    Ok(cores)
}

/// `case/core`, the case's folder and the file without its extension.
pub fn name_of(core: &Path) -> String {
    let case = core.parent().and_then(Path::file_name).unwrap_or_default();
    let file = core.file_stem().unwrap_or_default();
    format!("{}/{}", case.to_string_lossy(), file.to_string_lossy())
}

/// On the crashed thread (gdb's first), and on all threads.
fn agreement(truth: &Value, threads: &[Thread], explain: bool) -> (Agreement, Agreement) {
    let (mut crashed, mut all) = (Agreement::default(), Agreement::default());
    for (index, expected_thread) in truth["threads"].as_array().into_iter().flatten().enumerate() {
        let id = expected_thread["tid"].as_u64().unwrap_or_default().to_string();
        let thread = threads.iter().find(|thread| thread.id.to_string() == id);
        let (expected, found) = names(expected_thread, thread);
        let agreement = Agreement::of(&expected, &found);
        if explain && !agreement.is_exact() {
            show_difference(&format!("thread {id}"), &expected, &found);
        }
        if index == 0 {
            crashed = agreement;
        }
        all.add(agreement);
    }
    (crashed, all)
}

/// The functions of a thread, gdb's and ours, as far as they can be compared.
fn names(expected: &Value, found: Option<&Thread>) -> (Vec<String>, Vec<String>) {
    let frames = expected["frames"].as_array().map_or(&[][..], Vec::as_slice);
    let native = found
        .into_iter()
        .flat_map(|thread| &thread.frames)
        .filter(|frame| frame.kind == FrameKind::Native);
    // The stack of a runaway recursion is listed up to a limit.
    let is_listed_whole = expected["frame_count"].as_u64().unwrap_or_default() as usize <= frames.len();
    let listed = if is_listed_whole { usize::MAX } else { frames.len() };
    let mut found: Vec<String> = native
        .take(listed)
        .map(|frame| comparable(frame.function.as_deref()))
        .collect();
    let (expected, lost) = where_sane(frames);
    if lost {
        found.truncate(expected.len());
    }
    (expected, found)
}

/// Where gdb loses its way it goes on with addresses that are in no binary, or ends on a frame it can not name; what is
/// found beyond that has nothing to be compared to. Gives the names before, and whether there were such.
fn where_sane(frames: &[Value]) -> (Vec<String>, bool) {
    let mut names: Vec<String> = frames
        .iter()
        .map(|frame| comparable(frame["function"].as_str()))
        .collect();
    let stray = |frame: &Value| frame["function"].is_null() && frame["module"].is_null();
    let first_stray = frames.iter().skip(1).position(stray);
    names.truncate(first_stray.map_or(frames.len(), |index| index + 1));
    while names.last().is_some_and(|name| name == UNNAMED) {
        names.pop();
    }
    let lost = names.len() < frames.len();
    (names, lost)
}
