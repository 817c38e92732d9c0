//! Minidumps beside what minidump-stackwalk says about them (`ref/X.json`).

use anyhow::Result;
use serde_json::Value;
use whycrash_bench::artifacts;
use whycrash_evidence::model::{Evidence, FrameKind};
use whycrash_evidence::{Artifact, Limits};
use whycrash_symbols::{Sources, Symbols};

use crate::Context;
use crate::stacks::{Agreement, UNNAMED, comparable, show_difference};
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
            ("functions", None),
        ],
    );
    let symbols = Symbols::new(Sources {
        folders: context.artifacts.symbols(),
        local_files: true,
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
        table.row(name, scores(&truth, &found, context.explains()));
    }
    table.note("functions: on the crashed thread, inlined ones left out; without a bar as long as stacks of minidumps are not unwound");
    table.note("on purpose: where a signal was sent, not raised by a fault, there is no address; minidump-stackwalk shows the sender's id as one");
    Ok(table)
}

fn scores(truth: &Value, found: &Evidence, explain: bool) -> [Score; 6] {
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
        crashed.map_or_else(Score::default, |thread| functions(thread, found, explain)),
    ]
}

/// The functions of the crashed thread up to `main`, which is where ours end.
fn functions(expected: &Value, found: &Evidence, explain: bool) -> Score {
    let names = expected["frames"].as_array().into_iter().flatten();
    let mut expected: Vec<String> = names.map(|frame| comparable(frame["function"].as_str())).collect();
    if let Some(main) = expected.iter().position(|name| name == "main") {
        expected.truncate(main + 1);
    }
    expected.retain(|name| name != UNNAMED);
    let frames = found
        .threads
        .iter()
        .find(|thread| thread.crashed)
        .into_iter()
        .flat_map(|thread| &thread.frames);
    let found: Vec<String> = frames
        .filter(|frame| frame.kind == FrameKind::Native && !frame.inline)
        .map(|frame| comparable(frame.function.as_deref()))
        .collect();
    let agreement = Agreement::of(&expected, &found);
    if explain && !agreement.is_exact() {
        show_difference("crashed thread", &expected, &found);
    }
    agreement.recall()
}

fn hex(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}
