//! One report as it is diagnosed.

use std::sync::{Arc, OnceLock};

use serde_json::Value;
use whycrash_catalog::recognise::{Happened, Shown};
use whycrash_evidence::model::{Event, MemoryDetail, Series};
use whycrash_reading::Report;

use crate::sandbox::{Patterns, detail};
use crate::software::{Software, software};

/// A report that was read. Shared by all plugins that run on it.
#[derive(Debug, Default)]
pub(crate) struct Case {
    pub(crate) report: Arc<Report>,
    /// The kind of each event of the timeline, as it is written in the document.
    kinds: OnceLock<Vec<String>>,
    /// What is known of versions.
    software: OnceLock<Vec<Software>>,
    /// What tables may look for.
    shown: OnceLock<Shown>,
    /// What plugins searched it for.
    pub(crate) patterns: Patterns,
}

impl Case {
    pub(crate) fn new(report: Arc<Report>) -> Self {
        Self {
            report,
            ..Self::default()
        }
    }

    /// Whether evidence of this kind is there, by the names that `plugin-info.needs` uses.
    pub(crate) fn has(&self, kind: &str) -> bool {
        let evidence = &self.report.evidence;
        match kind {
            "crash" => evidence.crash.is_some(),
            "threads" => !evidence.threads.is_empty(),
            "memory-snapshots" => !evidence.memory_snapshots.is_empty(),
            "collectives" => evidence.collectives.is_some(),
            "gpu-cores" => !evidence.gpu_cores.is_empty(),
            "events" => !evidence.timeline.is_empty(),
            "context" => !evidence.context.is_empty(),
            "text" => !self.report.texts.is_empty(),
            _ => kind
                .strip_prefix("event:")
                .is_some_and(|kind| self.kinds().iter().any(|k| k == kind)),
        }
    }

    /// Events of this kind, or of all kinds, each with its kind; oldest first.
    pub(crate) fn events(&self, kind: Option<&str>) -> impl Iterator<Item = (&str, &Event)> {
        self.kinds()
            .iter()
            .map(String::as_str)
            .zip(&self.report.evidence.timeline)
            .filter(move |(k, _)| kind.is_none_or(|kind| kind == *k))
    }

    /// Software whose version the evidence tells.
    pub(crate) fn software(&self) -> &[Software] {
        self.software.get_or_init(|| software(&self.report.evidence))
    }

    /// What a glance at its events shows to recognise tables.
    pub(crate) fn shown(&self) -> &Shown {
        self.shown.get_or_init(|| {
            let mut shown = Shown::default();
            if !self.report.texts.is_empty() {
                shown.add_lines();
            }
            for (kind, event) in self.events(None) {
                shown.add(&Happened {
                    kind: kind.to_owned(),
                    text: event.text.clone(),
                    detail: detail(event).unwrap_or_default(),
                    ..Happened::default()
                });
            }
            shown
        })
    }

    /// How many entries a list of the evidence has.
    pub(crate) fn count(&self, list: &str) -> usize {
        let evidence = &self.report.evidence;
        match list {
            "threads" => evidence.threads.len(),
            "modules" => evidence.modules.len(),
            "memory_snapshots" => evidence.memory_snapshots.len(),
            "memory_details" => evidence.memory_details.len(),
            "gpu_cores" => evidence.gpu_cores.len(),
            "timeline" => evidence.timeline.len(),
            "communicators" => evidence.communicators.len(),
            "series" => evidence.series.len(),
            "processes" => evidence.processes.len(),
            _ => 0,
        }
    }

    /// The blocks and trace entries of the memory snapshot at this position, and their own position.
    pub(crate) fn memory_detail(&self, snapshot: u32) -> Option<(usize, &MemoryDetail)> {
        let evidence = &self.report.evidence;
        let snapshot = evidence.memory_snapshots.get(snapshot as usize)?;
        let mut details = evidence.memory_details.iter().enumerate();
        details.find(|(_, detail)| detail.device == snapshot.device && detail.artifact == snapshot.artifact)
    }

    fn kinds(&self) -> &[String] {
        self.kinds
            .get_or_init(|| self.report.evidence.timeline.iter().map(kind).collect())
    }

    /// The value at a path into the evidence: dotted (`memory_snapshots.0.reserved`) or a JSON pointer.
    ///
    /// Only the member, and of a list only the element, that the path leads through is turned into JSON: a list of
    /// events or threads can be long.
    pub(crate) fn fact(&self, path: &str) -> Option<Value> {
        self.weighed_fact(path).0
    }

