//! What lists, groups and the index take from a document.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value};
use whycrash_catalog::Catalog;
use whycrash_evidence::model::{Evidence, What};
use whycrash_evidence::readers::Lines;
use whycrash_evidence::{Artifact, ArtifactKind, Limits};
use whycrash_plugin_host::Document;

use super::reopen;
use crate::search::{Field, IndexDocument};
use crate::store::{ReportRecord, Result, StoreError, StoredDocument, Summary};

/// Bytes of text indexed of one report: what comes after is found by opening the report.
const TEXT_BYTES: usize = 4 << 20;
/// Lines of a log read at a time.
const LOG_LINES: u64 = 256;
/// Frames indexed of one thread, innermost first.
const FRAMES: usize = 64;
/// Characters of a value of the metadata that lists show and the index finds: names of machines have 253 at most.
const WORD: usize = 256;
/// Ranks that lists show and the index finds; the document has all of them.
const RANKS: usize = 4096;

/// The document as it is stored, and as it is indexed with this text.
pub fn digest(
    document: &Document,
    report: &ReportRecord,
    text: Vec<String>,
) -> Result<(StoredDocument, IndexDocument)> {
    let summary = summary(document, report);
    let json = serde_json::to_string(document).map_err(|error| StoreError::Failed(error.to_string()))?;
    let mut causes: Vec<String> = Vec::new();
    for finding in &document.findings {
        if !causes.contains(&finding.cause) {
            causes.push(finding.cause.clone());
        }
    }
    let indexed = IndexDocument {
        id: report.id.clone(),
        time: summary
            .time
            .parse::<Timestamp>()
            .unwrap_or(report.received)
            .as_millisecond(),
        title: title_lines(document, &summary),
        text,
        fields: fields(document, &summary, &causes),
        summary: summary.clone(),
    };
    Ok((StoredDocument { json, summary, causes }, indexed))
}

