//! Compares the stacks of every core that has a debugger's answer beside it (`X.zst` and `X.gdb.json`), and of every
//! minidump that has a stack walker's, and prints a table: `cargo run --release -p whycrash-symbols --example truth
//! [NAME…]`. The folder is `$WHYCRASH_ARTIFACTS`, or `../shared/artifacts`. Packed binaries (`bin/*.zst`) are unpacked to
//! a temporary folder first.

mod minidumps;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;
use whycrash_evidence::model::{FrameKind, Thread};
use whycrash_evidence::{Artifact, Limits};
use whycrash_symbols::{Sources, Symbols};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How well two stacks agree, in frames.
#[derive(Clone, Copy, Default)]
struct Agreement {
    /// Frames that the debugger has.
    expected: usize,
    /// Of those, the ones found, in order.
    found: usize,
    /// Frames that the debugger does not have.
    invented: usize,
}

impl Agreement {
    fn add(&mut self, other: Self) {
        self.expected += other.expected;
        self.found += other.found;
        self.invented += other.invented;
    }

    fn percent(self) -> f64 {
        if self.expected == 0 {
            100.0
        } else {
            100.0 * self.found as f64 / self.expected as f64
        }
    }
}

fn main() -> Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let artifacts = std::env::var_os("WHYCRASH_ARTIFACTS").map_or_else(|| "../shared/artifacts".into(), PathBuf::from);
    let made = artifacts.join("made");
    let unpacked = tempfile::tempdir()?;
    unpack(&made.join("bin"), unpacked.path())?;
    let folders = vec![unpacked.path().to_owned(), made.join("bin")];
    let symbols = Symbols::new(Sources {
        folders,
        local_files: true,
        ..Sources::default()
    });
    heading("core");
    let mut sum = Row::default();
    // With file pages in it a core needs no files; what nobody exported has no name then.
    let alone = Symbols::new(Sources::default());
    for core in cores(&made)? {
        let name = core.strip_prefix(&made)?.with_extension("").display().to_string();
        if !wanted.is_empty() && !wanted.iter().any(|wanted| name.contains(wanted.as_str())) {
            continue;
        }
        let truth: Value = serde_json::from_slice(&std::fs::read(core.with_extension("gdb.json"))?)?;
        let start = Instant::now();
        let reading = symbols.read(
            &Artifact::new("core", &core),
            &Limits {
                frames: 100_000,
                ..Limits::default()
            },
        );
        let millis = start.elapsed().as_millis();
        let (crashed, all) = compare(&truth, &reading.evidence.threads, !wanted.is_empty());
        let row = Row { crashed, all };
        row.print(&name, Some(millis));
        sum.add(row);
        if name.contains("filter7f") {
            let reading = alone.read(&Artifact::new("core", &core), &Limits::default());
            let (crashed, all) = compare(&truth, &reading.evidence.threads, !wanted.is_empty());
            Row { crashed, all }.print(&format!("{name}, core alone"), None);
        }
    }
    sum.print("all", None);
    minidumps::run(&artifacts, &symbols, &wanted)
}

/// Agreement on one dump.
#[derive(Clone, Copy, Default)]
struct Row {
    crashed: Agreement,
    all: Agreement,
}

impl Row {
    fn add(&mut self, other: Self) {
        self.crashed.add(other.crashed);
        self.all.add(other.all);
    }

    fn print(self, name: &str, millis: Option<u128>) {
        println!(
            "{name:<44} {:>7.1}% {:>9.1}% {:>9} {:>7}",
            self.crashed.percent(),
            self.all.percent(),
            self.all.invented,
            millis.map(|millis| millis.to_string()).unwrap_or_default(),
        );
    }
}

fn heading(kind: &str) {
    println!(
        "{kind:<44} {:>8} {:>10} {:>9} {:>7}",
        "crashed", "all", "invented", "ms"
    );
}

fn unpack(from: &Path, to: &Path) -> Result<()> {
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "zst") {
            let mut unpacked = std::fs::File::create(to.join(path.file_stem().unwrap_or_default()))?;
            zstd::stream::copy_decode(std::fs::File::open(&path)?, &mut unpacked)?;
        }
    }
    Ok(())
}

fn cores(made: &Path) -> Result<Vec<PathBuf>> {
    let mut cores = Vec::new();
    for folder in std::fs::read_dir(made)? {
        let folder = folder?.path();
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "zst") && path.with_extension("gdb.json").exists()
            {
                cores.push(path);
            }
        }
    }
    cores.sort();
    Ok(cores)
}

