//! One report as it is diagnosed: what its artifacts said, and their text for whoever wants to see the lines.

use std::path::PathBuf;
use std::sync::OnceLock;

use serde_json::Value;
use whycrash_evidence::Evidence;
use whycrash_evidence::model::Event;
use whycrash_evidence::readers::Lines;

use crate::ArtifactHead;

/// A report whose artifacts are read. Shared by all plugins that run on it.
#[derive(Debug, Default)]
pub(crate) struct Case {
    pub(crate) artifacts: Vec<CaseArtifact>,
    pub(crate) evidence: Evidence,
    /// The kind of each event of the timeline, as it is written in the document.
    kinds: OnceLock<Vec<String>>,
}

/// One artifact of a case.
#[derive(Debug)]
pub(crate) struct CaseArtifact {
    pub(crate) head: ArtifactHead,
    /// Where its bytes are.
    pub(crate) path: PathBuf,
    /// Its lines, when it is text.
    pub(crate) text: Option<Lines>,
}

impl Case {
    pub(crate) fn new(artifacts: Vec<CaseArtifact>, evidence: Evidence) -> Self {
        Self {
            artifacts,
            evidence,
            kinds: OnceLock::new(),
        }
    }

    pub(crate) fn artifact(&self, name: &str) -> Option<&CaseArtifact> {
        self.artifacts.iter().find(|artifact| artifact.head.name == name)
    }

    /// Whether evidence of this kind is there, by the names that `plugin-info.needs` uses.
    pub(crate) fn has(&self, kind: &str) -> bool {
        let evidence = &self.evidence;
        match kind {
            "crash" => evidence.crash.is_some(),
            "threads" => !evidence.threads.is_empty(),
            "memory-snapshots" => !evidence.memory_snapshots.is_empty(),
            "collectives" => evidence.collectives.is_some(),
            "gpu-cores" => !evidence.gpu_cores.is_empty(),
            "events" => !evidence.timeline.is_empty(),
            "context" => !evidence.context.is_empty(),
            "text" => self.artifacts.iter().any(|artifact| artifact.text.is_some()),
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
            .zip(&self.evidence.timeline)
            .filter(move |(k, _)| kind.is_none_or(|kind| kind == *k))
    }

    fn kinds(&self) -> &[String] {
        self.kinds
            .get_or_init(|| self.evidence.timeline.iter().map(kind).collect())
    }

    /// The value at a path into the evidence: dotted (`memory_snapshots.0.reserved`) or a JSON pointer.
    ///
    /// Only the member, and of a list only the element, that the path leads through is turned into JSON: a list of events or
    /// threads can be long.
    pub(crate) fn fact(&self, path: &str) -> Option<Value> {
        let path = dotted(path);
        let (member, rest) = split(&path);
        let evidence = &self.evidence;
        match member {
            "crash" => descend(&serde_json::to_value(evidence.crash.as_ref()?).ok()?, rest),
            "threads" => element(&evidence.threads, rest),
            "modules" => element(&evidence.modules, rest),
            "memory_snapshots" => element(&evidence.memory_snapshots, rest),
            "collectives" => descend(&serde_json::to_value(evidence.collectives.as_ref()?).ok()?, rest),
            "gpu_cores" => element(&evidence.gpu_cores, rest),
            "timeline" => element(&evidence.timeline, rest),
            "context" => self.context(rest),
            _ => None,
        }
    }

    /// The value at a dotted path into the context.
    pub(crate) fn context(&self, path: &str) -> Option<Value> {
        let path = dotted(path);
        let context = &self.evidence.context;
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
    let what = serde_json::to_value(&event.what).unwrap_or_default();
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

fn element<T: serde::Serialize>(list: &[T], path: &str) -> Option<Value> {
    let (index, rest) = split(path);
    let element = list.get(index.parse::<usize>().ok()?)?;
    descend(&serde_json::to_value(element).ok()?, rest)
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
