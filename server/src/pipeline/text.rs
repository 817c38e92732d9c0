//! The text that finds a report: what is known about its causes, what happened where on which machine, and the lines of
//! its logs.

use serde_json::{Map, Value};
use whycrash_catalog::Catalog;
use whycrash_evidence::ArtifactKind;
use whycrash_evidence::model::{AllocationCluster, CollectiveVerdict, EventPayload, Evidence, GpuCore, MemorySnapshot};
use whycrash_plugin_host::Report;
use whycrash_reading::Text as Lines;

use super::digest::Found;
use super::reopen;
use crate::search::cut;

/// Bytes of text indexed of one report: what comes after is found by opening the report.
const TEXT_BYTES: usize = 4 << 20;
/// Bytes of it that the context may take: a few thousand packages.
const CONTEXT_BYTES: usize = 256 << 10;
/// Bytes indexed of one line, one value of the context, or one name.
const LINE_BYTES: usize = 4096;
/// Bytes of the names that lead to a value of the context.
const PATH_BYTES: usize = 256;
/// Lines of a log read at a time.
const LOG_LINES: u64 = 256;
/// Frames indexed of one stack, innermost first.
const FRAMES: usize = 64;
/// Stacks indexed of one memory snapshot, those that hold most first.
const CLUSTERS: usize = 16;
/// Members of the context that say nothing a report is looked for by: what the collector could not get and how to mend
/// it names every tool there is.
const NOT_INDEXED: [&str; 3] = ["unavailable", "limits", "gpu_timeline"];

/// What has the lines that programs printed.
const LOGS: [ArtifactKind; 4] = [
    ArtifactKind::Log,
    ArtifactKind::LogExport,
    ArtifactKind::Notebook,
    ArtifactKind::WandbRun,
];

/// The lines to index of a report.
pub fn of(found: &Found<'_>, report: &Report, catalog: &Catalog) -> Vec<String> {
    let mut text = Text::new(TEXT_BYTES);
    for finding in &found.findings {
        text.add(&finding.explanation);
        if let Some(cause) = catalog.get(&finding.cause) {
            text.add(&cause.title);
            text.add_all(&cause.tags);
        }
    }
    text.add_context(&report.evidence.context);
    text.add_evidence(&report.evidence);
    let is_log = |name: &str| {
        let artifact = report.artifact(name);
        artifact.is_some_and(|artifact| LOGS.contains(&artifact.kind))
    };
    for log in report.texts.iter().filter(|text| is_log(text.artifact())) {
        text.add_log(log);
    }
    text.lines
}

/// Lines up to a number of bytes.
struct Text {
    lines: Vec<String>,
    left: usize,
}

impl Text {
    fn new(left: usize) -> Self {
        Self {
            lines: Vec::new(),
            left,
        }
    }

    fn add(&mut self, line: &str) {
        let line = cut(line, LINE_BYTES.min(self.left));
        if !line.is_empty() {
            self.left -= line.len();
            self.lines.push(line.to_owned());
        }
    }

    fn add_all<'a>(&mut self, lines: impl IntoIterator<Item = &'a String>) {
        lines.into_iter().for_each(|line| self.add(line));
    }

    /// What collector and client say of process and machine, each value beside its name.
    fn add_context(&mut self, context: &Map<String, Value>) {
        let mut part = Self::new(CONTEXT_BYTES.min(self.left));
        for (name, value) in context {
            if !NOT_INDEXED.contains(&name.as_str()) {
                part.add_value(name, value);
            }
        }
        self.left -= part.lines.iter().map(String::len).sum::<usize>();
        self.lines.append(&mut part.lines);
    }

    /// A value of the context at this path of names.
    fn add_value(&mut self, path: &str, value: &Value) {
        let path = cut(path, PATH_BYTES);
        match value {
            _ if self.left == 0 => {}
            Value::String(text) => self.add(&format!("{path} {}", cut(text, LINE_BYTES))),
            Value::Number(number) => self.add(&format!("{path} {number}")),
            Value::Array(items) => {
                // Rows of numbers are measurements, which nobody looks for.
                let items = items.iter().filter(|item| !item.is_number());
                items.for_each(|item| self.add_value(path, item));
            }
            Value::Object(members) => {
                for (name, value) in members {
                    self.add_value(&format!("{path} {}", cut(name, PATH_BYTES)), value);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn add_evidence(&mut self, evidence: &Evidence) {
        for module in reopen::modules_of(evidence) {
            self.add(&module.id);
        }
        if let Some(crash) = &evidence.crash {
            self.add_all(crash.message.iter().chain(&crash.process));
        }
        evidence.gpu_cores.iter().for_each(|core| self.add_gpu_core(core));
        evidence
            .memory_snapshots
            .iter()
            .for_each(|snapshot| self.add_snapshot(snapshot));
        let verdicts = evidence
            .collectives
            .iter()
            .flat_map(|collectives| &collectives.verdicts);
        verdicts.for_each(|verdict| self.add_verdict(verdict));
        for event in &evidence.timeline {
            self.add(&event.text);
            if let EventPayload::PythonException(exception) = &event.payload {
                self.add(&exception.message);
            }
        }
        for thread in &evidence.threads {
            for frame in thread.frames.iter().take(FRAMES) {
                self.add_all(frame.function.iter().chain(&frame.file).chain(&frame.module));
            }
        }
    }

    fn add_gpu_core(&mut self, core: &GpuCore) {
        let facts = [
            &core.kernel,
            &core.exception,
            &core.name,
            &core.architecture,
            &core.driver,
        ];
        self.add_all(facts.into_iter().flatten());
        for fault in &core.faults {
            self.add_all(fault.kernel.iter().chain(&fault.exception));
        }
    }

    fn add_snapshot(&mut self, snapshot: &MemorySnapshot) {
        let oom = snapshot.oom.iter().map(|oom| &oom.frames);
        let peak = snapshot.peak.iter().flat_map(|peak| first(&peak.clusters));
        for frames in oom.chain(first(&snapshot.clusters)).chain(peak) {
            self.add_all(frames.iter().take(FRAMES));
        }
    }

    fn add_verdict(&mut self, verdict: &CollectiveVerdict) {
        self.add_all([
            &verdict.group,
            &verdict.group_description,
            &verdict.operation,
            &verdict.kind,
            &verdict.detail,
        ]);
        self.add_all(verdict.frames.iter().take(FRAMES));
    }

    /// The end of a log, as far as it fits: what a process says last is what people remember of its crash. A log that
    /// can not be read has its problem in the document.
    fn add_log(&mut self, log: &Lines) {
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

fn first(clusters: &[AllocationCluster]) -> impl Iterator<Item = &Vec<String>> {
    clusters.iter().take(CLUSTERS).map(|cluster| &cluster.frames)
}