/// Agreement on the crashed thread and on all threads.
fn compare(truth: &Value, threads: &[Thread], show: bool) -> (Agreement, Agreement) {
    let (mut crashed, mut all) = (Agreement::default(), Agreement::default());
    for (index, expected_thread) in truth["threads"].as_array().into_iter().flatten().enumerate() {
        let id = expected_thread["tid"].as_u64().unwrap_or_default().to_string();
        let expected: Vec<String> = frames_of(expected_thread)
            .iter()
            .map(|frame| comparable(frame["function"].as_str()))
            .collect();
        let thread = threads.iter().find(|thread| thread.id.to_string() == id);
        let frames = thread
            .into_iter()
            .flat_map(|thread| &thread.frames)
            .filter(|frame| frame.kind == FrameKind::Native);
        // The stack of a runaway recursion is listed up to a limit.
        let listed = expected_frames_listed(expected_thread);
        let found: Vec<String> = frames
            .take(listed)
            .map(|frame| comparable(frame.function.as_deref()))
            .collect();
        let (expected, lost) = where_sane(expected, frames_of(expected_thread));
        let found = if lost {
            found.into_iter().take(expected.len()).collect()
        } else {
            found
        };
        let agreement = agree(&expected, &found, |expected, found| expected == found);
        if show && (agreement.found < agreement.expected || agreement.invented > 0) {
            show_difference(&id, &expected, &found);
        }
        if index == 0 {
            crashed = agreement;
        }
        all.add(agreement);
    }
    (crashed, all)
}

/// How many frames of a thread are to be compared: all, or those that the truth lists of more.
fn expected_frames_listed(thread: &Value) -> usize {
    let listed = thread["frames"].as_array().map_or(0, Vec::len);
    let total = thread["frame_count"].as_u64().unwrap_or_default() as usize;
    if total > listed { listed } else { usize::MAX }
}

/// A frame that gdb shows as `??`.
const UNNAMED: &str = "??";

/// Where gdb loses its way it goes on with addresses that are in no binary, or ends on a frame it can not name; what is
/// found beyond that has nothing to be compared to. Gives the frames before, and whether there were such.
fn where_sane(mut names: Vec<String>, frames: &[Value]) -> (Vec<String>, bool) {
    let all = names.len();
    let stray = |frame: &Value| frame["function"].is_null() && frame["module"].is_null();
    let first_stray = frames.iter().skip(1).position(stray);
    names.truncate(first_stray.map_or(all, |index| index + 1));
    while names.last().is_some_and(|name| name == UNNAMED) {
        names.pop();
    }
    let lost = names.len() < all;
    (names, lost)
}

fn frames_of(thread: &Value) -> &[Value] {
    thread["frames"].as_array().map_or(&[], Vec::as_slice)
}

/// Longest common subsequence: what both have, in the same order.
fn agree<E, F>(expected: &[E], found: &[F], same: impl Fn(&E, &F) -> bool) -> Agreement {
    let mut row = vec![0_usize; found.len() + 1];
    for expected in expected {
        let mut diagonal = 0;
        for (index, found) in found.iter().enumerate() {
            let above = row[index + 1];
            row[index + 1] = if same(expected, found) {
                diagonal + 1
            } else {
                above.max(row[index])
            };
            diagonal = above;
        }
    }
    let common = row[found.len()];
    Agreement {
        expected: expected.len(),
        found: common,
        invented: found.len() - common,
    }
}

fn show_difference(thread: &str, expected: &[String], found: &[String]) {
    println!("  thread {thread}");
    for (mark, ours, theirs) in [("-", found, expected), ("+", expected, found)] {
        for name in theirs.iter().filter(|name| !ours.contains(name)) {
            println!("    {mark} {name}");
        }
    }
    if expected.len() != found.len() {
        println!("    {} frames expected, {} found", expected.len(), found.len());
    }
}

/// Names without parameters: gdb leaves them on where its own parser gives up on a name.
fn comparable(name: Option<&str>) -> String {
    let Some(name) = name else { return UNNAMED.to_owned() };
    let mut name = name;
    while let Some(shorter) = [" const", " &&", " &"].iter().find_map(|tail| name.strip_suffix(tail)) {
        name = shorter;
    }
    if !name.ends_with(')') || name.ends_with("operator()") {
        return name.to_owned();
    }
    let mut depth = 0;
    let start = name.char_indices().rev().find(|(_, character)| {
        depth += match character {
            ')' => 1,
            '(' => -1,
            _ => 0,
        };
        depth == 0
    });
    start.map_or(name, |(index, _)| &name[..index]).to_owned()
}
