//! Minidumps beside what minidump-stackwalk says about them (`ref/X.json`). Of stacks it knows no truth where it had to
//! guess: without a symbol file it scans, and names by the nearest public symbol; there a binary with its own rules
//! says more.

use anyhow::Result;
use serde_json::Value;
use whycrash_bench::artifacts;
use whycrash_evidence::model::{Evidence, Frame, Thread};
use whycrash_evidence::{Artifact, Limits};
use whycrash_symbols::{Sources, Symbols};

use crate::Context;
use crate::stacks::{Agreement, comparable};
use crate::table::{Score, Table};

pub fn compare(context: &Context) -> Result<Table> {
    let equal = Some(100.0);
    let mut table = Table::new(
        "minidumps: minidump-stackwalk",
        &[
            ("crash reason", equal),
            ("address", equal),
            ("crashed thread", equal),
            ("threads", equal),
            ("modules", equal),
            ("crashed thread's frames", None),
            ("all frames", None),
            ("by address alone", Some(90.0)),
        ],
    );
    let symbols = Symbols::new(Sources {
        folders: context.artifacts.symbols(),
        local_files: true,
        ..Sources::default()
    });
    for path in artifacts::files(&context.artifacts.path("minidump_made"))? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let described = path.with_file_name("ref").join(format!("{name}.json"));
        let is_dump = path.extension().is_some_and(|extension| extension == "dmp");
        if !is_dump || !described.is_file() || !context.wants(&name) {
            continue;
        }
        let truth = artifacts::json(&described)?;
        let found = symbols
            .read(&Artifact::new("crash.dmp", &path), &Limits::default())
            .evidence;
        if context.explains() {
            println!(
                "  {name}: {} at {} expected, {:?} found",
                truth["crash_info"]["type"], truth["crash_info"]["address"], found.crash
            );
        }
        let facts = facts(&truth, &found);
        let stacks = Stacks::of(&truth, &found.threads, context.explains());
        table.row(name, facts.into_iter().chain(stacks.scores()));
    }
    table.note(
        "frames have no bar: minidump-stackwalk had no symbols here, so that its names are those of the nearest public ones",
    );
    table.note("on purpose: where a signal was sent, not raised by a fault, there is no address; minidump-stackwalk shows the sender's id as one");
    Ok(table)
}

/// Minidumps of other projects with the symbol files beside them.
pub fn compare_others(context: &Context) -> Result<Table> {
    let mut table = Table::new(
        "other projects' minidumps: minidump-stackwalk",
        &[
            ("crashed thread's frames", Some(90.0)),
            ("all frames", Some(95.0)),
            ("by address alone", Some(95.0)),
        ],
    );
    let root = context.artifacts.path("third_party");
    let references = root.join("_stackwalk_ref");
    let symbols = Symbols::new(Sources {
        folders: vec![root.clone()],
        local_files: false,
        ..Sources::default()
    });
    let listed = if references.is_dir() {
        artifacts::files(&references)?
    } else {
        Vec::new()
    };
    for described in listed {
        let name = described.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_json = described.extension().is_some_and(|extension| extension == "json");
        if !is_json || !context.wants(&name) {
            continue;
        }
        let truth = artifacts::json(&described)?;
        let dump = root.join(name.replace("__", "/"));
        let reading = symbols.read(&Artifact::new("crash.dmp", &dump), &Limits::default());
        let stacks = Stacks::of(&truth, &reading.evidence.threads, context.explains());
        table.row(name.rsplit("__").next().unwrap_or_default(), stacks.scores());
    }
    Ok(table)
}

fn facts(truth: &Value, found: &Evidence) -> [Score; 5] {
    let info = &truth["crash_info"];
    let crash = found.crash.as_ref();
    let reason = crash.map(|crash| {
        let signal = crash.signal.as_deref().unwrap_or_default();
        crash
            .code
            .as_ref()
            .map_or_else(|| signal.to_owned(), |code| format!("{signal} / {code}"))
    });
    let is_sent = info["type"].as_str().is_some_and(|reason| reason.contains("SI_"));
    let address = crash.and_then(|crash| crash.address).map(|address| address.0);
    let expected_address = if is_sent { None } else { hex(&info["address"]) };
    let threads = truth["threads"].as_array().map_or(&[][..], Vec::as_slice);
    let crashed = info["crashing_thread"]
        .as_u64()
        .and_then(|index| threads.get(index as usize));
    let crashed_id = crashed.and_then(|thread| thread["thread_id"].as_u64());
    let ids = |id: &Value| id["thread_id"].as_u64().map(|id| id.to_string());
    let mut listed = Score::default();
    for id in threads.iter().filter_map(ids) {
        listed.add(Score::of(
            found.threads.iter().any(|thread| thread.id.to_string() == id),
        ));
    }
    let mut modules = Score::default();
    for module in truth["modules"].as_array().into_iter().flatten() {
        modules.add(Score::of(found.modules.iter().any(|found| {
            let file = found.path.rsplit('/').next();
            hex(&module["base_addr"]) == Some(found.start.0)
                && module["filename"].as_str() == file
                && module["code_id"].as_str().unwrap_or_default() == found.build_id.as_deref().unwrap_or_default()
        })));
    }
    [
        Score::of(reason.as_deref() == info["type"].as_str()),
        Score::of(address == expected_address),
        Score::of(
            crash.and_then(|crash| crash.thread.as_ref()).map(ToString::to_string)
                == crashed_id.map(|id| id.to_string()),
        ),
        listed,
        modules,
    ]
}