/// What lists show of the report.
pub fn summary(document: &Document, report: &ReportRecord) -> Summary {
    let evidence = &document.evidence;
    let best = document.findings.first();
    let head = &document.report;
    let signature = Some(head.signature.key.clone()).filter(|key| !key.is_empty());
    let signal = head
        .exit
        .signal
        .clone()
        .or_else(|| evidence.crash.as_ref().and_then(|crash| crash.signal.clone()));
    let title = [
        Some(head.title.clone()),
        best.map(|finding| finding.title.clone()),
        signal.clone(),
    ]
    .into_iter()
    .flatten()
    .find(|title| !title.is_empty());
    let names = || {
        report
            .artifacts
            .iter()
            .map(|artifact| artifact.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    Summary {
        id: report.id.to_string(),
        title: title.unwrap_or_else(names),
        cause: best.map(|finding| finding.cause.clone()),
        finding: best.map(|finding| finding.title.clone()),
        signal,
        signature,
        host: word(&report.metadata, "host").or_else(|| word(&evidence.context, "host")),
        exception: exception(evidence),
        time: time(evidence, report).to_string(),
        received: report.received.to_string(),
        ranks: ranks(evidence, &report.metadata),
    }
}

/// When it happened: as the collector says, as the last event says, or when the report came.
fn time(evidence: &Evidence, report: &ReportRecord) -> Timestamp {
    let ended = word(&report.metadata, "ended").or_else(|| word(&evidence.context, "ended"));
    let last = evidence.timeline.iter().rev().find_map(|event| event.time.clone());
    [ended, last]
        .into_iter()
        .flatten()
        .find_map(|time| time.parse().ok())
        .unwrap_or(report.received)
}

/// A member that is a string, a number, or an object with a `name`, as one short line.
fn word(members: &Map<String, Value>, name: &str) -> Option<String> {
    let text = match members.get(name)? {
        Value::String(text) => text.chars().filter(|c| !c.is_control()).take(WORD).collect(),
        Value::Number(number) => number.to_string(),
        Value::Object(object) => return word(object, "name"),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

fn exception(evidence: &Evidence) -> Option<String> {
    let python = evidence.timeline.iter().rev().find_map(|event| match &event.what {
        What::PythonException(exception) if !exception.exception.is_empty() => Some(exception.exception.clone()),
        _ => None,
    });
    python.or_else(|| evidence.gpu_cores.iter().find_map(|core| core.exception.clone()))
}

fn ranks(evidence: &Evidence, metadata: &Map<String, Value>) -> Vec<u32> {
    let named = [metadata.get("rank"), evidence.context.get("rank")]
        .into_iter()
        .flatten();
    let named = named.filter_map(|rank| rank.as_u64().or_else(|| rank.as_str()?.parse().ok()));
    let mut ranks: Vec<u32> = named.filter_map(|rank| u32::try_from(rank).ok()).collect();
    ranks.extend(evidence.threads.iter().filter_map(|thread| thread.rank));
    ranks.extend(evidence.timeline.iter().filter_map(|event| event.rank));
    ranks.extend(evidence.collectives.iter().flat_map(|collectives| &collectives.ranks));
    ranks.sort_unstable();
    ranks.dedup();
    ranks.truncate(RANKS);
    ranks
}

fn title_lines(document: &Document, summary: &Summary) -> Vec<String> {
    let findings = document
        .findings
        .iter()
        .flat_map(|finding| [finding.title.clone(), finding.cause.clone()]);
    [
        Some(summary.title.clone()),
        summary.exception.clone(),
        summary.signal.clone(),
    ]
    .into_iter()
    .flatten()
    .chain(findings)
    .collect()
}

fn fields(document: &Document, summary: &Summary, causes: &[String]) -> BTreeMap<Field, Vec<String>> {
    let one = |value: &Option<String>| value.iter().cloned().collect::<Vec<_>>();
    let kinds = document
        .report
        .artifacts
        .iter()
        .filter_map(|artifact| name_of(&artifact.kind));
    let plugins = document.findings.iter().map(|finding| finding.plugin.name.clone());
    let ranks = summary.ranks.iter().map(ToString::to_string);
    let mut fields = BTreeMap::from([
        (Field::Signal, one(&summary.signal)),
        (Field::Signature, one(&summary.signature)),
        (Field::Host, one(&summary.host)),
        (Field::Exception, one(&summary.exception)),
        (Field::Cause, causes.to_vec()),
        (Field::Rank, ranks.collect()),
        (Field::Kind, kinds.collect()),
        (Field::Plugin, plugins.collect()),
    ]);
    for values in fields.values_mut() {
        values.sort();
        values.dedup();
    }
    fields
}

/// The name an enum value has in JSON.
fn name_of(value: &impl serde::Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}

/// The text that finds this report: what is known about its causes, what happened, frames, and the lines of its logs.
pub fn text(document: &Document, artifacts: &[Artifact], catalog: &Catalog) -> Vec<String> {
    let mut text = Text {
        lines: Vec::new(),
        left: TEXT_BYTES,
    };
    for finding in &document.findings {
        text.add(&finding.explanation);
        if let Some(cause) = catalog.get(&finding.cause) {
            text.add(&cause.title);
            cause.tags.iter().for_each(|tag| text.add(tag));
        }
    }
    for module in reopen::modules_of(&document.evidence) {
        text.add(&module.id);
    }
    if let Some(crash) = &document.evidence.crash {
        crash
            .message
            .iter()
            .chain(&crash.process)
            .for_each(|line| text.add(line));
    }
    for event in &document.evidence.timeline {
        text.add(&event.text);
        if let What::PythonException(exception) = &event.what {
            text.add(&exception.message);
        }
    }
    for thread in &document.evidence.threads {
        for frame in thread.frames.iter().take(FRAMES) {
            frame
                .function
                .iter()
                .chain(&frame.file)
                .chain(&frame.module)
                .for_each(|line| text.add(line));
        }
    }
    for core in &document.evidence.gpu_cores {
        core.kernel.iter().for_each(|kernel| text.add(kernel));
    }
    if let Some(Value::Array(command)) = document.evidence.context.get("command") {
        command.iter().filter_map(Value::as_str).for_each(|word| text.add(word));
    }
    let kinds = document
        .report
        .artifacts
        .iter()
        .map(|head| (head.name.as_str(), head.kind));
    let is_text = |name: &str| {
        kinds
            .clone()
            .any(|(known, kind)| known == name && kind == ArtifactKind::Log)
    };
    for artifact in artifacts.iter().filter(|artifact| is_text(&artifact.name)) {
        text.add_log(artifact);
    }
    text.lines
}

/// Lines up to a number of bytes.
struct Text {
    lines: Vec<String>,
    left: usize,
}

impl Text {
    fn add(&mut self, line: &str) {
        if !line.is_empty() && line.len() <= self.left {
            self.left -= line.len();
            self.lines.push(line.to_owned());
        }
    }

    /// The end of a log, as far as it fits: what a process says last is what people remember of its crash. A log that
    /// can not be read has its problem in the document.
    fn add_log(&mut self, artifact: &Artifact) {
        let Ok(log) = Lines::open(artifact, &Limits::default()) else {
            return;
        };
        let mut last = log.count();
        while last > 0 && self.left > LOG_LINES as usize {
            let first = last.saturating_sub(LOG_LINES - 1).max(1);
            let Ok(lines) = log.range(first, last) else { return };
            lines.iter().for_each(|line| self.add(line));
            self.left = self.left.saturating_sub(lines.len());
            last = first - 1;
        }
    }
}
