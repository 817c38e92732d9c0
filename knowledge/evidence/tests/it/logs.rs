//! Whole logs of real crashes (Python 3.12, torch 2.15): everything a reader of the report sees of them.

use std::fmt::Write;
use std::path::Path;

use serde_json::Map;
use whycrash_evidence::model::{Event, Thread};
use whycrash_evidence::{Artifact, Evidence, Limits, merge, read, signature, title};

fn summary(evidence: &Evidence) -> String {
    let signature = signature(evidence);
    let mut text = format!(
        "title: {}\nsignature: {}\n",
        title(evidence),
        signature.parts.join(" | ")
    );
    if let Some(crash) = &evidence.crash {
        let _ = writeln!(
            text,
            "crash: {:?} thread {:?} pid {:?}",
            crash.signal, crash.thread, crash.pid
        );
    }
    evidence.threads.iter().for_each(|thread| text += &stack(thread));
    evidence.timeline.iter().for_each(|event| text += &line(event));
    text
}

fn stack(thread: &Thread) -> String {
    let functions = thread
        .frames
        .iter()
        .take(4)
        .map(|frame| frame.function.as_deref().unwrap_or("?"));
    let crashed = if thread.crashed { " crashed" } else { "" };
    let functions: Vec<&str> = functions.collect();
    format!(
        "stack {} rank {:?}{crashed}, {} frames: {}\n",
        thread.id,
        thread.rank,
        thread.frames.len(),
        functions.join(" < ")
    )
}

fn line(event: &Event) -> String {
    let kind = serde_json::to_value(&event.payload).expect("an event is JSON")["kind"].clone();
    let echo = event.echo_of.map_or(String::new(), |of| format!(" echo of {of}"));
    let text: String = event.text.chars().take(90).collect();
    format!(
        "event {} {kind} rank {:?} pid {:?} at {:?}{echo}: {text}\n",
        event.event, event.rank, event.pid, event.at
    )
}

fn check(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/logs")
        .join(name)
        .with_extension("txt");
    let reading = read(&Artifact::new("stderr.txt", path), &Limits::default());
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    insta::assert_snapshot!(name, summary(&merge(vec![reading.evidence], Map::new())));
}

#[test]
fn faulthandler_dump() {
    check("a_ctypes_null_faulthandler");
}

#[test]
fn faulthandler_dump_that_was_cut() {
    check("b_storage_resize0");
}

#[test]
fn dataloader_worker_with_an_exception() {
    check("e_dataloader_exc");
}

#[test]
fn dataloader_worker_out_of_shared_memory() {
    check("e_dataloader_sigbus");
}

#[test]
fn one_rank_raises() {
    check("g_ddp_exc");
}

#[test]
fn one_rank_is_killed() {
    check("g_ddp_sigkill");
}

#[test]
fn exception_leaves_noexcept() {
    check("j_terminate_noexcept");
}

#[test]
fn message_of_several_lines() {
    check("m_statedict");
}
