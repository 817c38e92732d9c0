//! From the evidence model to the plugin interface.

pub(super) mod gpu;
pub(super) mod history;
pub(crate) mod knowledge;
pub(super) mod memory;
pub(super) mod ranks;

use serde::Serialize;
use serde_json::Value;
use whycrash_evidence::model::{self, Place};
use whycrash_reading::{ArtifactHead, Report, Text};

use super::bindings::evidence;
use crate::software::Software;

/// The name that an enum's value has in the report document.
fn name(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

pub(super) fn json(value: impl Serialize) -> String {
    serde_json::to_string(&value).unwrap_or_default()
}

pub(super) fn artifact(report: &Report, artifact: &ArtifactHead) -> evidence::Artifact {
    evidence::Artifact {
        name: artifact.name.clone(),
        kind: name(artifact.kind),
        bytes: artifact.bytes,
        lines: report.text(&artifact.name).map_or(0, Text::count),
    }
}

pub(super) fn line(artifact: &str, number: u64, text: String) -> evidence::Line {
    evidence::Line {
        artifact: artifact.to_owned(),
        number,
        text,
    }
}

pub(super) fn thread(thread: &model::Thread) -> evidence::Thread {
    evidence::Thread {
        id: thread.id.to_string(),
        name: thread.name.clone(),
        rank: thread.rank,
        pid: thread.pid,
        crashed: thread.crashed,
        artifact: thread.artifact.clone(),
        frames: thread.frames.len() as u32,
        omitted: thread.frames_omitted.unwrap_or(0),
    }
}

pub(super) fn frame(frame: &model::Frame) -> evidence::Frame {
    evidence::Frame {
        kind: name(frame.kind),
        function: frame.function.clone(),
        file: frame.file.clone(),
        line: frame.line,
        module: frame.module.clone(),
        address: frame.address.map(|address| address.0),
        inline: frame.inline,
        trust: name(frame.trust),
        signal: frame.signal,
    }
}

fn lines(at: Option<&Place>) -> Option<(u64, u64)> {
    match at {
        Some(Place::Line([first, last])) => Some((*first, *last)),
        _ => None,
    }
}

pub(super) fn code(frame: &model::Frame) -> evidence::Code {
    evidence::Code {
        build_id: frame.build_id.clone(),
        offset: frame.offset.map(|offset| offset.0),
        lines: lines(frame.at.as_ref()),
    }
}

pub(super) fn module(module: &model::Module) -> evidence::Module {
    evidence::Module {
        path: module.path.clone(),
        build_id: module.build_id.clone(),
        first: module.start.0,
        end: module.end.0,
        symbols: module.symbols.clone(),
        artifact: module.artifact.clone(),
    }
}

pub(super) fn software(software: &Software) -> evidence::Software {
    evidence::Software {
        name: software.name.clone(),
        version: software.version.clone(),
        fact: software.fact.clone(),
    }
}

/// An event's particulars, if it has any.
pub(crate) fn detail(event: &model::Event) -> Option<Value> {
    match serde_json::to_value(&event.payload) {
        Ok(Value::Object(mut payload)) => payload.remove("detail"),
        _ => None,
    }
}

pub(super) fn event(kind: &str, event: &model::Event) -> evidence::Event {
    evidence::Event {
        number: event.event as u32,
        kind: kind.to_owned(),
        detail: detail(event).map(|detail| detail.to_string()).unwrap_or_default(),
        text: event.text.clone(),
        artifact: event.artifact.clone(),
        lines: lines(event.at.as_ref()),
        rank: event.rank,
        pid: event.pid,
        time: event.time.clone(),
        primary: event.primary,
        survived: event.survived,
    }
}