    /// The same, and how many bytes of JSON had to be made for it: what is small may stand in something large.
    pub(crate) fn weighed_fact(&self, path: &str) -> (Option<Value>, usize) {
        let path = dotted(path);
        let (member, rest) = split(&path);
        if member == "context" {
            return (self.context(rest), 0);
        }
        let Some((part, rest)) = self.part(member, rest) else {
            return (None, 0);
        };
        (descend(&part, rest), weight(&part))
    }

    /// The smallest part of the evidence that is made into JSON as a whole, and the path within it.
    fn part<'a>(&self, member: &str, rest: &'a str) -> Option<(Value, &'a str)> {
        let evidence = &self.report.evidence;
        match member {
            "crash" => Some((serde_json::to_value(evidence.crash.as_ref()?).ok()?, rest)),
            "threads" => element(&evidence.threads, rest),
            "modules" => element(&evidence.modules, rest),
            "memory_snapshots" => element(&evidence.memory_snapshots, rest),
            "memory_details" => of_memory(&evidence.memory_details, rest),
            "history" => Some((serde_json::to_value(self.report.history.as_ref()?).ok()?, rest)),
            "collectives" => Some((serde_json::to_value(evidence.collectives.as_ref()?).ok()?, rest)),
            "gpu_cores" => element(&evidence.gpu_cores, rest),
            "fault_addresses" => element(&evidence.fault_addresses, rest),
            "timeline" => element(&evidence.timeline, rest),
            "communicators" => element(&evidence.communicators, rest),
            "series" => of_series(&evidence.series, rest),
            "processes" => element(&evidence.processes, rest),
            _ => None,
        }
    }

    /// The value at a dotted path into the context.
    pub(crate) fn context(&self, path: &str) -> Option<Value> {
        let path = dotted(path);
        let context = &self.report.evidence.context;
        if path.is_empty() {
            return (!context.is_empty()).then(|| Value::Object(context.clone()));
        }
        if let Some(value) = context.get(path.as_str()) {
            return Some(value.clone());
        }
        let (member, rest) = split(&path);
        descend(context.get(member)?, rest)
    }
}

fn kind(event: &Event) -> String {
    let what = serde_json::to_value(&event.payload).unwrap_or_default();
    what.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A JSON pointer (RFC 6901) as a dotted path; a dotted path as it is.
fn dotted(path: &str) -> String {
    match path.strip_prefix('/') {
        Some(pointer) => pointer.replace('/', ".").replace("~1", "/").replace("~0", "~"),
        None => path.to_owned(),
    }
}

fn split(path: &str) -> (&str, &str) {
    path.split_once('.').unwrap_or((path, ""))
}

fn element<'a, T: serde::Serialize>(list: &[T], path: &'a str) -> Option<(Value, &'a str)> {
    let (index, rest) = split(path);
    let element = list.get(index.parse::<usize>().ok()?)?;
    Some((serde_json::to_value(element).ok()?, rest))
}

/// A series by its position, or by its name: `train/loss.non_finite.step`. Of several of one name it is the first.
fn of_series<'a>(series: &[Series], path: &'a str) -> Option<(Value, &'a str)> {
    let rest_behind = |name: &str| match path.strip_prefix(name)? {
        "" => Some(""),
        rest => rest.strip_prefix('.'),
    };
    // Names have dots as well: `opt.lr` is no member of `opt`.
    let named = series
        .iter()
        .filter_map(|series| Some((series, rest_behind(&series.name)?)));
    let longest = named.rev().max_by_key(|(series, _)| series.name.len());
    match longest {
        Some((series, rest)) => Some((serde_json::to_value(series).ok()?, rest)),
        None => element(series, path),
    }
}

/// A block, a trace entry or a stack by itself, since there are many; else all of a device's.
fn of_memory<'a>(details: &[MemoryDetail], path: &'a str) -> Option<(Value, &'a str)> {
    let (index, rest) = split(path);
    let detail = details.get(index.parse::<usize>().ok()?)?;
    match split(rest) {
        (_, "") => element(details, path),
        ("blocks", rest) => element(&detail.blocks, rest),
        ("trace", rest) => element(&detail.trace, rest),
        ("stacks", rest) => element(&detail.stacks, rest),
        _ => element(details, path),
    }
}

/// About how many bytes the value has as JSON.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| weight(item) + 1).sum::<usize>() + 2,
        Value::Object(members) => {
            members
                .iter()
                .map(|(key, value)| key.len() + weight(value) + 4)
                .sum::<usize>()
                + 2
        }
        _ => 8,
    }
}

fn descend(value: &Value, path: &str) -> Option<Value> {
    if path.is_empty() {
        return Some(value.clone());
    }
    // A key that itself has dots, such as a package's name, is found when it comes last.
    if let Some(value) = value.get(path) {
        return Some(value.clone());
    }
    let (key, rest) = split(path);
    let next = match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?)?,
        _ => value.get(key)?,
    };
    descend(next, rest)
}