/// A frame of the other walker, inlined ones listed as frames of their own.
struct Expected {
    function: Option<String>,
    /// Address within the call, or of the faulting instruction.
    instruction: u64,
}

/// How well the stacks of a dump agree.
#[derive(Default)]
struct Stacks {
    crashed: Agreement,
    all: Agreement,
    places: Agreement,
}

impl Stacks {
    fn of(truth: &Value, threads: &[Thread], explain: bool) -> Self {
        let mut stacks = Self::default();
        let crashed = truth["crashing_thread"]["thread_id"].as_u64();
        // Where the other walker had no inlined functions at all its symbols had none.
        let has_inlined = truth.to_string().contains("\"inlines\":[");
        for thread in truth["threads"].as_array().into_iter().flatten() {
            let expected = frames(thread);
            // The other walker leaves out the thread that wrote the dump.
            if expected.is_empty() {
                continue;
            }
            let id = thread["thread_id"].as_u64();
            let is_it = |thread: &&Thread| Some(thread.id.to_string()) == id.map(|id| id.to_string());
            let found = threads.iter().find(is_it).into_iter().flat_map(|thread| &thread.frames);
            let found: Vec<&Frame> = found.filter(|frame| has_inlined || !frame.inline).collect();
            let agreement = Agreement::by(&expected, &found, |expected, found| is_same(expected, found));
            if explain && !agreement.is_exact() {
                println!("  thread {id:?}");
                show_both(&expected, &found);
            }
            if id == crashed {
                stacks.crashed = agreement;
            }
            stacks.all.add(agreement);
            stacks.places.add(Agreement::by(&expected, &found, |expected, found| {
                is_at(expected, found)
            }));
        }
        stacks
    }

    fn scores(&self) -> [Score; 3] {
        [self.crashed.recall(), self.all.recall(), self.places.recall()]
    }
}

/// The same function by its name, or where neither has one, the same place.
fn is_same(expected: &Expected, found: &Frame) -> bool {
    match (&expected.function, &found.function) {
        (Some(expected), Some(found)) => comparable(Some(expected)) == comparable(Some(found)),
        (None, None) => is_at(expected, found),
        _ => false,
    }
}

/// The same place, whatever its name. The other walker gives an address within the call, not the one returned to.
fn is_at(expected: &Expected, found: &Frame) -> bool {
    let after = |address: u64| address.wrapping_sub(expected.instruction);
    found.address.is_some_and(|address| matches!(after(address.0), 0..=8))
}

fn frames(thread: &Value) -> Vec<Expected> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut frames = Vec::new();
    for frame in list(&thread["frames"]) {
        let instruction = hex(&frame["offset"]).unwrap_or_default();
        for function in list(&frame["inlines"]).iter().chain([&frame]) {
            frames.push(Expected {
                function: function["function"].as_str().map(str::to_owned),
                instruction,
            });
        }
    }
    frames
}

/// Frames shown of each stack.
const SHOWN: usize = 60;

fn show_both(expected: &[Expected], found: &[&Frame]) {
    for index in 0..expected.len().max(found.len()).min(SHOWN) {
        let theirs = expected.get(index).map_or_else(String::new, |frame| {
            let address = || format!("{:#x}", frame.instruction);
            frame.function.clone().unwrap_or_else(address)
        });
        let ours = found.get(index).map_or_else(String::new, |frame| {
            let name = frame.function.clone().unwrap_or_else(|| format!("{:?}", frame.address));
            format!("{name} ({:?})", frame.trust)
        });
        println!("    {theirs:<70.70} | {ours}");
    }
}

fn hex(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}
